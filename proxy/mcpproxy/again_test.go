package mcpproxy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// One client loses patience after ten minutes, begins a session anew, and sends
// the very message again.
func TestACallThatAClientSendsAgainInANewSessionIsTheSame(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		again string
		same  bool
	}{
		{"the very message", proxytest.ToolCall("7", "gated"), true},
		{"another call of the same text", proxytest.ToolCall("8", "gated"), false},
		{"other arguments", proxytest.ToolCall("7", "gated too"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, strings.Replace(proxytest.ToolResult, `"id":1`, `"id":7`, 1)))
			ctx, leave := context.WithCancel(t.Context())
			g.Call(ctx, proxytest.ToolCall("7", "gated"), proxytest.SessionHeader("old"))
			req := g.Pending(1)[0]
			leave()
			g.Noticed()
			got := make(chan string, 1)
			go func() {
				got <- proxytest.ReadAll(t, g.Call(t.Context(), tt.again, proxytest.SessionHeader("new")).Body)
			}()
			if !tt.same {
				for _, r := range g.Pending(2) {
					g.Decide(r, holdgate.AnswerApprove, "")
				}
			} else {
				g.Decide(req, holdgate.AnswerApprove, "")
			}
			if text := <-got; !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
			if n := len(seen.All()); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			want := 1
			if !tt.same {
				want = 2
			}
			if n := len(g.Entries(audit.TypeOutcome)); n != want {
				t.Errorf("asked %d times, want %d", n, want)
			}
			g.Verified()
		})
	}
}

// Beside a connection that is alive the same message is a request of its own:
// two agents that do the same work count their messages alike.
func TestTheSameMessageOfAnotherSessionIsItsOwn(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult))
	got := make(chan string, 2)
	for n, session := range []string{"one", "two"} {
		go func() {
			got <- proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "gated"), proxytest.SessionHeader(session)).Body)
		}()
		g.Pending(n + 1)
	}
	for _, r := range g.Pending(2) {
		g.Decide(r, holdgate.AnswerApprove, "")
	}
	for range 2 {
		if text := <-got; !strings.Contains(text, `"done"`) {
			t.Errorf("got %s", text)
		}
	}
	if n := len(seen.All()); n != 2 {
		t.Errorf("it ran %d times", n)
	}
}
