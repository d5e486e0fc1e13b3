package approvals_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// kept counts what the store holds besides the audit log, by the first part of
// the key.
func (b *bench) kept() map[string]int {
	b.t.Helper()
	n := make(map[string]int)
	b.eachValue(func(key string, _ []byte) {
		if kind, _, _ := strings.Cut(key, "/"); !strings.HasPrefix(kind, "audit") {
			n[kind]++
		}
	})
	return n
}

func TestOnlyTheLogIsLeftOfWhatHasLongBeenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLimited(t, func(c *approvals.Config) {
			c.Redeem = time.Minute
			c.Retention = approvals.Retention{Requests: 2 * time.Hour, Events: time.Hour}
		})
		var last approvals.Request
		for i := range 70 { // more than go in one transaction
			x := b.enter(fmt.Sprint("k", i))
			r := b.ask(x, bash(0, "rm"), hold(func(d *holdgate.Decision) { d.Hold.Timeout = time.Minute }))
			switch i % 3 {
			case 0:
				b.decide(r, approve(r, "ana"))
				if err := x.Use(t.Context(), use(r)); err != nil {
					t.Fatal(err)
				}
			case 1:
				b.decide(r, deny("ana"))
			} // the others expire, and are given up
			if i%3 < 2 {
				if err := x.Done(t.Context(), true, ""); err != nil {
					t.Fatal(err)
				}
			}
			x.Leave()
			last = r
		}
		waiting := b.ask(b.enter("waits"), bash(0, "rm"), hold(func(d *holdgate.Decision) { d.Hold.Timeout = 100 * time.Hour }))
		time.Sleep(110 * time.Minute)
		if got := b.kept(); got["request"] != 71 || got["used"] != 24 || got["done"] != 70 {
			t.Errorf("before its time something was forgotten: %v", got)
		}
		time.Sleep(80 * time.Minute) // the sweeps are an hour apart
		want := fmt.Sprint(map[string]int{"asked": 1, "due": 1, "exchange": 1, "open": 1, "pending": 1, "request": 1})
		if got := fmt.Sprint(b.kept()); got != want {
			t.Errorf("left are %v, want %v", got, want)
		}
		if _, err := b.queue.Request(t.Context(), last.ID); !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("the last request: %v", err)
		}
		if got := b.audited(last.ID); len(got) < 2 {
			t.Errorf("the log says of it %q", got)
		}
		if got := b.request(waiting.ID); got.Status != holdgate.StatusPending {
			t.Errorf("the one that waits is %s", got.Status)
		}
		b.close()
	})
}

// An approval that was used is not usable again because its record went.
func TestWhatIsForgottenCannotBeUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLimited(t, func(c *approvals.Config) { c.Retention.Requests = time.Hour })
		x := b.enter("k")
		r := b.ask(x, bash(0, "rm"), hold())
		b.decide(r, approve(r, "ana"))
		if err := x.Use(t.Context(), use(r)); err != nil {
			t.Fatal(err)
		}
		if err := x.Done(t.Context(), true, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(125 * time.Minute) // the connection is still there
		if err := x.Use(t.Context(), use(r)); err == nil {
			t.Error("it was used again")
		}
		if y := b.enter("k"); y.ID() == x.ID() {
			t.Error("the exchange was joined again")
		}
		b.close()
	})
}
