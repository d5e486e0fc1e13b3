package approvals_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

var twin = approvals.Twin{Digest: "twin", Definition: "d1"}

// lend has people answer a call in a model's answer and uses that, so that it
// covers the twin.
func (b *bench) lend(k string, c holdgate.Call, answer func(approvals.Request), d holdgate.Decision) approvals.Request {
	b.t.Helper()
	x := b.enter(k)
	defer x.Leave()
	r := b.ask(x, c, d)
	answer(r)
	if err := x.Use(b.t.Context(), []approvals.Use{{RequestID: r.ID, Digest: r.Call.Digest, Twin: &twin}}); err != nil {
		b.t.Fatal(err)
	}
	if err := x.Done(b.t.Context(), true, ""); err != nil {
		b.t.Fatal(err)
	}
	return b.request(r.ID)
}

func (b *bench) byAna(r approvals.Request) { b.decide(r, approve(r, "ana")) }

// atDoor is an exchange at the server's door.
func (b *bench) atDoor(edit ...func(*approvals.Caller)) *approvals.Exchange {
	b.t.Helper()
	who := caller
	who.Door, who.Session.ID = "mcp", "the server's own"
	for _, e := range edit {
		e(&who)
	}
	x, err := b.queue.Enter(b.t.Context(), who, named("door"))
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

func (b *bench) borrow(x *approvals.Exchange, t approvals.Twin, risk holdgate.Risk, hint string) []string {
	b.t.Helper()
	rs, err := x.Borrow(b.t.Context(), t, risk, hint)
	if err != nil {
		b.t.Fatal(err)
	}
	var ids []string
	for _, r := range rs {
		ids = append(ids, r.ID)
	}
	return ids
}

func useTwin(x *approvals.Exchange, t *testing.T, ids ...string) error {
	t.Helper()
	var uses []approvals.Use
	for _, id := range ids {
		uses = append(uses, approvals.Use{RequestID: id, Digest: twin.Digest, Twin: &twin, Borrowed: true})
	}
	return x.Use(t.Context(), uses)
}

func TestAPassIsForOneAgentCallAndDefinition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		r := b.lend("a", bash(0, "x"), b.byAna, hold())
		who := func(edit func(*approvals.Caller)) *approvals.Exchange { return b.atDoor(edit) }
		tests := []struct {
			name string
			x    *approvals.Exchange
			twin approvals.Twin
			risk holdgate.Risk
			want bool
		}{
			{"another agent", who(func(c *approvals.Caller) { c.Agent.ID = "other" }), twin, "", false},
			{"one that only says so", who(func(c *approvals.Caller) { c.Agent.Proven = false }), twin, "", false},
			{"one that is confined otherwise", who(func(c *approvals.Caller) { c.Agent.Confinement = "weak" }), twin, "", false},
			{"another call", b.atDoor(), approvals.Twin{Digest: "other", Definition: "d1"}, "", false},
			{"another definition", b.atDoor(), approvals.Twin{Digest: "twin", Definition: "d2"}, "", false},
			{"a higher risk", b.atDoor(), twin, holdgate.RiskHigh, false},
			{"the same", b.atDoor(), twin, holdgate.RiskMedium, true},
		}
		for _, tt := range tests {
			got := b.borrow(tt.x, tt.twin, tt.risk, "")
			if want := []string{r.ID}; tt.want != slices.Equal(got, want) || !tt.want && got != nil {
				t.Errorf("%s: borrowed %q", tt.name, got)
			}
			tt.x.Leave()
		}
	})
}

func TestAPassIsUsedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		r := b.lend("a", bash(0, "x"), b.byAna, hold())
		one, two := b.atDoor(), b.atDoor()
		if got := b.borrow(one, twin, "", ""); len(got) != 1 {
			t.Fatalf("borrowed %q", got)
		}
		if got := b.borrow(two, twin, "", ""); got != nil {
			t.Errorf("lent twice at a time: %q", got)
		}
		one.GiveBack()
		if got := b.borrow(two, twin, "", ""); len(got) != 1 {
			t.Errorf("what was given back is borrowed: %q", got)
		}
		if err := useTwin(two, t, r.ID); err != nil {
			t.Fatal(err)
		}
		if err := useTwin(one, t, r.ID); !errors.Is(err, approvals.ErrUsed) {
			t.Errorf("used twice: %v", err)
		}
		if err := two.Done(t.Context(), true, ""); err != nil {
			t.Fatal(err)
		}
		two.Leave()
		one.Leave()
		b.reopen()
		x := b.atDoor()
		defer x.Leave()
		if got := b.borrow(x, twin, "", ""); got != nil {
			t.Errorf("after a restart: %q", got)
		}
		if err := useTwin(x, t, r.ID); !errors.Is(err, approvals.ErrUsed) {
			t.Errorf("used after a restart: %v", err)
		}
		want := []string{"decision", "vote: through cli", "outcome", "used", "result: spent", "used: asked once: it was approved where it came by before", "result: spent"}
		if got := b.audited(r.ID); !slices.Equal(got, want) {
			t.Errorf("audited %q", got)
		}
	})
}

