package approvals_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/store/storetest"
)

// uses has the session use something, and used is what is stored of it.
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

// What is counted while people look at a session does not keep them from changing it; what
// other people change does.
func TestWhatIsCountedKeepsNobodyFromASession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := holdgate.Usage{Answers: 1}
	var seen uint64
	for range 2 { // of a session of which nothing was stored, too
		b.uses(one)
		if err := b.queue.Sessions.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := b.queue.Sessions.One(t.Context(), caller.Agent.ID, caller.Session.ID)
		if err != nil {
			t.Fatal(err)
		}
		if seen != 0 && s.Revision != seen || s.Revision == 0 {
			t.Errorf("people saw revision %d, and now %d", seen, s.Revision)
		}
		seen = s.Revision
	}
	set := func(mode sessions.Mode) error {
		_, err := b.queue.Sessions.SetMode(t.Context(), caller.Agent.ID, caller.Session.ID, sessions.Setting{Mode: mode}, seen, "ana")
		return err
	}
	if err := set(sessions.ModeManual); err != nil {
		t.Errorf("after nothing but counts: %v", err)
	}
	if err := set(sessions.ModeAuto); !errors.Is(err, tracks.ErrRevision) {
		t.Errorf("after a change of the mode: %v", err)
	}
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
