package e2e_test

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// What was measured is printed though somebody has had enough. At a terminal the whole
// group gets the signal.
func TestAnInterruptedBenchPrintsWhatItMeasured(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), binary, "bench", "--rounds", "100000", "--time", "10ms", "--only", "http plain, 4 KB")
	cmd.Env, cmd.Dir = environment(), t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var printed strings.Builder
	cmd.Stdout = &printed
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	interrupted, says := false, ""
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		if says += lines.Text() + "\n"; !interrupted && strings.Contains(lines.Text(), " of 100000") {
			interrupted = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) == nil
		}
	}
	_ = cmd.Wait() // the exit code says it
	if got := cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(says, "interrupted: 0 of ") || !strings.Contains(says, " of 100000 rounds") {
		t.Errorf("exit code %d: %.2000s", got, says)
	}
	for _, target := range []string{"direct", "goproxy", "holdgate base-url", "holdgate proxy"} {
		if !strings.Contains(printed.String(), target) {
			t.Errorf("nothing of %s is printed: %s", target, printed.String())
		}
	}
}
