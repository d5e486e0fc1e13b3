package proxy_test

import (
	"context"
	"strings"
	"testing"

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
		{"the very message", toolCall("7", "gated"), true},
		{"another call of the same text", toolCall("8", "gated"), false},
		{"other arguments", toolCall("7", "gated too"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, seen := newMCPGate(t, answerJSON(200, strings.Replace(toolResult, `"id":1`, `"id":7`, 1)))
			ctx, leave := context.WithCancel(t.Context())
			g.call(ctx, toolCall("7", "gated"), inSession("old"))
			req := g.pending(1)[0]
			leave()
			g.noticed()
			got := make(chan string, 1)
			go func() { got <- readAll(t, g.call(t.Context(), tt.again, inSession("new")).Body) }()
			if !tt.same {
				for _, r := range g.pending(2) {
					g.decide(r, holdgate.AnswerApprove, "")
				}
			} else {
				g.decide(req, holdgate.AnswerApprove, "")
			}
			if text := <-got; !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
			if n := len(seen.all()); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			want := 1
			if !tt.same {
				want = 2
			}
			if n := len(g.entries(audit.TypeOutcome)); n != want {
				t.Errorf("asked %d times, want %d", n, want)
			}
			g.verified()
		})
	}
}

// Beside a connection that is alive the same message is a request of its own:
// two agents that do the same work count their messages alike.
func TestTheSameMessageOfAnotherSessionIsItsOwn(t *testing.T) {
	t.Parallel()
	g, seen := newMCPGate(t, answerJSON(200, toolResult))
	got := make(chan string, 2)
	for n, session := range []string{"one", "two"} {
		go func() { got <- readAll(t, g.call(t.Context(), toolCall("1", "gated"), inSession(session)).Body) }()
		g.pending(n + 1)
	}
	for _, r := range g.pending(2) {
		g.decide(r, holdgate.AnswerApprove, "")
	}
	for range 2 {
		if text := <-got; !strings.Contains(text, `"done"`) {
			t.Errorf("got %s", text)
		}
	}
	if n := len(seen.all()); n != 2 {
		t.Errorf("it ran %d times", n)
	}
}
