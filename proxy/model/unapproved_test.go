package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// A toolFormat is how a format writes a conversation of an agent with tools: its
// first request, an answer with calls, and what goes into a later request for
// a call and for its result.
type toolFormat struct {
	name, path string
	request    func(turns string) string
	answer     func(calls ...string) string
	call       func(id, command string) string // in an answer, and in a later request
	turn       func(calls string) string       // of the model's, in a later request
	result     func(id string) string          // in a later request
}

func toolFormats() []toolFormat {
	args := func(command string) string { return fmt.Sprintf(`{"command":%q}`, command) }
	join := func(calls []string) string { return strings.Join(calls, ",") }
	return []toolFormat{{
		name: "anthropic", path: proxytest.Messages,
		request: func(turns string) string {
			return `{"model":"m","max_tokens":9,` + toolsPart + `,"messages":[{"role":"user","content":"go"}` + turns + `]}`
		},
		answer: func(calls ...string) string { return messageWith(join(calls)) },
		call:   useOf,
		turn:   func(calls string) string { return `,{"role":"assistant","content":[` + calls + `]}` },
		result: func(id string) string {
			return `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"ok"}]}`
		},
	}, {
		name: "openai", path: "/up/test/v1/chat/completions",
		request: func(turns string) string {
			return `{"model":"m","tools":[{"type":"function","function":{"name":"Bash"}}],"messages":[{"role":"user","content":"go"}` + turns + `]}`
		},
		answer: func(calls ...string) string {
			return `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + join(calls) + `]},"finish_reason":"tool_calls"}]}`
		},
		call: func(id, command string) string {
			return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"Bash","arguments":%q}}`, id, args(command))
		},
		turn: func(calls string) string {
			return `,{"role":"assistant","content":null,"tool_calls":[` + calls + `]}`
		},
		result: func(id string) string { return `,{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` },
	}, {
		name: "responses", path: "/up/test/v1/responses",
		request: func(turns string) string {
			return `{"model":"m","tools":[{"type":"function","name":"Bash"}],"input":[{"role":"user","content":"go"}` + turns + `]}`
		},
		answer: func(calls ...string) string {
			return `{"id":"resp_1","object":"response","status":"completed","output":[` + join(calls) + `]}`
		},
		call: func(id, command string) string {
			return fmt.Sprintf(`{"type":"function_call","id":"fc_%s","call_id":%q,"name":"Bash","arguments":%q,"status":"completed"}`, id, id, args(command))
		},
		turn: func(calls string) string { return "," + calls },
		result: func(id string) string {
			return `,{"type":"function_call_output","call_id":"` + id + `","output":"ok"}`
		},
	}, {
		name: "gemini", path: "/up/test/v1beta/models/m:generateContent",
		request: func(turns string) string {
			return `{"tools":[{"functionDeclarations":[{"name":"Bash"}]}],"contents":[{"role":"user","parts":[{"text":"go"}]}` + turns + `]}`
		},
		answer: func(calls ...string) string {
			return `{"candidates":[{"index":0,"content":{"role":"model","parts":[` + join(calls) + `]},"finishReason":"STOP"}]}`
		},
		call: func(id, command string) string { // whose calls have no ids: the command tells them apart
			return `{"functionCall":{"name":"Bash","args":` + args(command+" "+id) + `}}`
		},
		turn: func(calls string) string { return `,{"role":"model","parts":[` + calls + `]}` },
		result: func(id string) string {
			return `,{"role":"user","parts":[{"functionResponse":{"id":"own-` + id + `","name":"Bash","response":{"output":"ok"}}}]}`
		},
	}}
}

// turnOf is a call and its result in a later request.
func (f toolFormat) turnOf(id, command string) string {
	return f.turn(f.call(id, command)) + f.result(id)
}

// saying answers each request with what the test has set last.
func saying(body *atomic.Value) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body.Load().(string))
	})
}

