package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

func TestAReadingEndsWithItsContextAndCountsLines(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var screen bytes.Buffer
	p := &progress{w: &screen, what: "entries"}
	r := watchedReader{ctx, strings.NewReader("one\ntwo\nthree"), p}
	if b, err := io.ReadAll(r); err != nil || string(b) != "one\ntwo\nthree" || p.n != 2 {
		t.Errorf("read %q, %v, and counted %d lines, want 2", b, err, p.n)
	}
	p.end()
	if got := screen.String(); !strings.Contains(got, "2 entries") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the screen got %q", got)
	}
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// A file that never ends is read until the person has enough, and what was in order
// so far is told.
func TestAnInterruptedVerificationSaysHowFarItCame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "export.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := execute(ctx, []string{"holdgate", "audit", "verify", "--state-dir", t.TempDir(), path}, strings.NewReader(""), &out, &out)
	if code != exitFailed || !strings.Contains(out.String(), "error: interrupted: 0 entries were in order") {
		t.Errorf("exit code %d, printed:\n%s", code, out.String())
	}
}

func TestAProgressIsForTerminalsOnly(t *testing.T) {
	_, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer tty.Close()
	for kind, want := range map[string]bool{"xterm": true, "dumb": false} {
		e := &env{stderr: tty, getenv: func(string) string { return kind }}
		if got := e.progress("entries").w != nil; got != want {
			t.Errorf("on a terminal of kind %s: %t", kind, got)
		}
	}
	if p := (&env{stderr: io.Discard, getenv: os.Getenv}).progress("entries"); p.w != nil {
		t.Error("it is shown where no terminal is")
	}
}
