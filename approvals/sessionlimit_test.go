package approvals_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// An agent that has named as many sessions as are kept names others once those are
// over. What people have set, and what has still a gate to pass, stays.
func TestSessionsThatAreOverMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		in := func(id string) approvals.Caller {
			c := caller
			c.Session = holdgate.Session{ID: id}
			return c
		}
		begin := func(id string) error {
			return b.queue.Sessions.Taint(t.Context(), in(id), []string{"untrusted"}, "a test")
		}
		for i := range sessions.MaxStored {
			if err := begin(fmt.Sprintf("s%04d", i)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.queue.Sessions.SetMode(t.Context(), caller.Agent.ID, "s0000", sessions.Setting{Mode: sessions.ModeManual}, 0, "ana"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.queue.Sessions.Report(t.Context(), in("s0001"), sessions.Report{Score: 0.4}, true); err != nil {
			t.Fatal(err)
		}
		b.queue.Agents.Seen(in("s0002"))
		if _, err := b.queue.Sessions.Tell(t.Context(), sessions.Message{Type: sessions.MessageGuidance, From: "ana", Agent: caller.Agent.ID, Session: "s0002", Content: "mind the tests"}); err != nil {
			t.Fatal(err)
		}
		if err := begin("one more"); !errors.Is(err, sessions.ErrTooMany) {
			t.Errorf("while all go on: %v", err)
		}
		// Who asks for one after the other does not have all read each time.
		time.Sleep(time.Hour - 30*time.Second)
		if err := begin("one more"); !errors.Is(err, sessions.ErrTooMany) {
			t.Errorf("just before the others are over: %v", err)
		}
		time.Sleep(31 * time.Second)
		if err := begin("one more"); !errors.Is(err, sessions.ErrTooMany) {
			t.Errorf("within a minute of a refusal all sessions are read again: %v", err)
		}
		time.Sleep(time.Minute)
		for i := range 60 { // more than make room at a time
			if err := begin(fmt.Sprint("later ", i)); err != nil {
				t.Fatalf("session %d after the others are over: %v", i, err)
			}
		}
		kept := func() map[string]sessions.Mode {
			list, err := b.queue.Sessions.List(t.Context(), caller.Agent.ID)
			if err != nil {
				t.Fatal(err)
			}
			m := make(map[string]sessions.Mode)
			for _, s := range list {
				m[s.ID] = s.Mode
			}
			return m
		}
		check := func() {
			t.Helper()
			m := kept()
			if len(m) > sessions.MaxStored {
				t.Errorf("%d sessions are kept", len(m))
			}
			for _, id := range []string{"s0000", "s0001", "s0002", "later 59"} {
				if _, ok := m[id]; !ok {
					t.Errorf("%s is forgotten", id)
				}
			}
			if _, ok := m["s0003"]; ok {
				t.Error("the oldest that is over is still there")
			}
			if m["s0000"] != sessions.ModeManual {
				t.Errorf("the mode that ana set is %s", m["s0000"])
			}
		}
		check()
		b.reopen()
		check()
	})
}
