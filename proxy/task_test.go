package proxy_test

import (
	"testing"

	"github.com/holdgate/holdgate"
)

// People read what the agent's user asked it for, in their own words.
func TestAQuestionSaysWhatTheUserAskedFor(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, streamer(&seen, msgStart(), msgTool("0", "toolu_a", "gated one"), msgEnd("tool_use")))
	got := make(chan string, 1)
	go func() {
		got <- readAll(t, g.post(t.Context(), messages, `{"model":"claude-test","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"Mend the login test; the key is AKIAIOSFODNN7EXAMPLE"},{"role":"assistant","content":"ok"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"out"}]}]}`).Body)
	}()
	r := g.pending(1)[0]
	g.decide(r, holdgate.AnswerDeny, "")
	<-got
	if want := "“Mend the login test; the key is [redacted]”"; r.Briefing.Place.Task != want {
		t.Errorf("the task is %s, want %s", r.Briefing.Place.Task, want)
	}
}