// say sends a request of a session's, whose upstream answers with answer.
func say(g *proxytest.Sidecar, f toolFormat, body *atomic.Value, session, answer, turns string) (int, string) {
	g.T.Helper()
	body.Store(answer)
	req, err := http.NewRequestWithContext(g.T.Context(), http.MethodPost, g.URL+f.path, strings.NewReader(f.request(turns)))
	proxytest.Must(g.T, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", session)
	resp, err := g.Client.Do(req)
	proxytest.Must(g.T, err)
	defer resp.Body.Close()
	return resp.StatusCode, proxytest.ReadAll(g.T, resp.Body)
}

// findings returns what the log has found so far, without what all have.
func findings(g *proxytest.Sidecar) (notes []string) {
	g.T.Helper()
	for _, e := range g.Entries(audit.TypeFinding) {
		notes = append(notes, strings.TrimPrefix(e.Note, "unapproved: the agent shows a result of a call of Bash that "))
	}
	return notes
}

func TestAResultOfACallThatWasNotLetGoOnIsAFinding(t *testing.T) {
	t.Parallel()
	const (
		refused = "was refused"
		unseen  = "no model has asked for through Holdgate"
	)
	for _, f := range toolFormats() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var upstream atomic.Value
			g := proxytest.New(t, saying(&upstream))
			plain := f.answer(f.call("a", "ls"))
			first := f.turnOf("a", "ls")
			known := func(what string, want ...string) {
				t.Helper()
				if got := findings(g); strings.Join(got, "|") != strings.Join(want, "|") {
					t.Fatalf("%s: the log has found %q, want %q", what, got, want)
				}
			}

			say(g, f, &upstream, "whole", plain, "")
			say(g, f, &upstream, "whole", f.answer(f.call("b", "forbidden")), first)
			known("a result of a call that was released")

			_, body := say(g, f, &upstream, "whole", plain, first+f.turnOf("b", "forbidden"))
			known("a result of a refused call", refused)
			if !strings.Contains(body, "ls") {
				t.Errorf("the shipped way is to log only: %s", body)
			}
			say(g, f, &upstream, "whole", plain, first+f.turnOf("b", "forbidden"))
			known("the same once more", refused)
			say(g, f, &upstream, "whole", plain, first+f.turnOf("x", "rm"))
			known("a result of a call that nobody asked for", refused, unseen)

			// A session that began before, or elsewhere, or was compacted.
			say(g, f, &upstream, "older", plain, f.turnOf("p", "pwd")+f.turnOf("q", "id"))
			say(g, f, &upstream, "older", plain, f.turnOf("p", "pwd")+f.turnOf("q", "id")+first)
			say(g, f, &upstream, "older", plain, f.turnOf("q", "id")+first)
			say(g, f, &upstream, "fork", plain, first)
			known("histories that came from elsewhere", refused, unseen)
			say(g, f, &upstream, "older", plain, f.turnOf("p", "pwd")+first+f.turnOf("y", "rm"))
			known("behind a call that was released", refused, unseen, unseen)

			g = g.Restarted()
			say(g, f, &upstream, "whole", plain, first+f.turnOf("z", "rm"))
			known("after a restart nothing is known", refused, unseen, unseen)
			g.Verified()
		})
	}
}

// Whatever the spelling of the request.
func TestAResultThatIsSpelledOddlyIsAFinding(t *testing.T) {
	t.Parallel()
	f := toolFormats()[0]
	var upstream atomic.Value
	g := proxytest.New(t, saying(&upstream))
	plain := f.answer(f.call("a", "ls"))
	say(g, f, &upstream, "s", f.answer(f.call("b", "forbidden")), "")
	say(g, f, &upstream, "s", plain, f.turn(f.call("b", "forbidden"))+strings.ReplaceAll(f.result("b"), "tool_", `tool\u005f`))
	if got := findings(g); len(got) != 1 || got[0] != "was refused" {
		t.Errorf("the log has found %q", got)
	}
}

func TestAHeldCallsResultIsAFindingAndPolicyIsTold(t *testing.T) {
	t.Parallel()
	f := toolFormats()[0]
	var upstream atomic.Value
	g := proxytest.New(t, saying(&upstream), proxytest.WithPolicy(t, `package holdgate

decision := {"action": "hold", "rule": "test.unapproved", "reason": "it says so"} if {
	input.model.unapproved[_].why == "held"
	not input.answers
} else := {"action": "hold", "rule": "test.hold", "reason": "it is a call"} if {
	input.kind == "tool_call"
} else := {"action": "allow", "rule": "test.allow"}
`))
	ctx, leave := context.WithCancel(t.Context())
	upstream.Store(f.answer(f.call("a", "gated")))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+f.path, strings.NewReader(f.request("")))
	proxytest.Must(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", "s")
	go func() {
		if resp, err := g.Client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	g.Pending(1)
	leave()

	turns := f.turnOf("a", "gated")
	type answer struct {
		status int
		body   string
	}
	answered := make(chan answer, 1)
	go func() {
		status, body := say(g, f, &upstream, "s", messageWith(`{"type":"text","text":"done"}`), turns)
		answered <- answer{status, body}
	}()
	var held approvals.Request
	for _, r := range g.Pending(2) {
		if r.Rule == "test.unapproved" {
			held = r
		}
	}
	if held.ID == "" {
		t.Fatal("the request was not held")
	}
	if got := findings(g); len(got) != 1 || got[0] != "waits for people to decide" {
		t.Errorf("the log has found %q", got)
	}
	g.Decide(held, holdgate.AnswerApprove, "")
	if a := <-answered; a.status != http.StatusOK || !strings.Contains(a.body, "done") {
		t.Errorf("approved, it got %d %s", a.status, a.body)
	}
	if status, body := say(g, f, &upstream, "s", messageWith(`{"type":"text","text":"again"}`), turns+`,{"role":"user","content":"more"}`); status != http.StatusOK || !strings.Contains(body, "again") {
		t.Errorf("a later request with the same history got %d %s", status, body)
	}
	told := errors.New("told")
	err = g.Queue.Events(t.Context(), 0, func(e approvals.Event) error {
		if e.Type == record.EventFinding && strings.Contains(e.Note, "waits for people") {
			return told
		}
		return nil
	})
	if !errors.Is(err, told) {
		t.Errorf("nobody was told: %v", err)
	}
}
