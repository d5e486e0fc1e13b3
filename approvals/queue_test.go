package approvals_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
)

func TestAnApprovedCallIsUsedOnceAndSpent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	r := b.ask(x, bash(0, "rm -rf build"), hold())
	if r.Status != holdgate.StatusPending || r.Briefing.Summary != "Bash: rm -rf build" {
		t.Fatalf("asked: %+v", r)
	}
	if err := x.Use(t.Context(), use(r)); !errors.Is(err, approvals.ErrNotApproved) {
		t.Fatalf("using what is pending: %v", err)
	}
	waited := make(chan approvals.Request, 1)
	go func() {
		got, err := x.Wait(context.WithoutCancel(t.Context()), r.ID)
		if err != nil {
			t.Error(err)
		}
		waited <- got
	}()
	b.decide(r, approve(r, "ana"))
	got := <-waited
	if got.Status != holdgate.StatusApproved || got.Outcome.By != "ana" || len(got.Votes) != 1 {
		t.Fatalf("waited for: %+v", got)
	}
	wrong := []approvals.Use{{RequestID: r.ID, Digest: "other"}}
	if err := x.Use(t.Context(), wrong); !errors.Is(err, approvals.ErrDigest) {
		t.Fatalf("using it for another call: %v", err)
	}
	if err := x.Use(t.Context(), use(r)); err != nil {
		t.Fatal(err)
	}
	if err := x.Use(t.Context(), use(r)); !errors.Is(err, approvals.ErrUsed) {
		t.Fatalf("using it twice: %v", err)
	}
	if err := x.Done(t.Context(), true, ""); err != nil {
		t.Fatal(err)
	}
	x.Leave()
	want := []string{"decision", "vote: through cli", "outcome", "used", "result: spent"}
	if diff := cmp.Diff(want, b.audited(r.ID)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	again := b.enter("k")
	defer again.Leave()
	if next := b.ask(again, bash(0, "rm -rf build"), hold()); next.ID == r.ID {
		t.Error("a spent approval stands for a new call")
	}
}

func TestUsesAreAllOrNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	one, two := b.ask(x, bash(0, "ls"), hold()), b.ask(x, bash(1, "ls"), hold())
	b.decide(one, approve(one, "ana"))
	if err := x.Use(t.Context(), use(one, two)); !errors.Is(err, approvals.ErrNotApproved) {
		t.Fatalf("got %v", err)
	}
	b.decide(two, approve(two, "ana"))
	if err := x.Use(t.Context(), use(one, one)); !errors.Is(err, approvals.ErrUsed) {
		t.Fatalf("one approval twice in one use: %v", err)
	}
	if err := x.Use(t.Context(), use(one, two)); err != nil {
		t.Fatalf("the refused uses left something behind: %v", err)
	}
}

func TestARetryJoinsWhatWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	r := b.ask(x, bash(0, "make"), hold())
	answer := approvals.Answer{Status: 200, Header: http.Header{"X-Id": {"1"}}, Body: []byte(strings.Repeat("answer ", 100_000)), Streamed: true}
	if err := x.Keep(t.Context(), answer); err != nil {
		t.Fatal(err)
	}

	beside := b.enter("k")
	if beside.ID() == x.ID() {
		t.Fatal("a request joined an exchange that a live connection takes part in")
	}
	beside.Leave()
	x.Leave()

	b.decide(r, approve(r, "ana"))
	b.reopen()
	other := caller
	other.Session.ID = "s2"
	stranger, err := b.queue.Enter(t.Context(), other, named("k"))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Leave()
	if stranger.ID() == x.ID() {
		t.Fatal("another session took the exchange up")
	}
	retry := b.enter("k")
	defer retry.Leave()
	if retry.ID() != x.ID() {
		t.Fatal("the retry did not join")
	}
	got, ok, err := retry.Kept(t.Context())
	if err != nil || !ok {
		t.Fatalf("kept: %v, %v", ok, err)
	}
	if diff := cmp.Diff(answer, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if again := b.ask(retry, bash(0, "make"), hold()); again.ID != r.ID || again.Status != holdgate.StatusApproved {
		t.Errorf("asked again: %+v", again)
	}
	if err := retry.Use(t.Context(), use(r)); err != nil {
		t.Error(err)
	}
	if err := retry.Done(t.Context(), true, ""); err != nil {
		t.Error(err)
	}
	if n := b.count("exchange-body/"); n != 0 {
		t.Errorf("%d chunks are left of a spent exchange", n)
	}
}

