package mcpproxy_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

func TestParametersInAnotherCaseReachNoServer(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
	resp := g.Call(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"URI":"file:///etc/shadow"}}`, nil)
	if text := proxytest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, `in another case`) {
		t.Errorf("status %d, %s", resp.StatusCode, text)
	}
	if n := len(seen.All()); n != 0 {
		t.Errorf("the server saw %d requests", n)
	}
	g.Verified()
}

// A person's approval is for the call with all that the client sends along, but
// for what says which sending it is.
func TestAnApprovalIsForWhatElseIsSent(t *testing.T) {
	t.Parallel()
	call := func(meta, more string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","arguments":{"path":"gated"},"_meta":{` + meta + `}` + more + `}}`
	}
	for name, tt := range map[string]struct {
		again string
		same  bool
	}{
		"another progress token and trace": {call(`"tenant":"a","progressToken":"p2","traceparent":"00-2"`, ""), true},
		"another model's id":               {call(`"tenant":"a","claudecode/toolUseId":"toolu_2"`, ""), true},
		"other metadata":                   {call(`"tenant":"b","progressToken":"p1"`, ""), false},
		"no metadata":                      {call(``, ""), false},
		"an answer put in":                 {call(`"tenant":"a"`, `,"inputResponses":{"a":{"action":"accept"}}`), false},
		"another state":                    {call(`"tenant":"a"`, `,"requestState":"s"`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
			ctx, leave := context.WithCancel(t.Context())
			g.Call(ctx, call(`"tenant":"a","progressToken":"p1","traceparent":"00-1","claudecode/toolUseId":"toolu_1"`, ""), proxytest.SessionHeader("s"))
			req := g.Pending(1)[0]
			leave()
			g.Noticed()
			g.Decide(req, holdgate.AnswerApprove, "")
			got := make(chan string, 1)
			go func() { got <- proxytest.ReadAll(t, g.Call(t.Context(), tt.again, proxytest.SessionHeader("s")).Body) }()
			if !tt.same {
				other := g.Pending(1)[0]
				if n := len(seen.All()); n != 0 || other.ID == req.ID {
					t.Errorf("the server saw %d calls, request %s (first %s)", n, other.ID, req.ID)
				}
				g.Decide(other, holdgate.AnswerApprove, "")
			}
			if text := <-got; !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
			if all := seen.All(); len(all) != 1 || !strings.Contains(all[0], tt.again) {
				t.Errorf("the server saw %q", all)
			}
			g.Verified()
		})
	}
}
