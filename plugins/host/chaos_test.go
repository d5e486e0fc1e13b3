package host

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// chaosRounds is how many rounds TestChaos takes; HOLDGATE_CHAOS_ROUNDS is for
// more.
const chaosRounds = 4

// Channels that crash, hang, flood, lie, and are killed from outside, beside
// one that works: every request ends as the one that works decides it, none
// waits for the others, and nothing of them is left.
func TestChaos(t *testing.T) {
	rounds := chaosRounds
	if n, err := strconv.Atoi(os.Getenv("HOLDGATE_CHAOS_ROUNDS")); err == nil && n > 0 {
		rounds = n
	}
	b := newBench(t)
	if _, err := b.queue.Cancel(t.Context(), b.ask("the first write, with which the store opens its log").ID, ""); err != nil {
		t.Fatal(err)
	}
	before, open := runtime.NumGoroutine(), descriptors(t)
	b.edit = func(c *channel) {
		if c.c.Name == "hangs" {
			c.d.notify = 200 * time.Millisecond
		}
	}
	lies := []string{"unknown request", "no nonce", "another nonce", "another digest", "nobody", "hidden name", "edit", "claim", "steer without words"}
	h := b.run(
		b.puppet("works", script{Name: "works", Answers: []string{"deny"}}),
		b.puppet("crashes", script{Name: "crashes", Notify: "panic"}),
		b.puppet("exits", script{Name: "exits", Notify: "exit"}),
		b.puppet("hangs", script{Name: "hangs", Notify: "hang"}),
		b.puppet("floods", script{Name: "floods", Answers: []string{"flood"}}),
		b.puppet("lies", script{Name: "lies", Answers: lies}),
		b.puppet("killed", script{Name: "killed"}),
	)
	for round := range rounds {
		var ids []string
		for i := range 5 {
			ids = append(ids, b.ask(fmt.Sprintf("rm -rf build-%d-%d", round, i)).ID)
		}
		kill(h.channels[len(h.channels)-1])
		for _, id := range ids {
			got := b.ended(id)
			if got.Status != holdgate.StatusDenied || got.Outcome.By != "works:ada" || len(got.Votes) != 1 {
				t.Errorf("request %s is %s: %+v", id, got.Status, got.Votes)
			}
		}
	}
	b.end()
	until(t, "goroutines and descriptors are left", func() bool {
		return runtime.NumGoroutine() <= before && descriptors(t) <= open
	})
}

// kill kills a channel's process from outside, where one runs just now.
func kill(c *channel) {
	c.mu.Lock()
	p := c.live
	c.mu.Unlock()
	if p == nil {
		return
	}
	if pid, err := strconv.Atoi(p.child.ID()); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	}
}

// descriptors counts the files that this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("open files cannot be counted here: %v", err)
	}
	return len(list)
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Errorf("%s: %d goroutines", what, runtime.NumGoroutine())
			return
		}
	}
}
