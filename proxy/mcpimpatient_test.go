package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/store/audit"
)

// Some clients give up long before the budget that Holdgate gives to those that it
// does not know (MCP_TOOL_TIMEOUT, 10 s), and call again: the person is asked once,
// and the call is run once, in whichever way they give up.
func TestAClientThatGivesUpEarlyIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"it says so and leaves", "it says so", "it leaves"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g, seen := newMCPGate(t, answerJSON(200, strings.Replace(toolResult, `"id":1`, `"id":9`, 1)))
			for id := range 4 {
				ctx, leave := context.WithCancel(t.Context())
				resp := g.call(ctx, toolCall(fmt.Sprint(id), "gated"), inSession("s1"))
				g.pending(1)
				if way != "it leaves" {
					if r := g.call(t.Context(), cancelled(fmt.Sprint(id)), inSession("s1")); r.StatusCode != http.StatusAccepted {
						t.Errorf("status %d", r.StatusCode)
					}
				}
				if way == "it says so" {
					readAll(t, resp.Body)
				}
				leave()
				g.unwaited()
			}
			g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
			if text := readAll(t, g.call(t.Context(), toolCall("9", "gated"), inSession("s1")).Body); !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
			if asked, used := len(g.entries(audit.TypeOutcome)), len(g.entries(audit.TypeUsed)); asked != 1 || used != 1 || len(seen.all()) != 1 {
				t.Errorf("asked %d times, used %d times, run %d times", asked, used, len(seen.all()))
			}
			g.verified()
		})
	}
}

func TestAStdioClientThatGivesUpEarlyIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	p := newPipe(t)
	for id := range 4 {
		call := p.from(stdio.Client, toolCall(fmt.Sprint(id), "gated"))
		p.g.pending(1)
		p.from(stdio.Client, cancelled(fmt.Sprint(id)))
		p.over(call)
	}
	p.nothing(p.server)
	p.g.decide(p.g.pending(1)[0], holdgate.AnswerApprove, "")
	p.from(stdio.Client, toolCall("9", "gated"))
	p.expect(p.server, toolCall("9", "gated"))
	p.from(stdio.Server, strings.Replace(toolResult, `"id":1`, `"id":9`, 1))
	if line := p.result(); !strings.Contains(line, `"done"`) {
		t.Errorf("got %s", line)
	}
	if asked, used := len(p.g.entries(audit.TypeOutcome)), len(p.g.entries(audit.TypeUsed)); asked != 1 || used != 1 {
		t.Errorf("asked %d times, used %d times", asked, used)
	}
}

// What a person has approved in the model's answer passes a server on standard
// streams once, as it passes one over HTTP.
func TestAnApprovalInAModelsAnswerPassesAStdioServerOnce(t *testing.T) {
	t.Parallel()
	answer := modelCalls("toolu_1", "mcp__files__remove", removeGated)
	up := newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerJSON(200, answer)(w, r) }))
	g := newGateTo(t, map[string]string{"test": up}, nil)
	p := g.pipe()
	p.from(stdio.Client, listTools)
	p.expect(p.server, listTools)
	tools := `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + toolNamed("remove", "Removes a file.") + `]}}`
	p.from(stdio.Server, tools)
	p.expect(p.client, tools)
	got := make(chan string, 1)
	go func() { got <- readAll(t, g.post(t.Context(), messages, askPlain).Body) }()
	req := g.pending(1)[0]
	g.decide(req, holdgate.AnswerApprove, "")
	if text := <-got; !strings.Contains(text, `"tool_use"`) {
		t.Fatalf("the model's call was not released: %s", text)
	}
	call := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"remove","arguments":` + removeGated + `}}`
	}
	p.from(stdio.Client, call("2"))
	p.expect(p.server, call("2"))
	p.from(stdio.Server, strings.Replace(toolResult, `"id":1`, `"id":2`, 1))
	if line := p.result(); !strings.Contains(line, `"done"`) {
		t.Errorf("got %s", line)
	}
	p.from(stdio.Client, call("3"))
	g.decide(g.pending(1)[0], holdgate.AnswerDeny, "asked again")
	if line := p.result(); !strings.Contains(line, "asked again") {
		t.Errorf("the second call: %s", line)
	}
	p.nothing(p.server)
	if n := len(g.entries(audit.TypeUsed)); n != 2 {
		t.Errorf("used %d times, want once at each door", n)
	}
	g.verified()
}
