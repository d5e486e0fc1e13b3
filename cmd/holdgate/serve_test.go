package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// command runs holdgate and returns the exit code and what it printed.
func command(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	code := run(ctx, append([]string{"holdgate"}, args...), strings.NewReader(""), &out, &out)
	return code, out.String()
}

// The commands find a sidecar that serve started by its state folder alone,
// and read its log in the same way when it has ended.
func TestCommandsFindWhatServeServes(t *testing.T) {
	dir, err := os.MkdirTemp("", "hg")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(t.Context())
	out, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"holdgate", "serve", "--state-dir", dir, "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0"},
			strings.NewReader(""), w, os.Stderr)
		w.Close()
	}()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"agents", "approvers"} {
		var l struct{ Listening, Addr string }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &l) != nil || l.Listening != want {
			t.Fatalf("serve printed %q, want a line for %s", lines.Text(), want)
		}
		if _, port, err := net.SplitHostPort(l.Addr); err != nil || port == "0" {
			t.Errorf("%s listen at %s", want, l.Addr)
		}
	}
	var rest sync.WaitGroup
	rest.Go(func() { _, _ = io.Copy(io.Discard, out) }) // until serve closes it
	defer rest.Wait()
	defer stop()

	if got, text := command(t, "pending", "--state-dir", dir); got != exitNothing {
		t.Errorf("pending: exit code %d\n%s", got, text)
	}
	got, online := command(t, "audit", "verify", "--state-dir", dir)
	if got != exitDone || !strings.Contains(online, "entries in order") {
		t.Errorf("audit verify: exit code %d\n%s", got, online)
	}
	stop()
	if got := <-code; got != exitDone {
		t.Errorf("serve: exit code %d", got)
	}
	got, text := command(t, "audit", "verify", "--state-dir", dir)
	if got != exitDone || text != online {
		t.Errorf("audit verify without the sidecar: exit code %d\n%s\nwith it:\n%s", got, text, online)
	}
	if got, text := command(t, "pending", "--state-dir", dir); got != exitFailed || !strings.Contains(text, "hint: start one with") {
		t.Errorf("pending without a sidecar: exit code %d\n%s", got, text)
	}
}
