package approvals_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

func diff(want, got any) string { return cmp.Diff(want, got) }

// escalating is for cyd, then for ada too, then for security; the rule lists
// the steps in another order.
func escalating(d *holdgate.Decision) {
	d.Hold.Timeout = time.Hour
	d.Hold.Approvers = holdgate.Approvers{Users: []string{"cyd"}, Escalate: []holdgate.Escalation{
		{After: time.Hour, Users: []string{"boss"}}, // as long as the request itself: never
		{After: 20 * time.Minute, Roles: []string{"security"}},
		{After: 10 * time.Minute, Users: []string{"ada"}},
	}}
}

func TestTimeLetsMorePeopleApprove(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		name := map[bool]string{false: "while the sidecar runs", true: "across restarts"}[restart]
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.setPeople(staff(t))
				x := b.enter("k")
				r := b.ask(x, bash(0, "make"), hold(escalating))
				x.Leave()
				for i, may := range []map[string]bool{
					{"cyd": true}, {"cyd": true, "ada": true}, {"cyd": true, "ada": true, "bob": true},
				} {
					if i > 0 && restart {
						b.close()
						time.Sleep(10 * time.Minute)
						b.open()
					} else if i > 0 {
						time.Sleep(10 * time.Minute)
					}
					synctest.Wait()
					if now := b.request(r.ID); now.Escalated != i {
						t.Fatalf("%d escalations by now, want %d", now.Escalated, i)
					}
					for _, who := range []string{"ada", "bob"} {
						// The delegate is unknown, which is seen after who delegates.
						_, err := b.queue.Delegate(t.Context(), r.ID, who, "nobody", "")
						if want := map[bool]error{true: approvals.ErrAnswer, false: people.ErrNotEntitled}[may[who]]; !errors.Is(err, want) {
							t.Errorf("%s after %d escalations: %v, want %v", who, i, err, want)
						}
					}
				}
				if got := b.decide(r, approve(r, "bob")); got.Status != holdgate.StatusApproved {
					t.Errorf("it is %s", got.Status)
				}
				want := []string{
					"decision", "escalate: asked as well after 10m0s: ada", "escalate: asked as well after 20m0s: the role security",
					"vote: through cli", "outcome",
				}
				if d := diff(want, b.audited(r.ID)); d != "" {
					t.Errorf("audit (-want +got):\n%s", d)
				}
				b.close()
			})
		})
	}
}

func TestWhatHasEndedDoesNotEscalate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.setPeople(staff(t))
		x := b.enter("k")
		defer x.Leave()
		answered := b.ask(x, bash(0, "one"), hold(escalating))
		b.decide(answered, deny("cyd"))
		expires := b.ask(x, bash(1, "two"), hold(escalating))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := b.request(answered.ID); got.Escalated != 0 {
			t.Errorf("it escalated %d times after its end", got.Escalated)
		}
		if got := b.request(expires.ID); got.Status != holdgate.StatusExpired || got.Escalated > 3 {
			t.Errorf("%s after %d escalations", got.Status, got.Escalated)
		}
		b.eachValue(func(key string, _ []byte) {
			if strings.HasPrefix(key, "due/") && !strings.HasSuffix(key, answered.Exchange) {
				t.Errorf("the timer still has %s", key)
			}
		})
		b.close()
	})
}

func TestAnEscalationIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.setPeople(staff(t))
		x := b.enter("k")
		defer x.Leave()
		b.ask(x, bash(0, "make"), hold(escalating))
		time.Sleep(10 * time.Minute)
		want := []string{`approval.requested {"command":"make"} pending 0`, `approval.escalated {"command":"make"} pending 0`}
		if d := diff(want, b.events(2)); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
		b.close()
	})
}
