package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An agentProgram is a command line that people use, and how it is pointed at a
// provider by an address.
type agentProgram struct {
	program  string
	upstream string // the name under which the sidecar serves its format
	args     []string
	env      func(base, home string) []string
	// prepare writes what the agent reads from its home or project.
	prepare func(t *testing.T, base, home, project string)
}

// agentPrograms are those that install from the npm registry. Claude Code has tests
// of its own.
func agentPrograms() []agentProgram {
	return []agentProgram{
		{
			program: "gemini", upstream: "gemini", args: []string{"--yolo", "--skip-trust", "--model", "gemini-test", "-p"},
			env: func(base, _ string) []string {
				return []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=" + base}
			},
			prepare: func(t *testing.T, _, home, _ string) {
				put(t, filepath.Join(home, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}`)
			},
		},
		{
			program: "qwen", upstream: "openai", args: []string{"--yolo", "--auth-type", "openai", "-p"},
			env: func(base, _ string) []string {
				return []string{"OPENAI_API_KEY=test", "OPENAI_MODEL=qwen-test", "OPENAI_BASE_URL=" + base + "/v1"}
			},
			prepare: func(t *testing.T, _, home, _ string) {
				put(t, filepath.Join(home, ".qwen", "settings.json"), `{"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false}}`)
			},
		},
		{
			program: "opencode", upstream: "anthropic", args: []string{"run", "--model", "anthropic/claude-test"},
			env: func(string, string) []string {
				return []string{"ANTHROPIC_API_KEY=test", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
			},
			prepare: func(t *testing.T, base, home, _ string) {
				// With these it finds its library for plugins, and does not wait for the network to install it.
				settings := filepath.Join(home, ".config", "opencode")
				put(t, filepath.Join(settings, "package-lock.json"), `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`)
				put(t, filepath.Join(settings, "node_modules", ".keep"), "")
				put(t, filepath.Join(settings, "opencode.json"), encode(t, map[string]any{
					"autoupdate": false, "permission": map[string]string{"bash": "allow"}, "small_model": "anthropic/claude-test",
					"provider": map[string]any{"anthropic": map[string]any{
						"options": map[string]string{"baseURL": base + "/v1"},
						"models":  map[string]any{"claude-test": map[string]any{"name": "test", "limit": map[string]int{"context": 200000, "output": 4096}}},
					}},
				}))
			},
		},
		{
			program: "cline", upstream: "openai", args: []string{"--auto-approve", "true", "--timeout", strconv.Itoa(120 + 2*int(longHold().Seconds()))},
			env: func(string, string) []string { return nil },
			prepare: func(t *testing.T, base, home, project string) {
				cmd := exec.CommandContext(t.Context(), filepath.Join(clientsDir(t), "node_modules", ".bin", "cline"),
					"auth", "--provider", "openai", "--apikey", "test", "--modelid", "gpt-test", "--baseurl", base+"/v1")
				cmd.Dir, cmd.Env = project, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("pointing cline at the sidecar: %v: %s", err, out)
				}
			},
		},
	}
}

// inProject finds an agent's program, and makes a home for it and a project with a folder, which its model asks it to
// remove.
func inProject(t *testing.T, name, marker string) (program, home, project, data string) {
	t.Helper()
	program = filepath.Join(clientsDir(t), "node_modules", ".bin", name)
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%s is not installed: %v", name, err)
	}
	home, project = t.TempDir(), t.TempDir()
	data = filepath.Join(project, "data-"+marker)
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	return program, home, project, data
}

// start starts the agent in a project with a folder data, and has its model ask
// for `rm -rf` of it.
func (a agentProgram) start(t *testing.T, base, marker string) (p *process, data string) {
	t.Helper()
	program, home, project, data := inProject(t, a.program, marker)
	if a.prepare != nil {
		a.prepare(t, base, home, project)
	}
	p = start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, append(slices.Clone(a.args), "run: rm -rf data-"+marker)...)
		cmd.Dir = project
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NO_COLOR=1", "CI=1"}, a.env(base, home)...)
		return cmd
	})
	return p, data
}

// A personsDecision is an answer, and what comes of it where an agent is about to
// delete a folder.
type personsDecision struct {
	name   string
	decide []string // the command and what follows the ID
	prints string   // part of what the agent says in the end
	gone   bool     // the folder
}

var personsDecisions = []personsDecision{
	{"approved", []string{"approve"}, done, true},
	{"denied", []string{"deny", "--reason", "the data is still needed"}, "the data is still needed", false},
	{"steered", []string{"steer", "move it to archive/ instead"}, "move it to archive/ instead", false},
}

// Real agents, whose authors know nothing of Holdgate: what a person decides is
// what happens to the folder, and the agent ends its run in order. Here each is
// pointed at the sidecar by an address alone and gets one of the decisions;
// TestAgentsInTmux has all of them.
func TestAgents(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+plain.URL, "--upstream", "openai="+plain.URL, "--upstream", "gemini="+plain.URL)
	for i, a := range agentPrograms() {
		decisions := personsDecisions[i%len(personsDecisions):][:1]
		if a.program == "cline" { // which TestConfinedAgents does not have
			decisions = personsDecisions
		}
		for _, c := range decisions {
			t.Run(a.program+"/"+c.name, func(t *testing.T) {
				marker := a.program + "-" + c.name
				p, data := a.start(t, s.base(a.upstream), marker)
				defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
				r := s.held("rm -rf data-" + marker)
				if _, err := os.Stat(data); err != nil || !p.running() {
					t.Fatalf("the call ran before anybody was asked (%v): %v", err, p.end())
				}
				s.answer(r.ID, c.decide...)
				if out := p.output(); !strings.Contains(out, c.prints) {
					t.Errorf("it should print %q: %s", c.prints, out)
				}
				if _, err := os.Stat(data); (err != nil) != c.gone {
					t.Errorf("the folder is gone: %t, want %t", err != nil, c.gone)
				}
			})
		}
	}
}

// A sidecar that is replaced while people are asked leaves its agents waiting: each
// asks again by itself, and gets what was decided meanwhile. Codex is left out: it asks
// again with what it had got so far, which is another request.
func TestAgentsOutliveASidecarThatIsReplaced(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	type agent struct {
		upstream string
		start    func(t *testing.T, base, marker string) (*process, string)
	}
	agents := map[string]agent{
		"claude": {"anthropic", func(t *testing.T, base, marker string) (*process, string) {
			return claude(t, marker, []string{"ANTHROPIC_BASE_URL=" + base})
		}},
	}
	for _, a := range agentPrograms() {
		if a.program != "cline" { // it asks again in no case, once an answer has begun
			agents[a.program] = agent{a.upstream, a.start}
		}
	}
	for name, a := range agents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			args := []string{"--upstream", a.upstream + "=" + p.URL, "--agents", unusedAddr(t)}
			s := serve(t, nil, args...)
			marker := name + "-replaced"
			running, data := a.start(t, s.base(a.upstream), marker)
			defer func() { t.Logf("it said: %s\n%s", &running.stdout, &running.stderr) }()
			r := s.held(" data-" + marker)
			if code := s.stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			s = serveIn(t, s.dir, nil, args...)
			s.answer(r.ID, "approve")
			if out := running.output(); !strings.Contains(out, done) {
				t.Errorf("it should print %q: %s", done, out)
			}
			if _, err := os.Stat(data); err == nil {
				t.Error("the folder is there")
			}
		})
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
