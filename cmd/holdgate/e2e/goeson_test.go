package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where Holdgate answers the model itself, real agents get one answer that
// they understand: the refusal, and what the model said to it.
func TestAgentsGoOnAfterARefusal(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	config := filepath.Join(t.TempDir(), "holdgate.yaml")
	put(t, config, "holds: {on_refusal: continue}\n")
	s := serve(t, []string{"HOLDGATE_CONFIG=" + config}, "--upstream", "anthropic="+plain.URL, "--upstream", "openai="+plain.URL, "--upstream", "gemini="+plain.URL)
	decide := func(t *testing.T, p *process, data, marker string, prints ...string) {
		t.Helper()
		defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
		r := s.held("rm -rf data-" + marker)
		s.must("deny", r.ID, "--reason", "the data is still needed")
		out := p.output()
		for _, words := range prints {
			if !strings.Contains(out, words) {
				t.Errorf("it should print %q: %s", words, out)
			}
		}
		if _, err := os.Stat(data); err != nil {
			t.Errorf("the folder is gone: %v", err)
		}
		told := false // the model was told by Holdgate, before the agent asked again
		for _, b := range plain.asked("data-" + marker) {
			told = told || resultOfTool.MatchString(b) && strings.Contains(b, "the data is still needed")
		}
		if !told {
			t.Error("the model was not told of the refusal")
		}
	}
	t.Run("claude", func(t *testing.T) {
		p, data := claude(t, "claude-goes-on", []string{"ANTHROPIC_BASE_URL=" + s.base("anthropic")})
		decide(t, p, data, "claude-goes-on", done) // it prints the last text of an answer only
	})
	for _, a := range agentPrograms() {
		t.Run(a.program, func(t *testing.T) {
			marker := a.program + "-goes-on"
			p, data := a.start(t, s.base(a.upstream), marker)
			decide(t, p, data, marker, "the data is still needed", done)
		})
	}
}
