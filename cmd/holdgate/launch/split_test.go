package launch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
)

// TestASplitAsks runs tmux itself, with a server of the test's own.
func TestASplitAsks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux here")
	}
	r := newRun(t, "ask", "rm -rf data")
	socket := filepath.Join(filepath.Dir(r.dir), "t")
	tmux := func(words ...string) string {
		out, err := exec.CommandContext(t.Context(), "tmux", append([]string{"-S", socket, "-f", "/dev/null"}, words...)...).CombinedOutput()
		if err != nil {
			t.Errorf("tmux %v: %v: %s", words, err, out)
		}
		return string(out)
	}
	words := append([]string{"new-session", "-d", "-x", "120", "-y", "50", "-s", "s", "-c", r.cmd.Dir, "env"}, r.cmd.Env...)
	words = append(words, r.cmd.Path, "run", "--ask", "split")
	tmux(append(words, r.cmd.Args[2:]...)...)
	defer func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() }() //nolint:noctx // after the test's end
	p := r.pending(1)[0]
	if got := strings.Count(tmux("list-panes", "-t", "s", "-F", "#{pane_start_command}"), "\n"); got != 2 {
		t.Errorf("%d panes, want the agent's and the split", got)
	}
	for _, pane := range []string{"0", "1"} {
		if shown := tmux("capture-pane", "-p", "-t", "s."+pane); strings.Contains(shown, asks) {
			t.Errorf("pane %s asks in the agent's place:\n%s", pane, shown)
		}
	}
	if _, err := r.client().Decide(t.Context(), p.ID, api.Decision{Decision: holdgate.AnswerDeny, Digest: p.Call.Digest}); err != nil {
		t.Fatal(err)
	}
}

func TestASplitNeedsATerminalThatHasThem(t *testing.T) {
	t.Parallel()
	r := newRun(t, "ask", "rm -rf data")
	r.cmd.Args = append([]string{r.cmd.Args[0], "run", "--ask", "split"}, r.cmd.Args[2:]...)
	out, err := r.cmd.CombinedOutput()
	if err == nil || r.cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "tmux, kitty, wezterm or zellij") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(r.dir); err == nil {
		t.Error("a sidecar was started all the same")
	}
}
