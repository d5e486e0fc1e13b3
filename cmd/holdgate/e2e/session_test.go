package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Seeds 001, 002 and 003, with agents whose authors know nothing of Holdgate and
// without one call to the agents' API: a session passes its intent and
// before_commit by what the agent does, is paused, redirected and stopped.
func TestAgentsGoThroughASession(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	qwen := agentPrograms()[1]
	for name, begin := range map[string]func(t *testing.T, s *sidecar, marker string) (*process, string){
		"claude": func(t *testing.T, s *sidecar, marker string) (*process, string) {
			return claude(t, marker, []string{"ANTHROPIC_BASE_URL=" + s.base("anthropic")})
		},
		qwen.program: func(t *testing.T, s *sidecar, marker string) (*process, string) {
			return qwen.start(t, s.base(qwen.upstream), marker)
		},
	} {
		t.Run(name, func(t *testing.T) {
			plain := newProvider(t)
			plain.calls = func(command string) []call {
				return []call{{id: "toolu_" + slug(command), command: command + " && git commit --allow-empty -m done"}}
			}
			config := filepath.Join(t.TempDir(), "holdgate.yaml")
			put(t, config, "gates: {intent_approval: {sessions: [\"*\"]}, before_commit: true}\n")
			s := serve(t, []string{"HOLDGATE_CONFIG=" + config}, "--upstream", "anthropic="+plain.URL, "--upstream", "openai="+plain.URL)
			passes(t, s, plain, name+"-passes", begin)
			stops(t, s, name+"-stops", begin)
			for _, said := range []string{"default paused by root: let me look", "default resumed by root", "default stopped by root: enough for today"} {
				if log := s.must("audit", "query", "--type", "intervention", "--json"); !strings.Contains(log, said) {
					t.Errorf("the log does not say %q: %s", said, log)
				}
			}
		})
	}
}

// passes has a person pass the session's gates, pausing and redirecting the agent
// before the last.
func passes(t *testing.T, s *sidecar, plain *provider, marker string, begin func(*testing.T, *sidecar, string) (*process, string)) {
	t.Helper()
	p, data := begin(t, s, marker)
	defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
	var rules []string
	for len(rules) < 3 { // the deletion, the intent, the commit
		r := s.held("data-" + marker)
		if rules = append(rules, r.Rule); len(rules) == 3 {
			s.must("pause", "default", "--reason", "let me look")
			s.must("redirect", "default", "Leave the archive alone.")
		}
		s.answer(r.ID, "approve")
	}
	slices.Sort(rules)
	if want := []string{"files.delete", "session.checkpoint", "session.gate"}; !slices.Equal(rules, want) {
		t.Errorf("asked by %q, want %q", rules, want)
	}
	if _, err := os.Stat(data); err != nil || !p.running() {
		t.Fatalf("a paused agent's call was let go on: %v", err)
	}
	s.must("resume", "default")
	if out := p.output(); !strings.Contains(out, done) {
		t.Errorf("it should end in order: %s", out)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("what was approved was not done")
	}
	if shown := s.must("sessions", "list"); !strings.Contains(shown, "intent_approval") {
		t.Errorf("the session has passed: %s", shown)
	}
	if len(plain.asked("Leave the archive alone.")) == 0 {
		t.Error("the model was not told of the redirect")
	}
}

// stops has a person stop the agent while a call of it is held.
func stops(t *testing.T, s *sidecar, marker string, begin func(*testing.T, *sidecar, string) (*process, string)) {
	t.Helper()
	p, data := begin(t, s, marker)
	r := s.held("data-" + marker)
	s.must("stop", "default", "--reason", "enough for today")
	ended := p.end() // as it likes: all that it asks for is refused
	if _, err := os.Stat(data); err != nil {
		t.Errorf("a stopped agent's call was let go on: %v", ended)
	}
	if shown := s.must("show", r.ID); !strings.Contains(shown, "cancelled") {
		t.Errorf("the held call: %s", shown)
	}
}
