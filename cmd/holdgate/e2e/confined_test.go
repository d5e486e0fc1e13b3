package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// confinedPrograms are agents as `holdgate run` starts them: in a network of
// its own each finds its provider by an address of the sidecar's, or by proxy.
func confinedPrograms() []agentProgram {
	known := map[string]agentProgram{}
	for _, a := range agentPrograms() {
		known[a.program] = a
	}
	return []agentProgram{
		{
			program: "claude", upstream: "anthropic", args: []string{"-p", "--allowedTools", "Bash", "--"},
			env: func(base, _ string) []string {
				return []string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=test"} // run switches its telemetry off
			},
		},
		{
			program: "codex", upstream: "openai",
			args: []string{
				"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-test", "-c", `web_search="disabled"`,
				"-c", `model_providers.lab={name="lab",base_url="http://127.0.0.1:7300/up/openai/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`, "-c", `model_provider="lab"`,
			},
			env: func(string, string) []string {
				return []string{"OPENAI_API_KEY=test", "CODEX_API_KEY=test"}
			},
		},
		known["gemini"], known["qwen"], known["opencode"],
	}
}

// Real agents in strong confinement, each in a home that has nothing but its
// settings: nothing of theirs is heard but through the
// sidecar, and what a person decides is what happens to the folder. Here each runs by
// itself to its end and gets one of the decisions; TestAgentsInTmux has all of them.
func TestConfinedAgents(t *testing.T) {
	clients := clientsDir(t)
	if _, strong := kinds(t)["strong"]; !strong {
		t.Skip("NOT TESTED: strong confinement cannot be had here")
	}
	t.Parallel()
	plain := newProvider(t)
	for i, a := range confinedPrograms() {
		c := personsDecisions[i%len(personsDecisions)]
		t.Run(a.program+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			a.decideConfined(t, filepath.Join(clients, "node_modules", ".bin", a.program), plain.URL, c)
		})
	}
}

// decideConfined starts the agent in strong confinement and decides what it is
// about to do.
func (a agentProgram) decideConfined(t *testing.T, program, provider string, c personsDecision) {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%s is not installed: %v", a.program, err)
	}
	project, state := t.TempDir(), stateDir(t)
	home, data := freshHome(t), "data-"+a.program+"-"+c.name
	if err := os.Mkdir(filepath.Join(project, data), 0o755); err != nil {
		t.Fatal(err)
	}
	base := "http://127.0.0.1:7300/up/" + a.upstream
	if a.prepare != nil {
		a.prepare(t, base, home, project)
	}
	remove := "rm -rf " + data
	if a.program == "codex" { // which refuses -f by itself
		remove = "rm -r " + data
	}
	p := start(t, func(ctx context.Context) *exec.Cmd {
		args := []string{"run", "--state-dir", state, "--base-url", "--upstream", a.upstream + "=" + provider, "--", program}
		cmd := exec.CommandContext(ctx, binary, append(append(args, a.args...), "run: "+remove)...)
		cmd.Dir = project
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NO_COLOR=1", "CI=1"}, a.env(base, home)...)
		return cmd
	})
	defer func() { t.Logf("it said: %s\n%s", &p.stdout, &p.stderr) }()
	s := &sidecar{t: t, dir: state}
	until(t, "a sidecar", func() bool { return !p.running() || s.run("pending").code == 0 })
	r := s.held(remove)
	if _, err := os.Stat(filepath.Join(project, data)); err != nil || !p.running() {
		t.Fatalf("the call ran before anybody was asked (%v): %v", err, p.end())
	}
	if list := s.must("agents", "--json"); !strings.Contains(list, `"confinement": "strong"`) || !strings.Contains(list, `"proven": true`) {
		t.Errorf("the agent is not known as proven and confined: %s", list)
	}
	s.answer(r.ID, c.decide...)
	if out := p.output(); !strings.Contains(out, c.prints) {
		t.Errorf("it should print %q: %s", c.prints, out)
	}
	if _, err := os.Stat(filepath.Join(project, data)); (err != nil) != c.gone {
		t.Errorf("the folder is gone: %t, want %t", err != nil, c.gone)
	}
}
