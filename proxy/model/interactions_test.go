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

	"github.com/holdgate/holdgate/proxy/interactions"
	"github.com/holdgate/holdgate/proxy/route"
)

// An archive is a stand-in for Google, which keeps interactions. Like it, it fails a request
// that goes on from one in which a call has no result. It calls each command that it is
// told to, and makes what is asked in the background when it is fetched.
type archive struct {
	t testing.TB

	mu   sync.Mutex
	open map[string][]string // the calls that wait for results, by interaction
	kept map[string]string   // what has been made
	got  []string            // the results that came with each request that was taken
}

func (k *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		k.t.Error(err)
	}
	status, answer, stream := http.StatusOK, "", strings.Contains(string(body), `"stream":true`) || r.URL.Query().Get("stream") == "true"
	if r.Method == http.MethodGet {
		answer = k.kept[strings.TrimPrefix(r.URL.Path, "/v1beta/interactions/")]
	} else {
		status, answer = k.answer(body)
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusOK && stream {
		events, err := (&interactions.Codec{}).Expand([]byte(answer))
		if err != nil {
			k.t.Error(err)
		}
		answer = string(events)
		w.Header().Set("Content-Type", route.TypeEvents)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

func (k *archive) answer(body []byte) (status int, answer string) {
	var req struct {
		Previous   string          `json:"previous_interaction_id"`
		Background bool            `json:"background"`
		Input      json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		k.t.Error(err)
	}
	var steps []struct {
		CallID  string                  `json:"call_id"`
		Content []struct{ Text string } `json:"content"`
	}
	text := ""
	if json.Unmarshal(req.Input, &text) != nil {
		if err := json.Unmarshal(req.Input, &steps); err != nil {
			k.t.Error(err)
		}
	}
	results := map[string]bool{}
	var list []string
	for _, s := range steps {
		for _, c := range s.Content {
			text += c.Text
		}
		if s.CallID != "" {
			results[s.CallID] = true
			list = append(list, s.CallID)
		}
	}
	for _, id := range k.open[req.Previous] {
		if !results[id] {
			return http.StatusBadRequest, `{"error":{"code":"invalid_request","message":"a call has no result"}}`
		}
	}
	k.got = append(k.got, strings.Join(list, " "))
	id := fmt.Sprintf("v%d", len(k.got))
	made, state := `{"type":"model_output","content":[{"type":"text","text":"Yes."}]}`, "completed"
	if commands, ok := strings.CutPrefix(text, "call "); ok {
		state = "requires_action"
		for i, command := range strings.Split(commands, ", ") {
			call := fmt.Sprintf("call_%s_%d", id, i)
			k.open[id] = append(k.open[id], call)
			made += fmt.Sprintf(`,{"type":"function_call","id":%q,"name":"Bash","arguments":{"command":%q}}`, call, command)
		}
	}
	k.kept[id] = `{"id":"` + id + `","object":"interaction","status":"` + state + `","steps":[` + made + `],"usage":{"total_tokens":1}}`
	if req.Background {
		return http.StatusOK, `{"id":"` + id + `","object":"interaction","status":"in_progress"}`
	}
	return http.StatusOK, k.kept[id]
}

const interactionsPath = "/up/test/v1beta/interactions"

// An interaction that Google keeps goes on after refusals: whatever goes on from it takes
// the result of each refused call along.
func TestAnInteractionGoesOnAfterARefusal(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		k := &archive{t: t, open: map[string][]string{}, kept: map[string]string{}}
		g := proxytest.New(t, k)
		for _, tt := range []struct{ previous, input, want string }{
			{"", `"call forbidden, ls, forbidden x"`, ""},
			{"v1", `[{"type":"function_result","call_id":"call_v1_1","name":"Bash","result":"a"}]`, "call_v1_0 call_v1_2 call_v1_1"},
			{"v1", `[{"type":"function_result","call_id":"call_v1_1","name":"Bash","result":"a branch"}]`, "call_v1_0 call_v1_2 call_v1_1"},
			{"v2", `"go on"`, ""},
		} {
			resp := take(g, http.MethodPost, interactionsPath, fmt.Sprintf(`{"model":"m","stream":%t,"previous_interaction_id":%q,"input":%s}`, stream, tt.previous, tt.input))
			body := proxytest.ReadAll(t, resp.Body)
			if resp.StatusCode != http.StatusOK || strings.Contains(body, `"forbidden`) {
				t.Fatalf("status %d: %s", resp.StatusCode, body)
			}
			if diff := cmp.Diff(tt.want, k.got[len(k.got)-1]); diff != "" {
				t.Errorf("stream %t, after %q (-want +got):\n%s", stream, tt.previous, diff)
			}
		}
		g.Verified()
	}
}

// What is made in the background is gated where it is fetched.
func TestAnInteractionInTheBackgroundIsGated(t *testing.T) {
	t.Parallel()
	k := &archive{t: t, open: map[string][]string{}, kept: map[string]string{}}
	g := proxytest.New(t, k)
	resp := take(g, http.MethodPost, interactionsPath, `{"model":"m","background":true,"input":"call forbidden"}`)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(body, "in_progress") {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	for _, query := range []string{"", "?stream=true"} {
		resp := take(g, http.MethodGet, interactionsPath+"/v1"+query, "")
		body := proxytest.ReadAll(t, resp.Body)
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, "was not run") || strings.Contains(body, `"forbidden`) {
			t.Errorf("%q: status %d: %s", query, resp.StatusCode, body)
		}
	}
	resp = take(g, http.MethodPost, interactionsPath, `{"model":"m","previous_interaction_id":"v1","input":"why?"}`)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusOK || k.got[len(k.got)-1] != "call_v1_0" {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
}
