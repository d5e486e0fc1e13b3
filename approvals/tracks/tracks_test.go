package tracks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/store"
)

// A world is a keeper over a store on disk, whose writes a test can have fail.
type world struct {
	*tracks.Keeper

	t  *testing.T
	st *failing
}

// failing is a store of which a test can have an update fail once its function ran.
type failing struct {
	store.Store
	err    error
	during func() // runs before an update is durable, and once more before anybody learns that it is
}

func (f *failing) Update(ctx context.Context, fn func(store.Tx) error) error {
	if f.during == nil {
		f.during = func() {}
	}
	defer f.during()
	return f.Store.Update(ctx, func(tx store.Tx) error {
		err := errors.Join(fn(tx), f.err)
		f.during()
		return err
	})
}

var caller = record.Caller{Agent: holdgate.Agent{ID: "ada"}, Session: holdgate.Session{ID: "one"}}

func newWorld(t *testing.T, keep time.Duration) *world {
	t.Helper()
	w := &world{t: t, st: &failing{Store: recordtest.Store(t)}}
	w.restart(keep)
	return w
}

// restart makes a keeper that knows nothing but what is stored.
func (w *world) restart(keep time.Duration) {
	w.t.Helper()
	w.Keeper = tracks.New(recordtest.Book(w.t, w.st), tracks.Config{
		Begin: sessions.Setting{Mode: sessions.ModeAuto}, Keep: keep, Logger: slog.New(slog.DiscardHandler),
		Gates: func() sessions.Gates { return sessions.Gates{} }, Knows: func(string) bool { return true },
		Goes:   func(string, string) agents.Status { return agents.Status{State: agents.Running} },
		Halted: func(*sessions.Record) {},
	})
	must(w.t, w.st.View(w.t.Context(), w.TakeUp))
}

func (w *world) track() *tracks.Track {
	w.t.Helper()
	s, err := w.Track(w.t.Context(), caller.Agent.ID, caller.Session.ID)
	must(w.t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheSameCallIsCountedForFiveMinutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	begin := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		name         string
		digest       holdgate.Digest
		at           time.Duration
		same, lately int
	}{
		{"the first", "a", 0, 1, 1},
		{"the same", "a", time.Second, 2, 2},
		{"another", "b", 2 * time.Second, 1, 3},
		{"one that has no digest is never the same", "", 3 * time.Second, 1, 4},
		{"nor the next of its kind", "", 3 * time.Second, 1, 5},
		{"the same at the end of the minute", "a", 59 * time.Second, 3, 6},
		{"after the first has left the minute", "b", time.Minute, 2, 6},
		{"a clock that was set back counts on", "b", 30 * time.Second, 3, 7},
		{"five minutes after the first", "a", 5 * time.Minute, 4, 1},
		{"later it is new", "a", 5*time.Minute + time.Second, 1, 2},
	} {
		same, lately := w.track().Called(step.digest, begin.Add(step.at))
		if same != step.same || lately != step.lately {
			t.Errorf("%s: made %d times, %d lately, want %d and %d", step.name, same, lately, step.same, step.lately)
		}
	}
}

// An agent that makes ever new calls does not fill the memory: of the calls of one
// session the oldest is forgotten.
func TestTheOldestOfManyCallsIsForgotten(t *testing.T) {
	t.Parallel()
	s, now := newWorld(t, time.Hour).track(), time.Now()
	for n := range 65 {
		s.Called(holdgate.Digest(fmt.Sprint(n)), now)
	}
	if same, _ := s.Called("1", now); same != 2 {
		t.Errorf("the second of 65 was made %d times, want 2", same)
	}
	if same, _ := s.Called("0", now); same != 1 {
		t.Errorf("the first of 65 is remembered: %d times", same)
	}
}

