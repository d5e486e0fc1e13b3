package model_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/mistral"
	"github.com/holdgate/holdgate/proxy/route"
)

// A librarian is a stand-in for Mistral, which keeps conversations. Like it, it fails a
// request in a conversation in which a call has no result, and one with a result of a call
// that waits for none. It calls each command that it is told to.
type librarian struct {
	t testing.TB

	mu   sync.Mutex
	open map[string][]string // calls that wait for results, by conversation
	made int
	got  []string // the results that came with each request that was taken
}

func (k *librarian) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		k.t.Error(err)
	}
	status, answer := k.answer(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1/conversations"), "/"), body)
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusOK && strings.Contains(string(body), `"stream":true`) {
		events, err := (&mistral.Codec{}).Expand([]byte(answer))
		if err != nil {
			k.t.Error(err)
		}
		answer = string(events)
		w.Header().Set("Content-Type", route.TypeEvents)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

func (k *librarian) answer(conversation string, body []byte) (status int, answer string) {
	var req struct {
		Inputs json.RawMessage `json:"inputs"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		k.t.Error(err)
	}
	var entries []struct {
		Type    string `json:"type"`
		CallID  string `json:"tool_call_id"`
		Content string `json:"content"`
	}
	text := ""
	if json.Unmarshal(req.Inputs, &text) != nil {
		if err := json.Unmarshal(req.Inputs, &entries); err != nil {
			k.t.Error(err)
		}
	}
	waiting := map[string]bool{}
	for _, id := range k.open[conversation] {
		waiting[id] = true
	}
	var results []string
	for _, e := range entries {
		text += e.Content
		if e.Type != "function.result" {
			continue
		}
		if !waiting[e.CallID] {
			return http.StatusBadRequest, `{"object":"error","message":"no such call: ` + e.CallID + `"}`
		}
		delete(waiting, e.CallID)
		results = append(results, e.CallID)
	}
	if len(waiting) > 0 {
		return http.StatusBadRequest, `{"object":"error","message":"calls without results"}`
	}
	k.made++
	if conversation == "" {
		conversation = fmt.Sprintf("conv_%d", k.made)
	}
	k.got = append(k.got, strings.Join(results, " "))
	k.open[conversation] = nil
	outputs := `{"object":"entry","type":"message.output","id":"msg","role":"assistant","content":"Yes."}`
	if list, ok := strings.CutPrefix(text, "call "); ok {
		for i, command := range strings.Split(list, ", ") {
			id := fmt.Sprintf("call_%d_%d", k.made, i)
			k.open[conversation] = append(k.open[conversation], id)
			outputs += fmt.Sprintf(`,{"object":"entry","type":"function.call","id":"f%s","tool_call_id":%q,"name":"Bash","arguments":%q}`, id, id, fmt.Sprintf(`{"command":%q}`, command))
		}
	}
	return http.StatusOK, `{"object":"conversation.response","conversation_id":"` + conversation + `","outputs":[` + outputs + `],"usage":{"total_tokens":1}}`
}

const conversations = "/up/test/v1/conversations"

// A conversation that Mistral keeps goes on after refusals: the next request takes the
// result of each refused call with it, once.
func TestAConversationOfMistralsGoesOnAfterARefusal(t *testing.T) {
	t.Parallel()
	const ls = `[{"type":"function.result","tool_call_id":"call_1_1","result":"a"}]`
	for _, tt := range []struct {
		name   string
		inputs []string
		want   []string
	}{
		{"a text", []string{`"call forbidden"`, `"why?"`, `"and now?"`}, []string{"", "call_1_0", ""}},
		{"beside a call that was run", []string{`"call forbidden, ls, forbidden x"`, ls, `"go"`}, []string{"", "call_1_0 call_1_2 call_1_1", ""}},
		{"refused again", []string{`"call forbidden"`, `[{"type":"message.input","role":"user","content":"call forbidden"}]`, `"go"`}, []string{"", "call_1_0", "call_2_0"}},
	} {
		for _, stream := range []string{"false", "true"} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, streamed: %s, over restarts: %t", tt.name, stream, restart), func(t *testing.T) {
					t.Parallel()
					k := &librarian{t: t, open: make(map[string][]string)}
					g := proxytest.New(t, k)
					path, model := conversations, `"model":"m","tools":[{"type":"function","function":{"name":"Bash"}}],`
					for i, inputs := range tt.inputs {
						if restart && i > 0 {
							g = g.Restarted()
						}
						resp := take(g, http.MethodPost, path, `{`+model+`"stream":`+stream+`,"inputs":`+inputs+`}`)
						got := proxytest.ReadAll(t, resp.Body)
						if resp.StatusCode != http.StatusOK || !strings.Contains(got, "conv_1") || i == 0 && !strings.Contains(got, proxytest.NoticeWord) {
							t.Fatalf("step %d got %d: %s", i, resp.StatusCode, got)
						}
						path, model = conversations+"/conv_1", ""
					}
					if diff := cmp.Diff(tt.want, k.got); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
					g.Verified()
				})
			}
		}
	}
}

// A call that is held in a conversation keeps its stream alive, and goes on in the form
// in which the client asks again.
func TestACallOfALaterFormatIsHeld(t *testing.T) {
	t.Parallel()
	for _, f := range laterTurnFormats() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var seen proxytest.Counter
			var g *proxytest.Sidecar
			g = proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inTurn(t, f.codec(g), f.typ, &seen, f.with("a", "gated")).ServeHTTP(w, r)
			}), proxytest.WithIdle(20*time.Millisecond))
			path, ask := f.streamed(f.request(""))
			resp := g.Post(t.Context(), path, ask)
			held := g.Pending(1)[0]
			resp.Body.Close()
			g.Noticed()
			g.Edit(held, "ann", `{"command":"ls"}`, "")
			got := f.collected(t, g, g.Post(t.Context(), f.path, f.request("")))
			if !strings.Contains(strings.ReplaceAll(got, `\`, ""), `{"command":"ls"}`) || strings.Contains(got, "gated") || len(seen.All()) != 1 {
				t.Errorf("asked again, it sent %s, and the model was asked %d times", got, len(seen.All()))
			}
			g.Verified()
		})
	}
}
