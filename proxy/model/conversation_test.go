package model_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/responses"
	"github.com/holdgate/holdgate/proxy/route"
)

// A keeper is a stand-in for a provider of responses that keeps conversations.
// Like it, it fails a request in a conversation in which a call has no result,
// and one with a result of a call that waits for none. What a request says it
// adds when the response is made. It calls each command that it is told to, and
// does what it is told with whole requests: "down" and "fails" once.
type keeper struct {
	t      testing.TB
	silent bool // responses do not say to which conversation they belong

	mu     sync.Mutex
	open   map[string][]string // calls that wait for results, by conversation
	stored map[string]string   // responses in the background
	once   map[string]bool
	made   int
	got    []string // the outputs that came with each request that was taken
}

func newKeeper(t testing.TB) *keeper {
	return &keeper{t: t, open: make(map[string][]string), stored: make(map[string]string), once: make(map[string]bool)}
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, k.stored[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]])
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		k.t.Error(err)
	}
	status, answer := k.respond(body)
	if status != http.StatusOK || !strings.Contains(string(body), `"stream":true`) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
		return
	}
	events, err := (&responses.Codec{}).Expand([]byte(answer))
	if err != nil {
		k.t.Error(err)
	}
	w.Header().Set("Content-Type", route.TypeEvents)
	_, _ = w.Write(events)
}