func TestTaintOutlivesTheProcessAndIsWrittenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	must(t, w.Taint(t.Context(), caller, nil, "nothing"))
	if n := w.track().Record().Revision; n != 0 {
		t.Errorf("no taint was written, as revision %d", n)
	}
	must(t, w.Taint(t.Context(), caller, []string{"untrusted"}, "a page"))
	first := w.track().Record().Revision
	must(t, w.Taint(t.Context(), caller, []string{"untrusted"}, "the same page"))
	if n := w.track().Record().Revision; n != first {
		t.Errorf("the same taint was written again, as revision %d after %d", n, first)
	}
	must(t, w.Taint(t.Context(), caller, []string{"private", "untrusted"}, "a mailbox"))
	w.restart(time.Hour)
	if diff := cmp.Diff([]string{"private", "untrusted"}, w.track().Taint()); diff != "" {
		t.Errorf("taint after a restart (-want +got):\n%s", diff)
	}
	shown := w.TaintOf(t.Context(), caller)
	if len(shown) != 1 || len(shown[0].Lines) != 2 {
		t.Errorf("people are shown %+v", shown)
	}
}

// A change that fails leaves a session as it was, and loses none of what was counted:
// the next that is durable takes it along.
func TestCountsOutliveAChangeThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	s := w.track()
	s.Decided(holdgate.Allow)
	s.Decided(holdgate.Allow)
	s.Decided(holdgate.Deny)
	s.Decided(holdgate.Hold) // which is counted where it is asked
	s.Ended("+-")
	want := sessions.Counts{Allowed: 2, Refused: 1, Succeeded: 1, Failed: 1}
	w.st.err = errors.New("the disk is full")
	if err := w.Taint(t.Context(), caller, []string{"untrusted"}, "a page"); !errors.Is(err, w.st.err) {
		t.Fatalf("tainted while the disk is full: %v", err)
	}
	if diff := cmp.Diff(want, s.Counts()); diff != "" || len(s.Taint()) != 0 || s.Results() != "+-" {
		t.Errorf("after a change that failed: taint %q, results %q, counts (-want +got):\n%s", s.Taint(), s.Results(), diff)
	}
	w.st.err = nil
	must(t, w.Left(t.Context(), caller, "/srv"))
	w.restart(time.Hour)
	s = w.track()
	if diff := cmp.Diff(want, s.Counts()); diff != "" || s.Record().Shell != "/srv" || s.Results() != "+-" {
		t.Errorf("after a restart: shell %q, results %q, counts (-want +got):\n%s", s.Record().Shell, s.Results(), diff)
	}
}

func TestASideRequestIsNoneOfTheConversation(t *testing.T) {
	t.Parallel()
	s := newWorld(t, time.Hour).track()
	var got []bool
	for _, offersTools := range []bool{false, true, false, true} {
		got = append(got, s.Converses(offersTools))
	}
	if want := []bool{true, true, false, true}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: once tools were offered, only those requests count that offer some", got, want)
	}
}

// A session that nothing was heard of for long is forgotten, and not the one of which
// people were told that it is halted.
func TestAnOldSessionIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, -time.Hour) // all are old
	other := caller
	other.Session.ID = "halted"
	for _, who := range []record.Caller{caller, other} {
		must(t, w.Taint(t.Context(), who, []string{"untrusted"}, "a page"))
	}
	must(t, w.st.Update(t.Context(), func(tx store.Tx) error {
		r, err := sessions.Load(tx, "ada", "halted")
		if err != nil {
			return err
		}
		r.Halt = &sessions.Halt{Reason: "it waits for a person"}
		return sessions.Save(tx, r)
	}))
	must(t, w.Forget(t.Context()))
	list, err := w.List(t.Context(), "ada")
	must(t, err)
	var left []string
	for _, s := range list {
		left = append(left, s.ID)
	}
	if !slices.Equal(left, []string{"halted"}) {
		t.Errorf("%q are left, want the halted one alone", left)
	}
	if r := w.track().Record(); r.Revision != 0 || len(r.Taint) != 0 {
		t.Errorf("of the forgotten session %+v is left", r)
	}
}

