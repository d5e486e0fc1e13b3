package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// Seed 003: steer alone is interactive. Each line goes where it belongs at the time:
// to the call that waits, or into the agent's next model request.
func TestSteerAloneIsInteractive(t *testing.T) {
	for name, end := range map[string]string{"an empty line ends it": "\n", "the end of input ends it": "\x04"} {
		t.Run(name, func(t *testing.T) {
			s := startSidecar(t)
			r, err := s.hold("delete")
			if err != nil {
				t.Fatal(err)
			}
			code, printed := conversing(t, []string{"steer", "--state-dir", s.dir}, "What is the agent to do (an empty line ends this)? ", "use git clean\n", "mind the tests\n", end)
			if code != command.ExitDone || !strings.Contains(printed, r.ID+" waits: ") || !strings.Contains(printed, r.ID+": steered") || !strings.Contains(printed, "nothing is pending: message ") {
				t.Errorf("exit code %d; printed:\n%s", code, printed)
			}
			if r, err = s.queue.Request(t.Context(), r.ID); err != nil || r.Status != holdgate.StatusSteered || r.Outcome.Instructions != "use git clean" {
				t.Errorf("the call is %s, %v", r.Status, err)
			}
			if code, printed := conversing(t, []string{"messages", "delete", "--agent", "builder", "--state-dir", s.dir}, "never", ""); code != command.ExitDone || !strings.Contains(printed, "guidance of ada: mind the tests") {
				t.Errorf("the agent's messages: %d\n%s", code, printed)
			}
		})
	}
	t.Run("nothing written is nothing done", func(t *testing.T) {
		s := startSidecar(t)
		r, err := s.hold("delete")
		if err != nil {
			t.Fatal(err)
		}
		if code, printed := conversing(t, []string{"steer", "--state-dir", s.dir}, "ends this)? ", "\n"); code != command.ExitUsage {
			t.Errorf("exit code %d; printed:\n%s", code, printed)
		}
		if r, err = s.queue.Request(t.Context(), r.ID); err != nil || r.Status != holdgate.StatusPending {
			t.Errorf("the call is %s, %v", r.Status, err)
		}
	})
}

// conversing runs holdgate on a terminal and types a line after each question.
func conversing(t *testing.T, args []string, question string, lines ...string) (int, string) {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer keys.Close()
	defer tty.Close()
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, append([]string{"holdgate"}, args...), tty, w, w)
		w.Close()
	}()
	var printed strings.Builder
	in := bufio.NewReader(out)
	for {
		b, err := in.ReadByte()
		if err != nil {
			break
		}
		printed.WriteByte(b)
		if len(lines) > 0 && strings.HasSuffix(printed.String(), question) {
			if _, err := io.WriteString(keys, lines[0]); err != nil {
				t.Fatal(err)
			}
			lines = lines[1:]
		}
	}
	return <-code, printed.String()
}
