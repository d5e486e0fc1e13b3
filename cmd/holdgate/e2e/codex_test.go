package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The tools by which Codex runs commands: one that takes a command or, with
// newer models, one that takes a script which calls other tools.
const (
	codexShell  = "exec_command"
	codexScript = "functions.exec"
)

// codex starts the command line of Codex in a project with a folder data, and
// has its model ask for `rm -r` of it; it refuses `rm -rf` by itself.
func codex(t *testing.T, marker string, provider, env []string) (p *process, data string) {
	t.Helper()
	program, home, project, data := inProject(t, "codex", marker)
	args := append([]string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}, provider...)
	p = start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, append(args, "run: rm -r data-"+marker)...)
		cmd.Dir = project
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home, "OPENAI_API_KEY=test", "CODEX_API_KEY=test"}, env...)
		return cmd
	})
	return p, data
}

// A coding agent that speaks Responses: by a provider of its own configuration
// over HTTP, and by the built-in one, which wants a WebSocket first.
func TestCodex(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	s := serve(t, nil, "--upstream", "openai="+plain.URL)
	base := s.base("openai") + "/v1"
	own := []string{"-c", `model_providers.lab={name="lab",base_url="` + base + `",wire_api="responses",env_key="OPENAI_API_KEY"}`, "-c", `model_provider="lab"`}
	builtIn := []string{"-c", `openai_base_url="` + base + `"`}
	older := []string{"-m", "gpt-test", "-c", `web_search="disabled"`} // which runs at the provider, and would be asked about
	for _, c := range []struct {
		name     string
		provider []string
		decide   []string // the command and what follows the ID
		prints   string
		gone     bool
	}{
		{"approved", slices.Concat(own, older), []string{"approve"}, done, true},
		{"denied", slices.Concat(own, older), []string{"deny", "--reason", "the data is still needed"}, "the data is still needed", false},
		{"steered", slices.Concat(own, older), []string{"steer", "move it to archive/ instead"}, "move it to archive/ instead", false},
		{"approved-in-a-script", own, []string{"approve"}, done, true},
		{"denied-in-a-script", own, []string{"deny", "--reason", "the data is still needed"}, "the data is still needed", false},
		{"approved-by-the-built-in-provider", slices.Concat(builtIn, older), []string{"approve"}, done, true},
		{"denied-by-the-built-in-provider", slices.Concat(builtIn, older), []string{"deny", "--reason", "the data is still needed"}, "the data is still needed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, data := codex(t, c.name, c.provider, nil)
			r := s.held("rm -r data-" + c.name)
			if _, err := os.Stat(data); err != nil || !p.running() {
				t.Fatalf("the call ran before anybody was asked (%v): %v", err, p.end())
			}
			s.answer(r.ID, c.decide...)
			until(t, "the end of the run", func() bool {
				for _, r := range s.pending() { // a script cannot be read in full, which is a question of its own
					s.answer(r.ID, c.decide...)
				}
				return !p.running()
			})
			if out := p.output(); !strings.Contains(out, c.prints) {
				t.Errorf("it should print %q: %s", c.prints, out)
			}
			if _, err := os.Stat(data); (err != nil) != c.gone {
				t.Errorf("the folder is gone: %t, want %t", err != nil, c.gone)
			}
			if len(plain.asked("data-"+c.name)) == 0 {
				t.Error("the provider was not asked")
			}
		})
	}
}
