package approvals_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/storetest"
)

// uses has the session use something, and stored is what a restart would find of it.
func (b *bench) uses(u holdgate.Usage) {
	b.t.Helper()
	s, err := b.queue.Sessions.Track(b.t.Context(), caller.Agent.ID, caller.Session.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	s.Used(u, caller.Agent.Proven)
}

func (b *bench) used() holdgate.Usage {
	b.t.Helper()
	s, err := b.queue.Sessions.Track(b.t.Context(), caller.Agent.ID, caller.Session.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return s.Record().Usage
}

// What sessions use is stored once a minute, and when the queue closes: each once, however
// often the store runs a change.
func TestWhatSessionsUseIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, storetest.Twice)
		one := holdgate.Usage{Answers: 1, Metered: 1, Input: 9, Output: 3}
		b.uses(one)
		b.uses(one)
		time.Sleep(time.Minute)
		synctest.Wait()
		want := one.Plus(one)
		if got := b.used(); got != want {
			t.Errorf("after a minute %+v is stored, want %+v", got, want)
		}
		b.uses(one)
		b.reopen()
		want = want.Plus(one)
		if got := b.used(); got != want {
			t.Errorf("after a restart there is %+v, want %+v", got, want)
		}
		b.close()
	})
}

// A queue whose store is gone closes all the same.
func TestAQueueClosesWithoutItsStore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.uses(holdgate.Usage{Answers: 1})
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.queue.Close(); err != nil {
		t.Error(err)
	}
	b.open()
	if got := b.used(); got.Answers != 0 {
		t.Errorf("%+v was stored", got)
	}
}
