package approvals_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

func TestAClaimStopsTheCountdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.ask(x, bash(0, "make"), hold(silence(10*time.Second)))
		time.Sleep(9 * time.Second)
		got, err := b.queue.Claim(t.Context(), r.ID, "ana")
		if err != nil {
			t.Fatal(err)
		}
		claimed := time.Now()
		if got.Claim.By != "ana" || !got.Claim.Until.Equal(claimed.Add(30*time.Minute)) || !got.ExpiresAt.Equal(got.Claim.Until.Add(10*time.Second)) {
			t.Errorf("claim %+v, expires %s", got.Claim, got.ExpiresAt)
		}
		time.Sleep(29 * time.Minute)
		if got := b.request(r.ID); got.Status != holdgate.StatusPending {
			t.Fatalf("it is %s while somebody looks at it", got.Status)
		}
		ended, err := x.Wait(t.Context(), r.ID)
		if err != nil || ended.Status != holdgate.StatusApproved || ended.Claim != nil {
			t.Fatalf("%s, %+v: %v", ended.Status, ended.Claim, err)
		}
		if d := ended.Outcome.At.Sub(claimed); d < 30*time.Minute+10*time.Second || d > 31*time.Minute {
			t.Errorf("it ended %s after the claim, which lapses; then its window is whole", d)
		}
		want := []string{"decision", "claim: claimed by ana", "claim: the claim of ana lapsed", "outcome"}
		if diff := cmp.Diff(want, b.audited(r.ID)); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
		b.close()
	})
}

func TestUnclaimingBeginsTheWindowAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		defer x.Leave()
		r := b.ask(x, bash(0, "make"), hold(func(d *holdgate.Decision) { d.Hold.Timeout = time.Minute }))
		time.Sleep(50 * time.Second)
		if _, err := b.queue.Claim(t.Context(), r.ID, "ana"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.queue.Unclaim(t.Context(), r.ID, "ben"); !errors.Is(err, approvals.ErrClaimed) {
			t.Errorf("another's claim is ended: %v", err)
		}
		got, err := b.queue.Unclaim(t.Context(), r.ID, "ana")
		if err != nil || got.Claim != nil || !got.ExpiresAt.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("%+v until %s: %v", got.Claim, got.ExpiresAt, err)
		}
		if _, err := b.queue.Unclaim(t.Context(), r.ID, "ana"); err != nil {
			t.Errorf("what nobody has claimed: %v", err)
		}
		ended, err := x.Wait(t.Context(), r.ID)
		if err != nil || ended.Status != holdgate.StatusExpired {
			t.Errorf("%s: %v", ended.Status, err)
		}
		b.close()
	})
}

func TestAClaimOutlivesARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		x := b.enter("k")
		r := b.ask(x, bash(0, "make"), hold(silence(10*time.Second)))
		if _, err := b.queue.Claim(t.Context(), r.ID, "ana"); err != nil {
			t.Fatal(err)
		}
		x.Leave()
		b.close()
		time.Sleep(time.Minute)
		b.open()
		if got := b.request(r.ID); got.Claim == nil || got.Status != holdgate.StatusPending {
			t.Errorf("%s, claim %+v", got.Status, got.Claim)
		}
		time.Sleep(29*time.Minute + 5*time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Claim != nil || got.Status != holdgate.StatusPending {
			t.Errorf("after the claim lapsed: %s, claim %+v", got.Status, got.Claim)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := b.request(r.ID); got.Status != holdgate.StatusApproved {
			t.Errorf("after a whole window: %s", got.Status)
		}
		b.close()
	})
}

func TestWhoMayClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(staff(t))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold(quorum(2)))
	if _, err := b.queue.Claim(t.Context(), r.ID, "guest"); !errors.Is(err, people.ErrNotEntitled) {
		t.Errorf("who may not answer: %v", err)
	}
	if _, err := b.queue.Claim(t.Context(), "nothing", "ada"); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	for _, who := range []string{"slack:U1", "ada"} { // one person
		if got, err := b.queue.Claim(t.Context(), r.ID, who); err != nil || got.Claim.By != "ada" {
			t.Errorf("%s: %+v, %v", who, got.Claim, err)
		}
	}
	if _, err := b.queue.Claim(t.Context(), r.ID, "ops"); !errors.Is(err, approvals.ErrClaimed) {
		t.Errorf("a second claim: %v", err)
	}
	if got := b.decide(r, approve(r, "bob")); got.Claim == nil {
		t.Error("another's vote ends the claim")
	}
	if got := b.decide(r, deny("ada")); got.Claim != nil {
		t.Error("the claim outlives the request")
	}
	var ended *approvals.EndedError
	if _, err := b.queue.Claim(t.Context(), r.ID, "ada"); !errors.As(err, &ended) {
		t.Errorf("what has ended: %v", err)
	}
}

func TestAVoteEndsItsVotersClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold(quorum(2)))
	if _, err := b.queue.Claim(t.Context(), r.ID, "ana"); err != nil {
		t.Fatal(err)
	}
	if got := b.decide(r, approve(r, "ana")); got.Claim != nil || got.Status != holdgate.StatusPending {
		t.Errorf("%s, claim %+v", got.Status, got.Claim)
	}
	want := []string{
		`approval.requested {"command":"make"} pending 0`, `approval.claimed {"command":"make"} pending 0`,
		`approval.voted {"command":"make"} pending 1`, `approval.unclaimed {"command":"make"} pending 1`,
	}
	if got := b.events(4); !slices.Equal(got, want) {
		t.Errorf("events: %q", got)
	}
}
