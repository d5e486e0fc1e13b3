package mcpproxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/store/audit"
)

func TestAStdioClientThatGivesUpEarlyIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	p := newPipe(t)
	for id := range 4 {
		call := p.from(stdio.Client, proxytest.ToolCall(fmt.Sprint(id), "gated"))
		p.g.Pending(1)
		p.from(stdio.Client, proxytest.Cancelled(fmt.Sprint(id)))
		p.over(call)
	}
	p.nothing(p.server)
	p.g.Decide(p.g.Pending(1)[0], holdgate.AnswerApprove, "")
	p.from(stdio.Client, proxytest.ToolCall("9", "gated"))
	p.expect(p.server, proxytest.ToolCall("9", "gated"))
	p.from(stdio.Server, strings.Replace(proxytest.ToolResult, `"id":1`, `"id":9`, 1))
	if line := p.result(); !strings.Contains(line, `"done"`) {
		t.Errorf("got %s", line)
	}
	if asked, used := len(p.g.Entries(audit.TypeOutcome)), len(p.g.Entries(audit.TypeUsed)); asked != 1 || used != 1 {
		t.Errorf("asked %d times, used %d times", asked, used)
	}
}

// What a person has approved in the model's answer passes a server on standard
// streams once, as it passes one over HTTP.
func TestAnApprovalInAModelsAnswerPassesAStdioServerOnce(t *testing.T) {
	t.Parallel()
	answer := proxytest.ModelCalls("toolu_1", "mcp__files__remove", proxytest.RemoveGated)
	up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxytest.MCPJSON(200, answer)(w, r) }))
	g := proxytest.NewTo(t, map[string]string{"test": up}, nil)
	p := openPipe(g)
	p.from(stdio.Client, proxytest.ListTools)
	p.expect(p.server, proxytest.ListTools)
	tools := `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + proxytest.Tool("remove", "Removes a file.") + `]}}`
	p.from(stdio.Server, tools)
	p.expect(p.client, tools)
	got := make(chan string, 1)
	go func() { got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).Body) }()
	req := g.Pending(1)[0]
	g.Decide(req, holdgate.AnswerApprove, "")
	if text := <-got; !strings.Contains(text, `"tool_use"`) {
		t.Fatalf("the model's call was not released: %s", text)
	}
	call := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"remove","arguments":` + proxytest.RemoveGated + `}}`
	}
	p.from(stdio.Client, call("2"))
	p.expect(p.server, call("2"))
	p.from(stdio.Server, strings.Replace(proxytest.ToolResult, `"id":1`, `"id":2`, 1))
	if line := p.result(); !strings.Contains(line, `"done"`) {
		t.Errorf("got %s", line)
	}
	p.from(stdio.Client, call("3"))
	g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "asked again")
	if line := p.result(); !strings.Contains(line, "asked again") {
		t.Errorf("the second call: %s", line)
	}
	p.nothing(p.server)
	if n := len(g.Entries(audit.TypeUsed)); n != 2 {
		t.Errorf("used %d times, want once at each door", n)
	}
	g.Verified()
}
