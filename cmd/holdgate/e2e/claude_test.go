package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// heldWithin is how soon a person must see a held call. That is 2 s, which a busy
// machine may multiply by thirty.
const heldWithin = time.Minute

// claude starts the command line of Claude Code in a project with a folder
// data, and has its model ask for `rm -rf` of it.
func claude(t *testing.T, marker string, env []string) (p *process, data string) {
	t.Helper()
	program, home, project, data := inProject(t, "claude", marker)
	p = start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, "-p", "run: rm -rf data-"+marker, "--allowedTools", "Bash")
		cmd.Dir = project
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, "claude"),
			"ANTHROPIC_API_KEY=test", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		}, env...)
		return cmd
	})
	return p, data
}

// A real coding agent, whose authors know nothing of Holdgate: what a person
// decides is what happens to the folder, and the agent ends its run in order.
func TestClaudeCode(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	plain := newProvider(t)
	_, origin, caFile := newTLSProvider(t)
	s := serve(t, []string{"SSL_CERT_FILE=" + caFile}, "--upstream", "anthropic="+plain.URL, "--upstream", "secret="+origin)
	byURL := []string{"ANTHROPIC_BASE_URL=" + s.base("anthropic")}
	byProxy := []string{"ANTHROPIC_BASE_URL=" + origin, "HTTPS_PROXY=http://" + s.agents, "NODE_EXTRA_CA_CERTS=" + filepath.Join(s.dir, "ca.pem")}
	for _, c := range []struct {
		name   string
		env    []string
		decide []string // the command and what follows the ID
		prints string
		gone   bool
	}{
		{"approved", byURL, []string{"approve"}, done, true},
		{"denied", byURL, []string{"deny", "--reason", "the data is still needed"}, "the data is still needed", false},
		{"steered", byURL, []string{"steer", "move it to archive/ instead"}, "move it to archive/ instead", false},
		{"approved-by-proxy", byProxy, []string{"approve"}, done, true},
		{"denied-by-proxy", byProxy, []string{"deny", "--reason", "the data is still needed"}, "the data is still needed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, data := claude(t, c.name, c.env)
			r := s.held("rm -rf data-" + c.name)
			if slices.Equal(c.env, byURL) {
				seen := time.Since(plain.lastByte())
				t.Logf("pending %v after the provider's last byte", seen.Round(time.Millisecond))
				if seen > heldWithin {
					t.Errorf("the call was pending %v after the provider's last byte, want within %v", seen, heldWithin)
				}
			}
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
