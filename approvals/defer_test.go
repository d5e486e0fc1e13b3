package approvals_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

func TestPuttingOffHidesFromOneAndLetsTheWindowRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.ask(x, bash(0, "make"), hold(func(d *holdgate.Decision) { d.Hold.Timeout = time.Minute }))
		begun := time.Now()
		time.Sleep(10 * time.Second)
		got, err := b.queue.Defer(t.Context(), r.ID, "ana", 30*time.Second, false)
		if err != nil || !got.ExpiresAt.Equal(begun.Add(time.Minute)) || got.Status != holdgate.StatusPending {
			t.Fatalf("%s until %s: %v", got.Status, got.ExpiresAt, err)
		}
		if now := time.Now(); !got.PutOff("ana", now) || got.PutOff("ben", now) || got.PutOff("ana", now.Add(30*time.Second)) {
			t.Errorf("put off: %+v", got.Deferrals)
		}
		b.reopen()
		if now := b.request(r.ID); !now.PutOff("ana", time.Now()) {
			t.Errorf("after a restart it is put off: %+v", now.Deferrals)
		}
		if got, err = b.queue.Defer(t.Context(), r.ID, "ana", 0, false); err != nil || len(got.Deferrals) != 0 {
			t.Errorf("taken back: %+v, %v", got.Deferrals, err)
		}
		for _, wrong := range []time.Duration{-1, approvals.MaxDefer + 1} {
			if _, err := b.queue.Defer(t.Context(), r.ID, "ana", wrong, false); !errors.Is(err, approvals.ErrAnswer) {
				t.Errorf("for %s: %v", wrong, err)
			}
		}
		if _, err := b.queue.Defer(t.Context(), r.ID, "nobody", time.Minute, false); !errors.Is(err, people.ErrNotEntitled) {
			t.Errorf("by nobody: %v", err)
		}
		if _, err := b.queue.Defer(t.Context(), r.ID, "ana", time.Hour, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusExpired {
			t.Errorf("it is %s after its window, though it was put off", got.Status)
		}
		b.close()
	})
}

func TestWhatIsPutOffIsNeverApprovedBySilence(t *testing.T) {
	for name, claimed := range map[string]bool{"as it is": false, "claimed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				x := b.enter("k")
				defer x.Leave()
				r := b.ask(x, bash(0, "make"), hold(silence(10*time.Second)))
				if claimed {
					if _, err := b.queue.Claim(t.Context(), r.ID, "ana"); err != nil {
						t.Fatal(err)
					}
				}
				got, err := b.queue.Defer(t.Context(), r.ID, "ana", time.Minute, false)
				if err != nil || got.OnTimeout != holdgate.TimeoutDeny.String() {
					t.Fatalf("silence would be %s: %v", got.OnTimeout, err)
				}
				ended, err := x.Wait(t.Context(), r.ID)
				if err != nil || ended.Status != holdgate.StatusExpired {
					t.Errorf("it is %s: %v", ended.Status, err)
				}
				if diff := cmp.Diff("silence does not approve: ana has put it off", ended.Briefing.Why[len(ended.Briefing.Why)-1]); diff != "" {
					t.Errorf("why (-want +got):\n%s", diff)
				}
				b.close()
			})
		})
	}
}

func TestWhatIsPutOffComesBackWithItsSessionsNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.ask(x, bash(0, "make"), hold())
		for by, next := range map[string]bool{"ana": true, "ben": false} {
			if _, err := b.queue.Defer(t.Context(), r.ID, by, time.Hour, next); err != nil {
				t.Fatal(err)
			}
		}
		b.reopen()
		x = b.enter("k2")
		defer x.Leave()
		b.ask(x, bash(0, "make install"), hold())
		if now := b.request(r.ID); now.PutOff("ana", time.Now()) || !now.PutOff("ben", time.Now()) {
			t.Errorf("after the session's next request it is put off: %+v", now.Deferrals)
		}
		b.close()
	})
}
