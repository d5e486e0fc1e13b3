package approvals_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

// quietly asks about a call that silence may approve in ten seconds, without
// telling anybody.
func (b *bench) quietly(x *approvals.Exchange, position int) approvals.Request {
	b.t.Helper()
	r, err := x.RequestApproval(b.t.Context(), approvals.HeldCall{Call: bash(position, "make"), Decision: hold(silence(10 * time.Second))})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestSilenceOfPeopleWhoWereNotToldIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.quietly(x, 0)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		got := b.request(r.ID)
		if got.Status != holdgate.StatusPending || got.OnTimeout != "deny" || !got.ExpiresAt.Equal(r.CreatedAt.Add(time.Hour)) {
			t.Fatalf("it is %s, and silence would %s at %s", got.Status, got.OnTimeout, got.ExpiresAt)
		}
		if err := b.queue.Told(t.Context(), r.ID); err != nil { // too late
			t.Fatal(err)
		}
		if other := b.quietly(x, 1); other.OnTimeout != "approve" {
			t.Errorf("of another call, silence would %s", other.OnTimeout)
		}
		got, err := x.Wait(t.Context(), r.ID)
		if err != nil || got.Status != holdgate.StatusExpired {
			t.Errorf("it ended as %s: %v", got.Status, err)
		}
		b.close()
	})
}

func TestTheWindowBeginsWhenPeopleAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.quietly(x, 0)
		time.Sleep(9 * time.Second)
		if err := b.queue.Told(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := b.queue.Told(t.Context(), r.ID); err != nil { // another channel changes nothing
			t.Fatal(err)
		}
		got, err := x.Wait(t.Context(), r.ID)
		if err != nil || got.Status != holdgate.StatusApproved {
			t.Fatalf("it ended as %s: %v", got.Status, err)
		}
		if d := got.Outcome.At.Sub(r.CreatedAt); d < 19*time.Second || d > 20*time.Second {
			t.Errorf("it was approved after %s, want ten seconds after people were told", d)
		}
		b.close()
	})
}

func TestTheWindowDoesNotEndWhileNoChannelReachesPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.ask(x, bash(0, "make"), hold(silence(10*time.Second)))
		b.queue.Reaches("stage", false)
		time.Sleep(65 * time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusPending {
			t.Fatalf("it ended as %s", got.Status)
		}
		b.queue.Reaches("stage", true)
		back := time.Now()
		got, err := x.Wait(t.Context(), r.ID)
		if err != nil || got.Status != holdgate.StatusApproved {
			t.Fatalf("it ended as %s: %v", got.Status, err)
		}
		if d := got.Outcome.At.Sub(back); d < 10*time.Second {
			t.Errorf("people had %s after a channel reached them again, want ten seconds", d)
		}
		b.close()
	})
}

// A person's own screen that shows a request is as good as a channel, as long as it
// says so every few seconds.
func TestAScreenThatShowsARequestIsAChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.queue.Reaches("stage", false)
		x := b.enter("k")
		defer x.Leave()
		r := b.quietly(x, 0)
		show := func(seconds int) {
			t.Helper()
			for range seconds {
				if _, err := b.queue.Shown(t.Context(), r.ID, "ana"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
		}
		show(5)
		time.Sleep(20 * time.Second) // the person has gone
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusPending || got.OnTimeout != "approve" {
			t.Fatalf("it is %s, and silence would %s", got.Status, got.OnTimeout)
		}
		show(9)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusPending {
			t.Fatalf("before the window was over again it is %s", got.Status)
		}
		show(12)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusApproved {
			t.Errorf("it is %s", got.Status)
		}
		if _, err := b.queue.Shown(t.Context(), r.ID, "a stranger"); !errors.Is(err, people.ErrNotEntitled) {
			t.Errorf("a stranger's screen: %v", err)
		}
		b.close()
	})
}

