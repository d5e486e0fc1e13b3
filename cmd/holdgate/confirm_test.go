package main

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
	"github.com/holdgate/holdgate/approvals"
)

// onTerminal runs holdgate on a terminal, types ahead before the question is
// shown and answer afterwards, and returns the exit code and what was printed.
func onTerminal(t *testing.T, args []string, ahead, answer string) (int, string) {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer keys.Close()
	defer tty.Close()
	if _, err := io.WriteString(keys, ahead); err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"holdgate"}, args...), tty, w, w)
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
		if strings.HasSuffix(printed.String(), "leave it pending: ") {
			if _, err := io.WriteString(keys, answer); err != nil {
				t.Fatal(err)
			}
		}
	}
	return <-code, printed.String()
}

func TestApproveWithoutAnIDAsksOnTheTerminal(t *testing.T) {
	tests := []struct {
		name          string
		call          string
		ahead, answer string
		code          int
		status        holdgate.Status
	}{
		{"yes", "delete", "", "yes\n", exitDone, holdgate.StatusApproved},
		{"no", "delete", "", "no\n", exitFailed, holdgate.StatusPending},
		{"nothing", "delete", "", "\n", exitFailed, holdgate.StatusPending},
		{"a key that was meant for something else", "delete", "", "y\n", exitFailed, holdgate.StatusPending},
		{"what was typed before the question is no answer", "delete", "yes\nyes\n", "\n", exitFailed, holdgate.StatusPending},
		{"yes is not enough where the risk is critical", "critical", "", "yes\n", exitFailed, holdgate.StatusPending},
		{"the tool's name is", "critical", "", "Bash\n", exitDone, holdgate.StatusApproved},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "hg")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			s := &sidecar{dir: dir}
			if err := s.start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.stop(); err != nil {
					t.Error(err)
				}
			}()
			r, err := s.hold(tt.call)
			if err != nil {
				t.Fatal(err)
			}
			code, printed := onTerminal(t, []string{"approve", "--state-dir", dir}, tt.ahead, tt.answer)
			if code != tt.code {
				t.Errorf("exit code %d, want %d; printed:\n%s", code, tt.code, printed)
			}
			if !strings.Contains(printed, r.Briefing.Summary) {
				t.Errorf("the call was not shown:\n%s", printed)
			}
			list, err := s.queue.List(t.Context(), approvals.Filter{})
			if err != nil || len(list) != 1 || list[0].Status != tt.status {
				t.Errorf("the queue holds %+v (%v), want one %s", list, err, tt.status)
			}
		})
	}
}

func TestAnInterruptedQuestionDecidesNothing(t *testing.T) {
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer tty.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if line, err := readLine(ctx, tty); err == nil {
		t.Errorf("read %q from a terminal that nobody typed on", line)
	}
	keys.Close() // ends the read that was left to itself
}