// What could not be stored of what was used is stored the next time, and never twice.
func TestWhatWasUsedIsStoredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	used := holdgate.Usage{Answers: 1, Metered: 1, Priced: 1, Input: 9, Output: 3, Cost: 2, Currency: "USD"}
	w.track().Used(used, true)
	w.st.err = errors.New("the disk is full")
	if err := w.Save(t.Context()); !errors.Is(err, w.st.err) {
		t.Errorf("it was stored: %v", err)
	}
	w.st.err = nil
	for range 2 {
		must(t, w.Save(t.Context()))
		if got := w.track(); got.Usage() != used || got.Record().Usage != used || got.Record().Revision != 1 || !got.Record().Proven {
			t.Errorf("there is %+v, and stored is %+v", got.Usage(), got.Record())
		}
	}
	w.restart(time.Hour)
	sums, err := w.Keeper.Used(t.Context())
	must(t, err)
	if got := w.track().Usage(); got != used || sums[caller.Agent.ID] != used {
		t.Errorf("after a restart there is %+v, and %+v of the agent", got, sums)
	}
}

// What was counted is there while it is being stored, once and not twice: a request that
// comes meanwhile must not pass a budget.
func TestWhatIsBeingStoredCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	used := holdgate.Usage{Answers: 1, Metered: 1, Input: 9, Output: 3}
	want := sessions.Counts{Allowed: 1, Succeeded: 1}
	times := 0
	for _, full := range []bool{true, false} {
		if full {
			w.track().Used(used, true)
			w.track().Decided(holdgate.Allow)
			w.track().Ended("+")
			w.st.err = errors.New("the disk is full")
		}
		w.st.during = func() {
			times++
			must(t, w.CatchUp(t.Context(), caller.Agent.ID, caller.Session.ID))
			s := w.track()
			if diff := cmp.Diff(want, s.Counts()); diff != "" || s.Usage() != used || s.Results() != "+" {
				t.Errorf("while it is stored: usage %+v, results %q, counts (-want +got):\n%s", s.Usage(), s.Results(), diff)
			}
		}
		if err := w.Save(t.Context()); !errors.Is(err, w.st.err) {
			t.Errorf("stored with %v, want %v", err, w.st.err)
		}
		w.st.err = nil
	}
	w.st.during()
	if times < 5 {
		t.Errorf("it was looked at %d times", times)
	}
}

// However many sessions there are, what was used of one and is not stored is not forgotten.
func TestWhatIsNotStoredIsNotForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	used := holdgate.Usage{Answers: 1, Metered: 1, Input: 9}
	w.track().Used(used, true)
	for n := range 4097 {
		_, err := w.Track(t.Context(), caller.Agent.ID, fmt.Sprint("other ", n))
		must(t, err)
	}
	if got := w.track().Usage(); got != used {
		t.Errorf("there is %+v", got)
	}
}

// Where the currency has changed, what an agent has used is in that of the session which
// was heard of last, however often it is asked.
func TestAnAgentsCostIsInItsLatestCurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	begin := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	must(t, w.st.Update(t.Context(), func(tx store.Tx) error {
		var errs []error
		for n, currency := range []string{"USD", "EUR", "EUR", "USD", "CHF", "CHF", "EUR", "USD"} {
			r := sessions.New("ada", fmt.Sprint("session ", 9-n), begin)
			r.Last = begin.Add(time.Duration(n/2) * time.Minute) // those heard of at once count by name
			r.Usage = holdgate.Usage{Answers: 1, Metered: 1, Priced: 1, Input: 1, Cost: 1, Currency: currency}
			errs = append(errs, sessions.Save(tx, r))
		}
		return errors.Join(errs...)
	}))
	want := map[string]holdgate.Usage{"ada": {Answers: 8, Metered: 8, Priced: 1, Input: 8, Cost: 1, Currency: "EUR"}}
	for range 20 {
		got, err := w.Keeper.Used(t.Context())
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}
