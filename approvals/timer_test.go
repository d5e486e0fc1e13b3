package approvals_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

func silence(d time.Duration) func(*holdgate.Decision) {
	return func(o *holdgate.Decision) { o.Hold.Timeout, o.Hold.OnTimeout = d, holdgate.TimeoutApprove }
}

func TestWhatSilenceDoes(t *testing.T) {
	t.Parallel()
	unconfined, unknown := caller, caller
	unknown.Agent.Confinement = ""
	unconfined.Agent.Confinement = "unconfined"
	tests := []struct {
		name   string
		who    approvals.Caller
		d      holdgate.Decision
		status holdgate.Status
		shown  string // on_timeout, as people see it
		after  time.Duration
	}{
		{"it denies after an hour where the rule says nothing", caller, hold(), holdgate.StatusExpired, "deny", time.Hour},
		{"it denies after the rule's time", caller, hold(func(d *holdgate.Decision) { d.Hold.Timeout = time.Minute }), holdgate.StatusExpired, "deny", time.Minute},
		{"it approves where the rule says so", caller, hold(silence(10 * time.Second)), holdgate.StatusApproved, "approve", 10 * time.Second},
		{"it never approves what requires a person", caller, hold(silence(time.Minute), func(d *holdgate.Decision) { d.Hold.Required = true }), holdgate.StatusExpired, "deny", time.Hour},
		{"it never approves high risk", caller, hold(silence(time.Minute), func(d *holdgate.Decision) { d.Risk = holdgate.RiskHigh }), holdgate.StatusExpired, "deny", time.Hour},
		{"it never approves critical risk", caller, hold(silence(time.Minute), func(d *holdgate.Decision) { d.Risk = holdgate.RiskCritical }), holdgate.StatusExpired, "deny", time.Hour},
		{"it never approves an unconfined agent", unconfined, hold(silence(time.Minute)), holdgate.StatusExpired, "deny", time.Hour},
		{"it never approves an agent of which nobody knows", unknown, hold(silence(time.Minute)), holdgate.StatusExpired, "deny", time.Hour},
		{"it never chooses", caller, hold(choice, silence(time.Minute)), holdgate.StatusExpired, "deny", time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				x, err := b.queue.Enter(t.Context(), tt.who, named("k"))
				if err != nil {
					t.Fatal(err)
				}
				defer x.Leave()
				r := b.ask(x, bash(0, "make"), tt.d)
				if r.OnTimeout != tt.shown {
					t.Errorf("on_timeout is shown as %s, want %s", r.OnTimeout, tt.shown)
				}
				got, err := x.Wait(t.Context(), r.ID)
				if err != nil {
					t.Fatal(err)
				}
				if got.Status != tt.status || got.Outcome.Decision != holdgate.AnswerTimeout || got.Outcome.By != "policy" {
					t.Errorf("ended as %s: %+v", got.Status, got.Outcome)
				}
				if d := got.Outcome.At.Sub(r.CreatedAt); d < tt.after || d > tt.after+time.Second {
					t.Errorf("after %s, want %s", d, tt.after)
				}
				notes := b.audited(r.ID)
				if denied := tt.d.Hold.OnTimeout == holdgate.TimeoutApprove && tt.status == holdgate.StatusExpired; denied != (notes[len(notes)-1] != "outcome") {
					t.Errorf("audit: %q", notes)
				}
				entries, err := b.log.Query(t.Context(), audit.Query{RequestID: r.ID})
				if err != nil {
					t.Fatal(err)
				}
				if last := entries[len(entries)-1]; last.Status != tt.status {
					t.Errorf("the log says that it is %q, want %q", last.Status, tt.status)
				}
				b.close()
			})
		})
	}
}

func TestSilenceWhileTheSidecarWasDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		denies := b.ask(x, bash(0, "one"), hold(func(d *holdgate.Decision) { d.Hold.Timeout = time.Minute }))
		approves := b.ask(x, bash(1, "two"), hold(silence(time.Minute)))
		later := b.ask(x, bash(2, "three"), hold())
		elsewhere := caller
		elsewhere.Agent.ID = "codex"
		y, err := b.queue.Enter(t.Context(), elsewhere, named("k"))
		if err != nil {
			t.Fatal(err)
		}
		slow := b.ask(y, bash(3, "four"), hold(silence(10*time.Minute)))
		x.Leave()
		y.Leave()
		b.close()
		time.Sleep(2 * time.Minute)
		b.open()
		synctest.Wait()
		retry := b.enter("k")
		defer retry.Leave()
		got, err := retry.Wait(t.Context(), denies.ID)
		if err != nil || got.Status != holdgate.StatusExpired {
			t.Errorf("what silence denies: %s, %v", got.Status, err)
		}
		if got := b.request(later.ID); got.Status != holdgate.StatusPending || !got.ExpiresAt.Equal(later.ExpiresAt) {
			t.Errorf("what has time: %s until %s, was %s", got.Status, got.ExpiresAt, later.ExpiresAt)
		}
		opened := time.Now()
		if got := b.request(slow.ID); !got.ExpiresAt.Equal(opened.Add(10 * time.Minute)) {
			t.Errorf("a window that was cut short ends at %s, want a whole one from %s", got.ExpiresAt, opened)
		}
		if got := b.request(approves.ID); got.Status != holdgate.StatusPending {
			t.Fatalf("silence approved while nobody could be asked: %s", got.Status)
		}
		got, err = retry.Wait(t.Context(), approves.ID)
		if err != nil || got.Status != holdgate.StatusApproved {
			t.Errorf("after a whole window: %s, %v", got.Status, err)
		}
		if d := got.Outcome.At.Sub(opened); d < time.Minute-time.Second {
			t.Errorf("the window had only %s after the restart", d)
		}
		b.close()
	})
}

func TestAnOutcomeWaitsForItsCallAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		r := b.ask(x, bash(0, "make"), hold())
		b.decide(r, approve(r, "ana"))
		time.Sleep(90 * time.Minute) // a live connection keeps it
		if err := x.Use(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		x.Leave()
		time.Sleep(29 * time.Minute)
		retry := b.enter("k")
		if retry.ID() != x.ID() {
			t.Fatal("the outcome did not wait")
		}
		retry.Leave()
		time.Sleep(2 * time.Hour)
		late := b.enter("k")
		defer late.Leave()
		if late.ID() == x.ID() {
			t.Fatal("joined after its time")
		}
		notes := b.audited(r.ID)
		if got, want := notes[len(notes)-1], "result: unused: the same call did not come again in time"; got != want {
			t.Errorf("audit: %q, want %q", got, want)
		}
		b.close()
	})
}

func TestASenderThatLeavesWithoutAWordIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		r := b.ask(x, bash(0, "make"), hold())
		b.decide(r, approve(r, "ana"))
		if err := x.Use(t.Context(), use(r)); err != nil {
			t.Fatal(err)
		}
		x.Leave()
		retry := b.enter("k")
		defer retry.Leave()
		if retry.ID() == x.ID() {
			t.Fatal("joined what somebody was sending")
		}
		time.Sleep(time.Second)
		notes := b.audited(r.ID)
		if got, want := notes[len(notes)-1], "result: unknown: the connection ended while the call was under way"; got != want {
			t.Errorf("audit: %q, want %q", got, want)
		}
		b.close()
	})
}

func TestWaitEndsWithItsContextAndWithTheQueue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Wait(ctx, r.ID); err == nil {
		t.Error("waited without a context")
	}
	ended := make(chan error)
	go func() {
		_, err := x.Wait(context.WithoutCancel(t.Context()), r.ID)
		ended <- err
	}()
	if err := b.queue.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("waited for a queue that is closed")
	}
	if got := b.request(r.ID); got.Status != holdgate.StatusPending {
		t.Errorf("the request is %s", got.Status)
	}
}

// A refusingStore takes no change for as often as it is told to.
type refusingStore struct {
	store.Store
	left atomic.Int32
}

func (s *refusingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.left.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return s.Store.Update(ctx, fn)
}

// What is due is done once the store takes it, a second later.
func TestWhatIsDueIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := &refusingStore{}
		b := newBench(t, func(s store.Store) store.Store {
			full.Store = s
			return full
		})
		x := b.enter("k")
		r := b.ask(x, bash(0, "make"), hold(func(d *holdgate.Decision) { d.Hold.Timeout = time.Minute }))
		full.left.Store(0)
		time.Sleep(time.Minute - time.Nanosecond)
		full.left.Store(3)
		got, err := x.Wait(t.Context(), r.ID)
		if err != nil || got.Status != holdgate.StatusExpired {
			t.Fatalf("it ended as %s: %v", got.Status, err)
		}
		if late := got.Outcome.At.Sub(r.ExpiresAt); late < 3*time.Second || late > 4*time.Second {
			t.Errorf("it ended %s late, want three seconds", late)
		}
		x.Leave()

		y := b.enter("l")
		r = b.ask(y, bash(0, "make"), hold())
		b.decide(r, approve(r, "ana"))
		if err := y.Use(t.Context(), use(r)); err != nil {
			t.Fatal(err)
		}
		full.left.Store(3)
		y.Leave() // without a word of how it went
		time.Sleep(10 * time.Second)
		synctest.Wait()
		notes := b.audited(r.ID)
		if got, want := notes[len(notes)-1], "result: unknown: the connection ended while the call was under way"; got != want {
			t.Errorf("audit: %q, want %q", got, want)
		}
		b.close()
	})
}
