package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// A watching is holdgate watch on a terminal.
type watching struct {
	t    *testing.T
	keys *os.File
	code chan int

	mu   sync.Mutex
	more sync.Cond
	all  bytes.Buffer // what it wrote since the last key
	done bool
}

func watch(t *testing.T, dir, term string) *watching {
	t.Helper()
	t.Setenv("TERM", term)
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	if err := pty.Setsize(keys, &pty.Winsize{Rows: 60, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	w := &watching{t: t, keys: keys, code: make(chan int, 1)}
	w.more.L = &w.mu
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	over := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done = true
		w.more.Broadcast()
	}
	context.AfterFunc(ctx, over)
	go func() {
		_, _ = io.Copy(w, keys) // it ends with the terminal
		over()
	}()
	go func() {
		w.code <- execute(ctx, []string{"holdgate", "watch", "--state-dir", dir}, tty, tty, tty)
		tty.Close()
	}()
	t.Cleanup(func() { cancel(); keys.Close() })
	return w
}

func (w *watching) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.more.Broadcast()
	return w.all.Write(p)
}

// shows waits until it has written a text since the last key.
func (w *watching) shows(text string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !strings.Contains(w.all.String(), text) {
		if w.done {
			w.t.Fatalf("it never showed %q; it wrote %q", text, w.all.String())
		}
		w.more.Wait()
	}
}

func (w *watching) types(keys string) {
	w.t.Helper()
	w.mu.Lock()
	w.all.Reset()
	w.mu.Unlock()
	if _, err := io.WriteString(w.keys, keys); err != nil {
		w.t.Fatal(err)
	}
}

func TestWatchDecidesOnATerminal(t *testing.T) {
	s := startSidecar(t)
	r, err := s.hold("delete")
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, s.dir, "xterm-256color")
	w.shows("1 waiting")
	w.shows(r.Briefing.Summary)
	w.types("j\r")
	w.shows("time left")
	w.shows("y approve") // it has stood
	w.types("y")
	w.shows("to approve, type")
	w.types("approve\r")
	w.shows("approved: ")
	now, err := s.queue.Request(t.Context(), r.ID)
	if err != nil || now.Status != holdgate.StatusApproved || now.Outcome.By != "ada" {
		t.Errorf("the request is %+v (%v)", now, err)
	}
	w.types("q")
	w.shows("\x1b[?1049l") // the screen is given back
	if code := <-w.code; code != command.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

func TestWatchAsksLineByLineOnADumbTerminal(t *testing.T) {
	s := startSidecar(t)
	r, err := s.hold("delete")
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, s.dir, "dumb")
	w.shows(r.Briefing.Summary)
	w.shows("q quit: ")
	w.mu.Lock()
	all := w.all.String()
	w.mu.Unlock()
	if strings.Contains(all, "\x1b") {
		t.Errorf("escape sequences on a dumb terminal: %q", all)
	}
	w.types("q\n")
	if code := <-w.code; code != command.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

func TestWatchSaysWhereNoSidecarIs(t *testing.T) {
	w := watch(t, t.TempDir(), "xterm")
	w.shows("error: no sidecar at ")
	w.shows("hint: start one with: holdgate serve")
	if code := <-w.code; code != command.ExitFailed {
		t.Errorf("exit code %d", code)
	}
}
