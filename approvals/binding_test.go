package approvals_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// An attack: an agent that has read what it should not send out waits until its
// other sessions count as clean.
func TestTaintLastsAsLongAsItsSessionGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		in := func(id string) []string {
			t.Helper()
			s, err := b.queue.Sessions.Track(t.Context(), "ann", id)
			if err != nil {
				t.Fatal(err)
			}
			return s.Taint()
		}
		who := approvals.Caller{Agent: holdgate.Agent{ID: "ann", Proven: true}, Session: holdgate.Session{ID: "s1"}}
		if err := b.queue.Sessions.Taint(t.Context(), who, []string{"private"}, "a test"); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			time.Sleep(50 * time.Minute)
			in("s1") // it goes on
		}
		time.Sleep(50 * time.Minute)
		if got := in("s2"); !slices.Equal(got, []string{"private"}) {
			t.Errorf("under another name, 50 minutes after the session was in use, it has seen %q", got)
		}
		time.Sleep(15 * time.Minute)
		if got := in("s2"); len(got) != 0 {
			t.Errorf("later than an hour after: %q", got)
		}
		if got := in("s1"); !slices.Equal(got, []string{"private"}) {
			t.Errorf("the session itself: %q", got)
		}
		b.close()
	})
}
