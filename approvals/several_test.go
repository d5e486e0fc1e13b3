package approvals_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/quota"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store/teststore"
)

// inFleet runs a test with two members on one store.
func inFleet(t *testing.T, limits approvals.Limits, test func(t *testing.T, f *fleet, a, b *fleetMember)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := teststore.Open(t, t.TempDir())
		f := &fleet{t: t, limits: limits}
		f.begin(st, st)
		defer func() { f.close(); st.Close() }()
		test(t, f, f.members[0], f.members[1])
	})
}

// asks enters an exchange at a member, and asks about a call there.
func (f *fleet) asks(m *fleetMember, k string, d holdgate.Decision) (*fleetConn, approvals.Request, error) {
	f.t.Helper()
	c, err := f.enter(m, k)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := c.x.RequestApproval(f.t.Context(), approvals.HeldCall{Call: bash(0, k), Decision: d})
	return c, r, err
}

// must is asks, where that goes well.
func (f *fleet) must(m *fleetMember, k string, d holdgate.Decision) (*fleetConn, approvals.Request) {
	f.t.Helper()
	c, r, err := f.asks(m, k, d)
	if err != nil {
		f.t.Fatal(err)
	}
	return c, r
}

func TestALimitIsOneForAllMembers(t *testing.T) {
	inFleet(t, approvals.Limits{Pending: 2}, func(t *testing.T, f *fleet, a, b *fleetMember) {
		_, first := f.must(a, "1", hold())
		f.must(b, "2", hold())
		for _, m := range f.members {
			var full *quota.Error
			if _, _, err := f.asks(m, "3", hold()); !errors.As(err, &full) || full.Have != 3 {
				t.Errorf("a third request at %s: %v", m.name, err)
			}
		}
		if _, err := b.queue.Decide(t.Context(), first.ID, approve(first, "ana")); err != nil {
			t.Fatal(err)
		}
		f.must(b, "4", hold())
		synctest.Wait()
		for _, m := range f.members {
			if n := m.queue.Pending(); n != 2 {
				t.Errorf("%d are pending at %s", n, m.name)
			}
		}
		f.stop(a)
		f.found(a, false)
		f.start(a)
		if _, _, err := f.asks(a, "5", hold()); err == nil {
			t.Error("a member that began anew has forgotten what waits")
		}
	})
}

// The silence of a request counts with the member whose channel has told people; where
// that one dies, another begins the window anew.
func TestSilenceCountsWithOneMember(t *testing.T) {
	inFleet(t, approvals.Limits{}, func(t *testing.T, f *fleet, a, b *fleetMember) {
		status := func(id string) holdgate.Status {
			synctest.Wait()
			r, err := b.queue.Request(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return r.Status
		}
		a.queue.Reaches("chat", true)
		quiet := hold(silence(10 * time.Second))
		_, r := f.must(b, "1", quiet)
		if _, second := f.must(a, "2", quiet); second.OnTimeout != "deny" {
			t.Error("silence may approve two calls of an agent at once, asked at two members")
		}
		if err := a.queue.Told(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		if time.Sleep(9 * time.Second); status(r.ID) != holdgate.StatusPending {
			t.Fatalf("after nine seconds it is %s", status(r.ID))
		}
		if time.Sleep(2 * time.Second); status(r.ID) != holdgate.StatusApproved {
			t.Fatalf("after eleven seconds it is %s", status(r.ID))
		}
		_, r = f.must(b, "3", quiet)
		if err := a.queue.Told(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		f.stop(a)
		f.found(a, false)
		if time.Sleep(20 * time.Second); status(r.ID) != holdgate.StatusPending {
			t.Fatalf("where nobody reaches people it is %s", status(r.ID))
		}
		b.queue.Reaches("chat", true)
		if time.Sleep(9 * time.Second); status(r.ID) != holdgate.StatusPending {
			t.Fatalf("before a window has passed it is %s", status(r.ID))
		}
		if time.Sleep(5 * time.Second); status(r.ID) != holdgate.StatusApproved {
			t.Fatalf("after a window it is %s", status(r.ID))
		}
	})
}

// A member that goes on, and whose channels have gone to another one, leaves the silence
// to that.
func TestSilenceGoesWithTheChannels(t *testing.T) {
	inFleet(t, approvals.Limits{}, func(t *testing.T, f *fleet, a, b *fleetMember) {
		a.queue.Reaches("chat", true)
		_, r := f.must(a, "1", hold(silence(10*time.Second)))
		if err := a.queue.Told(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		a.queue.Reaches("chat", false)
		b.queue.Reaches("chat", true)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if got, err := a.queue.Request(t.Context(), r.ID); err != nil || got.Status != holdgate.StatusApproved {
			t.Errorf("it is %s: %v", got.Status, err)
		}
	})
}

func TestWhatPeopleSayIsKnownAtAllMembers(t *testing.T) {
	inFleet(t, approvals.Limits{}, func(t *testing.T, f *fleet, a, b *fleetMember) {
		f.must(a, "1", hold())
		synctest.Wait()
		agent, session := caller.Agent.ID, caller.Session.ID
		for _, action := range []agents.Action{agents.Pause, agents.Stop, agents.Resume, agents.Pause, agents.Resume} {
			_, err := b.queue.Agents.Intervene(t.Context(), agent, agents.Intervention{Action: action, By: "ana"})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			here, _ := a.queue.Agents.Status(agent)
			there, _ := b.queue.Agents.Status(agent)
			if here.State != there.State {
				t.Errorf("after %s at one member the agent is %s there, and %s at the other", action, there.State, here.State)
			}
		}
		if _, err := a.queue.Sessions.Track(t.Context(), agent, session); err != nil {
			t.Fatal(err)
		}
		if _, err := b.queue.Sessions.SetMode(t.Context(), agent, session, sessions.Setting{Mode: sessions.ModeManual}, 0, "ana"); err != nil {
			t.Fatal(err)
		}
		track, err := a.queue.Sessions.Track(t.Context(), agent, session)
		if err != nil || track.Setting().Mode != sessions.ModeManual {
			t.Errorf("the session's mode at the other member is %s: %v", track.Setting().Mode, err)
		}
	})
}

// A retry at another member waits until it is known that the first one has died, and asks
// nobody again. Where that one works on, it is another call.
func TestARetryWaitsForWhatBecameOfItsMember(t *testing.T) {
	inFleet(t, approvals.Limits{}, func(t *testing.T, f *fleet, a, b *fleetMember) {
		f.ago = 4 * time.Second
		_, r := f.must(a, "1", hold())
		synctest.Wait()
		beside, err := f.enter(b, "1")
		if err != nil || beside.x.ID() == r.Exchange {
			t.Fatalf("a call beside another one has taken its place: %v", err)
		}
		f.ago = time.Hour
		f.stop(a)
		entered := make(chan *fleetConn)
		go func() {
			c, err := f.enter(b, "1")
			if err != nil {
				t.Error(err)
			}
			entered <- c
		}()
		time.Sleep(10 * time.Second)
		f.found(a, false)
		if c := <-entered; c.x.ID() != r.Exchange {
			t.Error("the retry has begun another exchange")
		}
	})
}
