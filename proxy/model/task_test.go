package model_test

import (
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

// People read what the agent's user asked it for, in their own words.
func TestAQuestionSaysWhatTheUserAskedFor(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_a", "gated one"), proxytest.MessageEnd("tool_use")))
	got := make(chan string, 1)
	go func() {
		got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, `{"model":"claude-test","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"Mend the login test; the key is AKIAIOSFODNN7EXAMPLE"},{"role":"assistant","content":"ok"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"out"}]}]}`).Body)
	}()
	r := g.Pending(1)[0]
	g.Decide(r, holdgate.AnswerDeny, "")
	<-got
	if want := "“Mend the login test; the key is [redacted]”"; r.Briefing.Place.Task != want {
		t.Errorf("the task is %s, want %s", r.Briefing.Place.Task, want)
	}
}
