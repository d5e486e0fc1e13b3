package tui

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// TestPlain asks line by line, as on a terminal that knows no escape sequences.
func TestPlain(t *testing.T) {
	s := newSidecar(t)
	high := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskHigh))
	medium := s.hold("Edit", edit, risk(holdgate.RiskMedium))
	keysOut, keys, err := os.Pipe()
	s.check(err)
	out, screen, err := os.Pipe()
	s.check(err)
	defer keysOut.Close()
	defer out.Close()
	var mu sync.Mutex
	clock := time.Now()
	p := &plain{o: Options{API: s.client(), Input: keysOut, Output: screen}, now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- p.run(ctx); screen.Close() }()

	in := bufio.NewReader(out)
	var all strings.Builder
	until := func(text string) {
		t.Helper()
		var read strings.Builder
		for !strings.HasSuffix(read.String(), text) {
			b, err := in.ReadByte()
			if err != nil {
				t.Fatalf("it never printed %q: %q", text, read.String())
			}
			read.WriteByte(b)
			all.WriteByte(b)
		}
	}
	say := func(line string) {
		t.Helper()
		_, err := io.WriteString(keys, line+"\n")
		s.check(err)
	}
	const asked = "q quit: "
	until("approve (typed in full), d [REASON] deny, s TEXT steer, l later, " + asked)
	say("approve")
	until("typed before the request could be read")
	until(asked)
	say("yes")
	until("typed before the request could be read")
	until(asked)
	mu.Lock()
	clock = clock.Add(minShown)
	mu.Unlock()
	say("y")
	until(`to approve this call type "approve" in full`)
	until(asked)
	d := &desk{t: t, s: s}
	if got := d.status(high); got != holdgate.StatusPending {
		t.Fatalf("the request is %s", got)
	}
	mu.Lock()
	clock = clock.Add(time.Hour)
	mu.Unlock()
	say("d keep it")
	until("denied: ")
	until("a approve, d [REASON] deny, s TEXT steer, l later, " + asked)
	mu.Lock()
	clock = clock.Add(2 * time.Hour)
	mu.Unlock()
	say("a")
	until("approved: ")
	say("q")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := d.status(high); got != holdgate.StatusDenied {
		t.Errorf("the first is %s", got)
	}
	if got := d.status(medium); got != holdgate.StatusApproved {
		t.Errorf("the second is %s", got)
	}
	if strings.Contains(all.String(), "\x1b") {
		t.Error("escape sequences on a dumb terminal")
	}
	shown := strings.NewReplacer(high.ID, strings.Repeat("1", len(high.ID)), medium.ID, strings.Repeat("2", len(medium.ID))).Replace(all.String())
	s.golden("plain", strings.ReplaceAll(shown, asked, asked+"\n")) // where a line was typed
}
