package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
)

func TestAReadingEndsWithItsContextAndCountsLines(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var screen bytes.Buffer
	p := &Progress{w: &screen, what: "entries"}
	r := p.Reader(ctx, strings.NewReader("one\ntwo\nthree"))
	if b, err := io.ReadAll(r); err != nil || string(b) != "one\ntwo\nthree" || p.n != 2 {
		t.Errorf("read %q, %v, and counted %d lines, want 2", b, err, p.n)
	}
	p.Done()
	if got := screen.String(); !strings.Contains(got, "2 entries") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the screen got %q", got)
	}
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

func TestAProgressIsForTerminalsOnly(t *testing.T) {
	_, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer tty.Close()
	for kind, want := range map[string]bool{"xterm": true, "dumb": false} {
		e := &Env{Stderr: tty, Getenv: func(string) string { return kind }}
		if got := e.Progress("entries").w != nil; got != want {
			t.Errorf("on a terminal of kind %s: %t", kind, got)
		}
	}
	if p := (&Env{Stderr: io.Discard, Getenv: os.Getenv}).Progress("entries"); p.w != nil {
		t.Error("it is shown where no terminal is")
	}
}