// count says how many keys there are under a prefix.
func (b *bench) count(prefix string) (n int) {
	b.t.Helper()
	err := b.store.View(b.t.Context(), func(tx store.Tx) error {
		for _, err := range tx.Scan(prefix, "") {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func TestANewAnswerIsAskedAnewWhereItDiffers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		call holdgate.Call
		d    holdgate.Decision
		same bool
	}{
		{"the same call keeps its approval", bash(0, "make"), hold(), true},
		{"another command is another question", bash(0, "make install"), hold(), false},
		{"another place is another question", bash(1, "make"), hold(), false},
		{"another rule is another question", bash(0, "make"), hold(func(d *holdgate.Decision) { d.Rule = "other" }), false},
		{"another gate is another question", bash(0, "make"), hold(func(d *holdgate.Decision) { d.Hold.Gate = "other" }), false},
		{"stricter approvers are another question", bash(0, "make"), hold(func(d *holdgate.Decision) { d.Hold.Approvers.Quorum = 2 }), false},
		{"another tool is another question", func() holdgate.Call { c := bash(0, "make"); c.Tool.Name = "Shell"; return c }(), hold(), false},
		{"another server is another question", func() holdgate.Call { c := bash(0, "make"); c.Tool.Server = "x"; return c }(), hold(), false},
	}
	b := newBench(t)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := string(rune('a' + i))
			x := b.enter(k)
			r := b.ask(x, bash(0, "make"), hold())
			b.decide(r, approve(r, "ana"))
			x.Leave()
			retry := b.enter(k)
			defer retry.Leave()
			if got := b.ask(retry, tt.call, tt.d); (got.ID == r.ID) != tt.same {
				t.Errorf("same request: %v, want %v", got.ID == r.ID, tt.same)
			}
		})
	}
}

func TestSettleCancelsWhatIsNotAskedAnyMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	gone, stays := b.ask(x, bash(0, "one"), hold()), b.ask(x, bash(1, "two"), hold())
	x.Leave()
	retry := b.enter("k")
	defer retry.Leave()
	if err := retry.Settle(t.Context(), []string{stays.ID}); err != nil {
		t.Fatal(err)
	}
	if got := b.request(gone.ID); got.Status != holdgate.StatusCancelled || got.Outcome.Decision != holdgate.AnswerCancel {
		t.Errorf("left out: %+v", got)
	}
	if got := b.request(stays.ID); got.Status != holdgate.StatusPending {
		t.Errorf("asked again: %s", got.Status)
	}
	if got := b.ask(retry, bash(0, "one"), hold()); got.ID == gone.ID {
		t.Error("a cancelled question answers for a new one")
	}
}

func TestWhatWasBeingSentInACrashIsUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	r := b.ask(x, bash(0, "deploy"), hold())
	if err := x.Keep(t.Context(), approvals.Answer{Status: 200, Body: []byte("secret")}); err != nil {
		t.Fatal(err)
	}
	b.decide(r, approve(r, "ana"))
	if err := x.Use(t.Context(), use(r)); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	want := []string{"decision", "vote: through cli", "outcome", "used", "result: unknown: the sidecar ended while the call was under way"}
	if diff := cmp.Diff(want, b.audited(r.ID)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if n := b.count("exchange-body/"); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
	retry := b.enter("k")
	defer retry.Leave()
	if retry.ID() == x.ID() {
		t.Fatal("joined an exchange whose result is unknown")
	}
	if again := b.ask(retry, bash(0, "deploy"), hold()); again.Status != holdgate.StatusPending {
		t.Errorf("asked again: %s", again.Status)
	}
}

func TestADetachedReaderHandsTheAnswerOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	b.ask(x, bash(0, "make"), hold())
	x.Detach()
	retry := b.enter("k")
	defer retry.Leave()
	if retry.ID() != x.ID() {
		t.Fatal("the retry did not join")
	}
	kept := make(chan bool)
	go func() {
		_, ok, err := retry.Kept(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		kept <- ok
	}()
	if err := x.Keep(t.Context(), approvals.Answer{Status: 200, Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	x.Leave()
	if !<-kept {
		t.Error("the retry did not get the answer")
	}
}

func TestEnterWithoutOpenExchangesNeedsNoKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x, err := b.queue.Enter(t.Context(), caller, func() (holdgate.Digest, error) { t.Error("asked for the key"); return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	x.Leave()
}

// A client that asks again at once may be here before its first connection is
// seen to have gone.
func TestARetryWaitsAMomentForTheConnectionBeforeIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	r := b.ask(x, bash(0, "make"), hold())
	joined := make(chan *approvals.Exchange, 1)
	go func() {
		again, err := b.queue.Enter(t.Context(), caller, named("k"))
		if err != nil {
			t.Error(err)
		}
		joined <- again
	}()
	x.Leave()
	again := <-joined
	defer again.Leave()
	if again.ID() != r.Exchange {
		t.Errorf("the retry is exchange %s, want %s", again.ID(), r.Exchange)
	}
}