func TestAnAgentHasOneCallThatSilenceMayApprove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		elsewhere := caller
		elsewhere.Session.ID = "another, by its own word"
		x := b.enter("k")
		other, err := b.queue.Enter(t.Context(), elsewhere, named("l"))
		if err != nil {
			t.Fatal(err)
		}
		defer x.Leave()
		defer other.Leave()
		first, second, third := b.quietly(x, 0), b.quietly(x, 1), b.quietly(other, 0)
		for i, r := range []approvals.Request{first, second, third} {
			if want := []string{"approve", "deny", "deny"}[i]; r.OnTimeout != want {
				t.Errorf("request %d: silence would %s, want %s", i, r.OnTimeout, want)
			}
		}
		b.decide(first, approve(first, "ana"))
		if r := b.quietly(other, 1); r.OnTimeout != "approve" {
			t.Errorf("once the first has ended, silence would %s", r.OnTimeout)
		}
		b.reopen()
		retry := b.enter("m")
		defer retry.Leave()
		if r := b.quietly(retry, 0); r.OnTimeout != "deny" {
			t.Errorf("after a restart, silence would %s a second call", r.OnTimeout)
		}
		b.close()
	})
}

// Whoever is asked whether a session may go on at all has not been silent about its
// other calls.
func TestSilenceApprovesNothingOfASessionThatIsHalted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.ask(x, bash(0, "make"), hold(silence(10*time.Second)))
		d := b.diagnose("g")
		time.Sleep(65 * time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusPending {
			t.Fatalf("it is %s", got.Status)
		}
		b.vote(d, holdgate.AnswerApprove)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusApproved {
			t.Errorf("once it goes on, it is %s", got.Status)
		}
		b.close()
	})
}

// The window of silence is short. Where silence denies, people have the time of any
// other question, also after a claim.
func TestWhereSilenceMayNotApproveTheWindowIsAnOrdinaryOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		unconfined := caller
		unconfined.Agent.Confinement = "unconfined"
		x, err := b.queue.Enter(t.Context(), unconfined, named("k"))
		if err != nil {
			t.Fatal(err)
		}
		defer x.Leave()
		r := b.quietly(x, 0)
		if r.OnTimeout != "deny" || !r.ExpiresAt.Equal(r.CreatedAt.Add(time.Hour)) {
			t.Errorf("silence would %s after %s", r.OnTimeout, r.ExpiresAt.Sub(r.CreatedAt))
		}
		if why := strings.Join(r.Briefing.Why, "\n"); !strings.Contains(why, "silence does not approve: the agent is not known to be confined") {
			t.Errorf("people are not told why:\n%s", why)
		}
		if _, err := b.queue.Claim(t.Context(), r.ID, "ana"); err != nil {
			t.Fatal(err)
		}
		if got, err := b.queue.Unclaim(t.Context(), r.ID, "ana"); err != nil || time.Until(got.ExpiresAt) < time.Hour {
			t.Errorf("after a claim: %s left, %v", time.Until(got.ExpiresAt), err)
		}
		b.close()
	})
}

// Once silence does not approve any more, people have a minute at least.
func TestALongWindowOfWhichNobodyWasTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r, err := x.RequestApproval(t.Context(), approvals.HeldCall{Call: bash(0, "make"), Decision: hold(silence(2 * time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Hour + 30*time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusPending || got.OnTimeout != "deny" {
			t.Errorf("it is %s, and silence would %s", got.Status, got.OnTimeout)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusExpired {
			t.Errorf("then it is %s", got.Status)
		}
		b.close()
	})
}

// Whoever has claimed a request is not silent, whenever people are told of it.
func TestSilenceApprovesNothingThatSomebodyHasClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.quietly(x, 0)
		if _, err := b.queue.Claim(t.Context(), r.ID, "ana"); err != nil {
			t.Fatal(err)
		}
		if err := b.queue.Told(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		got := b.request(r.ID)
		if got.Status != holdgate.StatusPending || got.Claim == nil {
			t.Fatalf("it is %s, claimed by %+v", got.Status, got.Claim)
		}
		time.Sleep(time.Until(got.Claim.Until) + 5*time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusPending || got.Claim != nil {
			t.Errorf("after the claim it is %s, claimed by %+v", got.Status, got.Claim)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusApproved {
			t.Errorf("a window later it is %s", got.Status)
		}
		b.close()
	})
}
