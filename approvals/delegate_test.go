package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

func TestDelegation(t *testing.T) {
	t.Parallel()
	security := approvers(holdgate.Approvers{Roles: []string{"security"}})
	tests := []struct {
		name     string
		d        holdgate.Decision
		by, to   string
		err      error
		says     string
		who      string // votes afterwards
		voteErr  error
		approved bool
	}{
		{"the delegate votes", hold(security), "bob", "ada", nil, "", "ada", nil, true},
		{"under the name of an account too", hold(security), "slack:U2", "slack:U1", nil, "", "ada", nil, true},
		{"whoever delegated does not", hold(security), "bob", "ada", nil, "", "bob", people.ErrNotEntitled, false},
		{"the others who may approve do", hold(security), "bob", "ada", nil, "", "cyd", nil, true},
		{"who may not approve delegates nothing", hold(security), "ada", "cyd", people.ErrNotEntitled, "the role security", "ada", people.ErrNotEntitled, false},
		{"a delegate must be known", hold(security), "bob", "eve", approvals.ErrAnswer, `"eve"`, "", nil, false},
		{"a delegate must be one who may approve", hold(security), "bob", "ops", approvals.ErrAnswer, "role approve", "ops", people.ErrNotEntitled, false},
		{"who may vote anyway needs no delegation", hold(security), "bob", "cyd", approvals.ErrAnswer, "without", "cyd", nil, true},
		{"the owner is no delegate under four eyes", hold(approvers(holdgate.Approvers{Roles: []string{"security"}, FourEyes: true})), "bob", "ada", approvals.ErrAnswer, "somebody else", "ada", people.ErrNotEntitled, false},
		{"a note is bounded", hold(security), "bob", "ada", approvals.ErrAnswer, "note", "ada", people.ErrNotEntitled, false},
	}
	b := newBench(t)
	b.setPeople(staff(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := b.enter(tt.name)
			defer x.Leave()
			r := b.ask(x, bash(0, "make"), tt.d)
			note := "on holiday"
			if tt.says == "note" {
				note = strings.Repeat("x", 8<<10+1)
			}
			got, err := b.queue.Delegate(t.Context(), r.ID, tt.by, tt.to, note)
			if !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v, want %v, %q", err, tt.err, tt.says)
			}
			if err == nil && (len(got.Delegations) != 1 || got.Delegations[0].By != "bob" || got.Delegations[0].To != "ada" || got.Delegations[0].Note != note) {
				t.Errorf("delegations: %+v", got.Delegations)
			}
			if tt.who == "" {
				return
			}
			got, err = b.queue.Decide(t.Context(), r.ID, approve(r, tt.who))
			if !errors.Is(err, tt.voteErr) || (got.Status == holdgate.StatusApproved) != tt.approved {
				t.Errorf("the vote of %s: %s, %v", tt.who, got.Status, err)
			}
		})
	}
}

func TestADelegationIsNoSecondVote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(staff(t))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold(approvers(holdgate.Approvers{Roles: []string{"security"}, Quorum: 2})))
	for _, from := range []string{"bob", "cyd"} {
		if _, err := b.queue.Delegate(t.Context(), r.ID, from, "ada", ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.queue.Delegate(t.Context(), r.ID, "ada", "ops", ""); err == nil {
		t.Error("what was delegated is passed on")
	}
	got := b.decide(r, approve(r, "ada"))
	if got.Status != holdgate.StatusPending {
		t.Errorf("one person is a quorum of two: %s", got.Status)
	}
	if !strings.Contains(got.NoApprover, "2 people") {
		t.Errorf("everybody has left it to one, and it says %q", got.NoApprover)
	}
	want := []string{"decision", "delegate: bob lets ada vote", "delegate: cyd lets ada vote", "vote: through cli"}
	if diff := diff(want, b.audited(r.ID)); diff != "" {
		t.Errorf("audit: %s", diff)
	}
}

func TestWhoHasVotedDelegatesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(staff(t))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold(approvers(holdgate.Approvers{Roles: []string{"security"}, Quorum: 2})))
	b.decide(r, approve(r, "bob"))
	if _, err := b.queue.Delegate(t.Context(), r.ID, "bob", "ada", ""); !errors.Is(err, approvals.ErrAnswer) {
		t.Errorf("got %v", err)
	}
}

func TestWhereNobodyIsConfiguredThereIsNobodyToDelegateTo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(people.Alone("root"))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold())
	if _, err := b.queue.Delegate(t.Context(), r.ID, "root", "webhook:ada", ""); !errors.Is(err, approvals.ErrAnswer) {
		t.Errorf("got %v", err)
	}
}