func (k *keeper) respond(body []byte) (status int, answer string) {
	var req struct {
		Conversation any             `json:"conversation"`
		Input        json.RawMessage `json:"input"`
		Background   bool            `json:"background"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		k.t.Error(err)
	}
	conversation, isText := req.Conversation.(string)
	if object, ok := req.Conversation.(map[string]any); ok && !isText {
		conversation, _ = object["id"].(string)
	}
	var items []struct {
		Type    string `json:"type"`
		CallID  string `json:"call_id"`
		Content string `json:"content"`
	}
	text := ""
	if json.Unmarshal(req.Input, &text) != nil {
		if err := json.Unmarshal(req.Input, &items); err != nil {
			k.t.Error(err)
		}
	}
	waiting := map[string]bool{}
	for _, id := range k.open[conversation] {
		waiting[id] = true
	}
	var outputs []string
	for _, it := range items {
		text += it.Content
		if it.Type != "function_call_output" {
			continue
		}
		if !waiting[it.CallID] {
			return http.StatusBadRequest, `{"error":{"type":"invalid_request_error","message":"No tool call found for function call output with call_id ` + it.CallID + `."}}`
		}
		delete(waiting, it.CallID)
		outputs = append(outputs, it.CallID)
	}
	for id := range waiting {
		return http.StatusBadRequest, `{"error":{"type":"invalid_request_error","message":"No tool output found for function call ` + id + `."}}`
	}
	k.made++
	id := fmt.Sprintf("resp_%d", k.made)
	write := func(status string, output ...string) string {
		of := `"conversation":{"id":"` + conversation + `"},`
		if k.silent {
			of = ""
		}
		return `{"id":"` + id + `",` + of + `"object":"response","status":"` + status + `","error":null,"model":"m","output":[` + strings.Join(output, ",") + `]}`
	}
	for _, fault := range []string{"down", "fails"} {
		if !strings.Contains(text, fault) || k.once[text] {
			continue
		}
		k.once[text] = true
		if fault == "down" {
			return http.StatusInternalServerError, `{"error":{"type":"server_error","message":"down"}}`
		}
		return http.StatusOK, write("failed")
	}
	k.got = append(k.got, strings.Join(outputs, " "))
	var calls, output []string
	if list, ok := strings.CutPrefix(text, "call "); ok {
		for i, command := range strings.Split(list, ", ") {
			call := fmt.Sprintf("call_%d_%d", k.made, i)
			calls = append(calls, call)
			output = append(output, strings.NewReplacer("fc_1", "fc_"+call, "call_1", call).Replace(rcall(command)))
		}
	}
	k.open[conversation] = calls
	if req.Background {
		k.stored[id] = write("completed", output...)
		return http.StatusOK, write("queued")
	}
	return http.StatusOK, write("completed", output...)
}

// A conversation that the provider keeps goes on after refusals: the next
// request takes the result of each refused call with it, once.
func TestAConversationGoesOnAfterARefusal(t *testing.T) {
	t.Parallel()
	type step struct{ conversation, input string }
	const ls = `[{"type":"function_call_output","call_id":"call_1_1","output":"a"},{"type":"message","role":"user","content":"go on"}]`
	for _, tt := range []struct {
		name    string
		steps   []step
		want    []string // outputs
		restart bool     // before each step
	}{
		{"by its id", []step{{`"c1"`, `"call forbidden"`}, {`"c1"`, `"why?"`}, {`"c1"`, `"and now?"`}}, []string{"", "call_1_0", ""}, false},
		{"by an object", []step{{`{"id":"c1"}`, `"call forbidden"`}, {`"c1"`, `[{"role":"user","content":"why?"}]`}, {`{"id":"c1"}`, `"go"`}}, []string{"", "call_1_0", ""}, false},
		{"beside a call that was run", []step{{`"c1"`, `"call forbidden, ls, forbidden x"`}, {`"c1"`, ls}, {`"c1"`, `"go"`}}, []string{"", "call_1_0 call_1_2 call_1_1", ""}, false},
		{"refused again", []step{{`"c1"`, `"call forbidden"`}, {`"c1"`, `"call forbidden"`}, {`"c1"`, `"call ls, forbidden"`}},
			[]string{"", "call_1_0", "call_2_0"}, false},
		{"others between", []step{{`"c1"`, `"call forbidden"`}, {`"c2"`, `"call forbidden"`}, {`"c3"`, `"x"`}, {`"c1"`, `"x"`}, {`"c2"`, `"x"`}},
			[]string{"", "", "", "call_1_0", "call_2_0"}, false},
		{"over restarts", []step{{`"c1"`, `"call forbidden"`}, {`"c1"`, `"why?"`}, {`"c1"`, `"and now?"`}}, []string{"", "call_1_0", ""}, true},
		{"after a failure", []step{{`"c1"`, `"call forbidden"`}, {`"c1"`, `"down"`}, {`"c1"`, `"down"`}, {`"c1"`, `"x"`}}, []string{"", "call_1_0", ""}, false},
		{"after a response that failed", []step{{`"c1"`, `"call forbidden"`}, {`"c1"`, `"fails"`}, {`"c1"`, `"fails"`}, {`"c1"`, `"x"`}}, []string{"", "call_1_0", ""}, false},
	} {
		for _, stream := range []string{"false", "true"} {
			t.Run(tt.name+", streamed: "+stream, func(t *testing.T) {
				t.Parallel()
				k := newKeeper(t)
				k.silent = stream == "true" // the request says it, too
				g := proxytest.New(t, k)
				for i, s := range tt.steps {
					if tt.restart && i > 0 {
						g = g.Restarted()
					}
					resp := take(g, "POST", responsesPath, `{"model":"m","stream":`+stream+`,"conversation":`+s.conversation+`,"input":`+s.input+`}`)
					got := proxytest.ReadAll(t, resp.Body)
					if fails := i == 1 && strings.HasPrefix(tt.name, "after "); !fails && (resp.StatusCode != http.StatusOK || strings.Contains(got, "failed")) {
						t.Fatalf("step %d got %d: %s", i, resp.StatusCode, got)
					}
				}
				if diff := cmp.Diff(tt.want, k.got); diff != "" {
					t.Errorf("outputs (-want +got):\n%s", diff)
				}
				g.Verified()
			})
		}
	}
}

// A response in the background is fetched without a word of the conversation,
// as often as the client likes.
func TestAConversationGoesOnAfterARefusalInTheBackground(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	g := proxytest.New(t, k)
	say := func(input string) {
		resp := take(g, "POST", responsesPath, `{"model":"m","background":true,"conversation":"c1","input":`+input+`}`)
		if got := proxytest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s got %d: %s", input, resp.StatusCode, got)
		}
	}
	fetch := func() {
		if got := proxytest.ReadAll(t, take(g, "GET", responsesPath+"/resp_1", "").Body); strings.Contains(got, "call_1_0") || !strings.Contains(got, proxytest.NoticeWord) {
			t.Errorf("fetched, it is %s", got)
		}
	}
	say(`"call forbidden"`)
	fetch()
	fetch()
	say(`"why?"`)
	fetch()
	say(`"and now?"`)
	if diff := cmp.Diff([]string{"", "call_1_0", ""}, k.got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	g.Verified()
}
