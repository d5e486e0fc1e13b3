package model_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
)

// endings are formats with what results say that are no errors, and that are.
func endings() []struct {
	toolFormat

	well, badly func(id string) string
} {
	all := toolFormats()
	anthropic, openai, responses, gemini := all[0], all[1], all[2], all[3]
	responses.call = func(id, command string) string {
		return `{"type":"shell_call","id":"sh_` + id + `","call_id":"` + id + `","action":{"commands":["` + command + `"]},"status":"completed"}`
	}
	shell := func(outcomes string) func(string) string {
		return func(id string) string {
			return `,{"type":"shell_call_output","call_id":"` + id + `","output":[` + outcomes + `]}`
		}
	}
	const zero = `{"stdout":"","stderr":"","outcome":{"type":"exit","exit_code":0}}`
	return []struct {
		toolFormat

		well, badly func(id string) string
	}{
		{anthropic, anthropic.result, func(id string) string {
			return strings.Replace(anthropic.result(id), `"content":"ok"`, `"content":"no such file","is_error":true`, 1)
		}},
		{responses, shell(zero), shell(zero + `,` + strings.Replace(zero, "0}}", "1}}", 1))},
		{responses, shell(zero), shell(`{"stdout":"","stderr":"","outcome":{"type":"timeout"}}`)},
		{gemini, gemini.result, func(id string) string {
			return strings.Replace(gemini.result(id), `"output":"ok"`, `"error":"no such file"`, 1)
		}},
		{openai, nil, nil}, // whose results have no place for it
	}
}

func ended(g *proxytest.Sidecar, session string) (all sessions.Counts, lately sessions.Ended) {
	g.T.Helper()
	s, err := g.Queue.Sessions.One(g.T.Context(), "", session)
	proxytest.Must(g.T, err)
	return s.Counts, s.Lately
}

// Requirement 000: the scorer knows how the tools ended, as Holdgate saw it in the
// requests that follow. What an agent makes up counts for nothing.
func TestHowToolsEndedIsSeenInTheNextRequest(t *testing.T) {
	t.Parallel()
	for _, f := range endings() {
		t.Run(f.name, func(t *testing.T) {
			var upstream atomic.Value
			g := proxytest.New(t, saying(&upstream))
			plain := f.answer(f.call("z", "true"))
			want := sessions.Ended{Succeeded: 2, Failed: 1}
			if f.well == nil {
				f.well, f.badly, want = f.result, f.result, sessions.Ended{}
			}
			say(g, f.toolFormat, &upstream, "s", f.answer(f.call("a", "ls"), f.call("b", "cat")), "")
			turns := f.turn(f.call("a", "ls")+","+f.call("b", "cat")) + f.well("a") + f.badly("b")
			say(g, f.toolFormat, &upstream, "s", f.answer(f.call("c", "forbidden")), turns)
			say(g, f.toolFormat, &upstream, "s", plain, turns) // once more, as after a broken connection
			turns += f.turn(f.call("c", "forbidden")) + f.badly("c")
			say(g, f.toolFormat, &upstream, "s", plain, turns)                                            // it was refused: its tool did nothing
			say(g, f.toolFormat, &upstream, "s", plain, turns+f.turn(f.call("x", "made up"))+f.well("x")) // and this one was never asked for
			say(g, f.toolFormat, &upstream, "s", f.answer(f.call("d", "pwd")), "")                        // on the side
			say(g, f.toolFormat, &upstream, "s", plain, turns+f.turn(f.call("d", "pwd"))+f.well("d"))     // with all that was before
			say(g, f.toolFormat, &upstream, "s", plain, f.turn(f.call("d", "pwd"))+f.well("d"))           // made shorter
			say(g, f.toolFormat, &upstream, "other", plain, f.turn(f.call("a", "ls"))+f.well("a"))        // another session's
			all, lately := ended(g, "s")
			if lately != want || all.Succeeded != want.Succeeded || all.Failed != want.Failed {
				t.Errorf("tools ended %+v (%+v), want %+v", lately, all, want)
			}
			if _, lately := ended(g, "other"); lately != (sessions.Ended{}) {
				t.Errorf("in another session: %+v", lately)
			}
			g.Verified()
		})
	}
}

func TestHowToolsOfMCPServersEndedIsSeen(t *testing.T) {
	t.Parallel()
	answers := []struct {
		name, body string
		want       sessions.Ended
	}{
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, sessions.Ended{Succeeded: 1}},
		{"a result that is an error", `{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`, sessions.Ended{Failed: 1}},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`, sessions.Ended{Failed: 1}},
		{"a task", `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t","status":"working"}}}`, sessions.Ended{}},
	}
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			g, _ := proxytest.NewMCP(t, proxytest.MCPJSON(200, c.body))
			in := http.Header{"X-Session-Id": {"s"}}
			proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "x"), in).Body)
			proxytest.ReadAll(t, g.Call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}`, in).Body)
			if all, lately := ended(g, "s"); lately != c.want || all.Failed != c.want.Failed || all.Succeeded != c.want.Succeeded {
				t.Errorf("tools ended %+v (%+v), want %+v", lately, all, c.want)
			}
		})
	}
}

// An agent that is sure of itself while its tools fail is not believed: people are
// asked, and shown what Holdgate saw.
func TestToolsThatFailWeighAgainstWhatTheAgentSays(t *testing.T) {
	t.Parallel()
	f := endings()[0]
	var upstream atomic.Value
	g := proxytest.New(t, saying(&upstream), proxytest.WithShippedPolicy(), func(c *proxy.Config) {
		c.Confidence = proxy.Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9}
	})
	sure := func() agentapi.Reported {
		t.Helper()
		status, text := g.AskAPI("POST", "/v1/confidence", `{"score":95}`, "X-Session-Id", "s")
		if status != http.StatusCreated {
			t.Fatalf("%d %s", status, text)
		}
		return proxytest.Read[agentapi.Reported](t, text)
	}
	turns := ""
	work := func(ids ...string) {
		for _, id := range ids {
			say(g, f.toolFormat, &upstream, "s", f.answer(f.call(id, "ls "+id)), turns)
			turns += f.turn(f.call(id, "ls "+id))
			if id[0] == 'b' {
				turns += f.badly(id)
			} else {
				turns += f.well(id)
			}
		}
		say(g, f.toolFormat, &upstream, "s", messageWith(`{"type":"text","text":"ok"}`), turns)
	}
	work("a1", "a2", "b1", "b2")
	if r := sure(); r.Escalated {
		t.Errorf("four results say nothing: %+v", r)
	}
	work("b3")
	r := sure()
	if !r.Escalated {
		t.Fatalf("three of five failed, and nobody is asked")
	}
	asked := g.Pending(1)[0]
	if text := strings.Join(asked.Briefing.Details, "\n"); asked.ID != r.Gate || !strings.Contains(text, "3 of the latest 5 results were errors") {
		t.Errorf("people see %s", text)
	}
	g.Decide(asked, holdgate.AnswerApprove, "")
	g.Verified()
}
