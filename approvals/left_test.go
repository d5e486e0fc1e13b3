package approvals_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
)

// must ends the test where there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a run has asked that ended says so, by whichever way it ended, until an agent makes
// the call again.
func TestWhatAnEndedRunHasAsked(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bench){
		"the run says so":        func(b *bench) { must(b.t, b.queue.RunEnded(b.t.Context(), caller.Agent.ID)) },
		"its process was killed": func(b *bench) { b.reopen(); must(b.t, b.queue.RunsEnded(b.t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			x := b.enter("k")
			asked := b.ask(x, bash(0, "rm -rf a"), hold())
			x.Leave()
			served := caller
			served.Agent = holdgate.Agent{ID: "served", Proven: true}
			y, err := b.queue.Enter(t.Context(), served, named("served"))
			must(t, err)
			other := b.ask(y, bash(0, "rm -rf b"), hold())
			y.Leave()
			before := time.Now()
			b.reopen()
			must(t, b.queue.RunsEnded(t.Context(), caller.Agent.ID))
			if b.request(asked.ID).RunEnded != nil {
				t.Error("the run goes on at this process, and says that it has ended")
			}
			end(b)
			got := b.request(asked.ID)
			if got.RunEnded == nil || got.RunEnded.After(before.Add(time.Minute)) {
				t.Fatalf("it does not say when its run has ended: %v", got.RunEnded)
			}
			if b.request(other.ID).RunEnded != nil {
				t.Error("nobody has started the other agent, and its run has ended")
			}
			if left := got.Left(time.Now()); !strings.Contains(left, "from a run that ended at ") || !strings.Contains(left, "an approval still counts") {
				t.Errorf("it says %q", left)
			}
			page, err := b.queue.Page(t.Context(), approvals.Filter{Status: holdgate.StatusPending, Urgent: true})
			must(t, err)
			if len(page.Requests) != 2 || page.Requests[1].ID != asked.ID || !slices.IsSortedFunc(page.Requests, record.ByUrgency) {
				t.Errorf("what nobody waits for is not last: %v", page.Requests)
			}
			b.reopen()
			must(t, b.queue.RunsEnded(t.Context()))
			again := b.enter("k")
			defer again.Leave()
			if now := b.request(asked.ID); now.RunEnded != nil {
				t.Error("the agent asks again, and it says that nobody waits")
			}
			if notes := b.audited(asked.ID); !slices.Contains(notes, "left: somebody waits for it again") {
				t.Errorf("the log says %q", notes)
			}
		})
	}
}

// Silence of people approves nothing that a run has asked which ended: not for the next
// run either, which asks the same.
func TestSilenceDoesNotApproveWhatAnEndedRunHasAsked(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"nobody waits": false, "a connection waits on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.queue.Reaches("desktop", true)
				x := b.enter("k")
				defer x.Leave()
				r := b.quietly(x, 0)
				must(t, b.queue.Told(t.Context(), r.ID))
				if !waits {
					x.Leave()
				}
				must(t, b.queue.RunEnded(t.Context(), caller.Agent.ID))
				time.Sleep(11 * time.Second)
				synctest.Wait()
				got := b.request(r.ID)
				if got.Status != holdgate.StatusPending || got.OnTimeout != "deny" {
					t.Fatalf("it is %s, and silence would %s", got.Status, got.OnTimeout)
				}
				x.Leave()
				y := b.enter("k")
				defer y.Leave()
				if again := b.quietly(y, 0); again.ID != r.ID || again.Status != holdgate.StatusPending {
					t.Errorf("the next run's same call is %s, in request %s of %s", again.Status, again.ID, r.ID)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if got := b.request(r.ID); got.Status != holdgate.StatusExpired {
					t.Errorf("an hour later it is %s", got.Status)
				}
			})
		})
	}
}

// Where a connection outlives its run, somebody waits for what it has asked, until it ends.
func TestAConnectionThatOutlivesItsRunWaits(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*approvals.Exchange){"it ends": (*approvals.Exchange).Leave, "its client goes": (*approvals.Exchange).Detach} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				x := b.enter("k")
				defer x.Leave()
				asked := b.ask(x, bash(0, "rm -rf a"), hold())
				must(t, b.queue.RunEnded(t.Context(), caller.Agent.ID))
				if got := b.request(asked.ID); got.RunEnded != nil {
					t.Fatal("a connection waits for it, and it says that nobody does")
				}
				ended := time.Now()
				time.Sleep(time.Minute)
				leave(x)
				synctest.Wait()
				if got := b.request(asked.ID); got.RunEnded == nil || !got.RunEnded.Equal(ended) {
					t.Errorf("the connection has ended, and the run at %v, not %v", got.RunEnded, ended)
				}
			})
		})
	}
}
