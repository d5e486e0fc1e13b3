package approvals_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// A lateStore has committed long before it says so, where that is on.
type lateStore struct {
	store.Store
	on        atomic.Bool
	committed chan struct{}
	say       chan struct{}
}

func (s *lateStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	if s.on.CompareAndSwap(true, false) {
		close(s.committed)
		<-s.say
	}
	return err
}

// A call that waits sees the end of its request in the store, perhaps before
// whoever decided it goes on. Policy must not be asked about it with what was
// known of the session before.
func TestWhoSeesAnEndKnowsWhatItChangedOfTheSession(t *testing.T) {
	t.Parallel()
	late := &lateStore{committed: make(chan struct{}), say: make(chan struct{})}
	b := newBench(t, func(s store.Store) store.Store {
		late.Store = s
		return late
	})
	x := b.enter("k")
	defer x.Leave()
	gate := func(d *holdgate.Decision) { d.Hold.Gate, d.Hold.Passes = sessions.GateIntent, true }
	r := b.ask(x, bash(0, "touch a"), hold(gate))
	track := func() *sessions.Record {
		t.Helper()
		s, err := b.queue.Sessions.Track(t.Context(), caller.Agent.ID, caller.Session.ID)
		if err != nil {
			t.Fatal(err)
		}
		return s.Record()
	}
	if len(track().Passed) > 0 {
		t.Fatal("the gate is passed already")
	}

	var wg sync.WaitGroup
	late.on.Store(true)
	wg.Go(func() {
		if _, err := b.queue.Decide(t.Context(), r.ID, approve(r, "ana")); err != nil {
			t.Error(err)
		}
	})
	<-late.committed
	ended, err := x.Wait(t.Context(), r.ID)
	if err != nil || ended.Status != holdgate.StatusApproved {
		t.Errorf("got %s, %v", ended.Status, err)
	}
	if passed := track().Passed; len(passed) != 1 || passed[0].Gate != sessions.GateIntent {
		t.Errorf("passed %v, want %s", passed, sessions.GateIntent)
	}
	close(late.say)
	wg.Wait()
}