// A process that dies between "used" and "sent" leaves an unknown result, and
// nothing that could be used again.
func TestAPassThatWasInUseIsUnknownAfterACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		r := b.lend("a", bash(0, "x"), b.byAna, hold())
		x := b.atDoor()
		b.borrow(x, twin, "", "")
		if err := useTwin(x, t, r.ID); err != nil {
			t.Fatal(err)
		}
		b.reopen()
		got := b.audited(r.ID)
		if last := got[len(got)-1]; !strings.HasPrefix(last, "result: unknown") {
			t.Errorf("audited %q", got)
		}
		entries, err := b.log.Query(t.Context(), audit.Query{RequestID: r.ID})
		if err != nil || entries[len(entries)-1].Door != "mcp" {
			t.Errorf("the result is of door %q, %v", entries[len(entries)-1].Door, err)
		}
		y := b.atDoor()
		defer y.Leave()
		if got := b.borrow(y, twin, "", ""); got != nil {
			t.Errorf("borrowed after a crash: %q", got)
		}
	})
}

func TestAPassEndsAfterTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		r := b.lend("a", bash(0, "x"), b.byAna, hold())
		time.Sleep(approvals.AskedOnceFor - time.Second)
		x := b.atDoor()
		defer x.Leave()
		if got := b.borrow(x, twin, "", ""); len(got) != 1 {
			t.Fatalf("borrowed %q", got)
		}
		time.Sleep(time.Second)
		if err := useTwin(x, t, r.ID); !errors.Is(err, approvals.ErrNotApproved) {
			t.Errorf("used after ten minutes: %v", err)
		}
		x.GiveBack()
		if got := b.borrow(x, twin, "", ""); got != nil {
			t.Errorf("borrowed after ten minutes: %q", got)
		}
	})
}

// An id of the agent's picks among several, and no more.
func TestAnIDPicksAmongSeveralPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var ids []string
		for i, id := range []string{"call_1", "call_2", "call_3"} {
			c := bash(0, "x")
			c.ID = id
			ids = append(ids, b.lend(string(rune('a'+i)), c, b.byAna, hold()).ID)
			time.Sleep(time.Second)
		}
		for _, tt := range []struct {
			hint string
			want int
		}{{"call_2", 1}, {"call_9", 0}, {"call_1", 2}} {
			x := b.atDoor()
			if got := b.borrow(x, twin, "", tt.hint); !slices.Equal(got, ids[tt.want:tt.want+1]) {
				t.Errorf("%s: borrowed %q of %q", tt.hint, got, ids)
			}
			if err := useTwin(x, t, ids[tt.want]); err != nil {
				t.Error(err)
			}
			if err := x.Done(t.Context(), true, ""); err != nil {
				t.Error(err)
			}
			x.Leave()
		}
	})
}

// What people have not said themselves covers nothing.
func TestSilenceLeavesNoPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		d := hold(func(d *holdgate.Decision) {
			d.Risk, d.Hold.OnTimeout, d.Hold.Timeout = holdgate.RiskLow, holdgate.TimeoutApprove, time.Minute
		})
		r := b.lend("a", bash(0, "x"), func(approvals.Request) {
			time.Sleep(2 * time.Minute)
			synctest.Wait()
		}, d)
		if r.Outcome.Decision != holdgate.AnswerTimeout {
			t.Fatalf("ended by %s", r.Outcome.Decision)
		}
		x := b.atDoor()
		defer x.Leave()
		if got := b.borrow(x, twin, holdgate.RiskLow, ""); got != nil {
			t.Errorf("borrowed %q", got)
		}
	})
}

// Both exchanges are forgotten in their own time, and nothing is left of a pass.
func TestPassesAreForgottenWithTheirRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.edit = func(c *approvals.Config) { c.Retention.Requests = time.Hour }
		b.reopen()
		used := b.lend("a", bash(0, "x"), b.byAna, hold())
		x := b.atDoor()
		b.borrow(x, twin, "", "")
		if err := useTwin(x, t, used.ID); err != nil {
			t.Fatal(err)
		}
		if err := x.Done(t.Context(), true, ""); err != nil {
			t.Fatal(err)
		}
		x.Leave()
		b.lend("b", bash(0, "x"), b.byAna, hold()) // and never comes
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		b.eachValue(func(key string, _ []byte) {
			for _, p := range []string{"pass/", "used/", "request/", "exchange/"} {
				if strings.HasPrefix(key, p) {
					t.Errorf("%s is left", key)
				}
			}
		})
	})
}
