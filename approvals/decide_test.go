package approvals_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

func choice(d *holdgate.Decision) {
	d.Hold.Kind = holdgate.RequestChoice
	d.Hold.Options = []holdgate.Option{{ID: "expand", Label: "Expand"}, {ID: "reduce", Label: "Reduce"}, {ID: "abort", Label: "Abort", Effect: "deny"}}
}

func quorum(n int) func(*holdgate.Decision) {
	return func(d *holdgate.Decision) { d.Hold.Approvers.Quorum = n }
}

func choose(r approvals.Request, by, option string) approvals.Vote {
	return approvals.Vote{Decision: holdgate.AnswerChoose, By: by, Channel: "cli", Assurance: "local", Digest: r.Call.Digest, Choice: option}
}

func deny(by string) approvals.Vote {
	return approvals.Vote{Decision: holdgate.AnswerDeny, By: by, Channel: "cli", Assurance: "local", Reason: "no"}
}

func steer(by, instructions string) approvals.Vote {
	return approvals.Vote{Decision: holdgate.AnswerSteer, By: by, Channel: "cli", Assurance: "local", Instructions: instructions}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	with := func(v approvals.Vote, edit func(*approvals.Vote)) approvals.Vote { edit(&v); return v }
	tests := []struct {
		name   string
		d      holdgate.Decision
		votes  func(r approvals.Request) []approvals.Vote // the last one counts
		err    error
		status holdgate.Status
		by     string
	}{
		{"an approval with the digest approves", hold(), votes(func(r approvals.Request) approvals.Vote { return approve(r, "ana") }), nil, holdgate.StatusApproved, "ana"},
		{"an approval without a digest is refused", hold(), votes(func(r approvals.Request) approvals.Vote {
			return with(approve(r, "ana"), func(v *approvals.Vote) { v.Digest = "" })
		}), approvals.ErrDigest, holdgate.StatusPending, ""},
		{"an approval of another digest is refused", hold(), votes(func(r approvals.Request) approvals.Vote {
			return with(approve(r, "ana"), func(v *approvals.Vote) { v.Digest = "other" })
		}), approvals.ErrDigest, holdgate.StatusPending, ""},
		{"a denial needs no digest", hold(), votes(func(approvals.Request) approvals.Vote { return deny("ana") }), nil, holdgate.StatusDenied, "ana"},
		{"steering ends the request", hold(), votes(func(approvals.Request) approvals.Vote { return steer("ana", " use git clean \n") }), nil, holdgate.StatusSteered, "ana"},
		{"steering without instructions is refused", hold(), votes(func(approvals.Request) approvals.Vote { return steer("ana", " \n") }), approvals.ErrSteerEmpty, holdgate.StatusPending, ""},
		{"steering is refused where the rule does not allow it", hold(func(d *holdgate.Decision) { d.Hold.Allow = nil }),
			votes(func(approvals.Request) approvals.Vote { return steer("ana", "x") }), approvals.ErrSteerNotAllowed, holdgate.StatusPending, ""},
		{"choosing an option approves", hold(choice), votes(func(r approvals.Request) approvals.Vote { return choose(r, "ana", "reduce") }), nil, holdgate.StatusApproved, "ana"},
		{"choosing an option that denies denies", hold(choice), votes(func(r approvals.Request) approvals.Vote { return choose(r, "ana", "abort") }), nil, holdgate.StatusDenied, "ana"},
		{"choosing what is no option is refused", hold(choice), votes(func(r approvals.Request) approvals.Vote { return choose(r, "ana", "other") }), approvals.ErrAnswer, holdgate.StatusPending, ""},
		{"a choice cannot be approved", hold(choice), votes(func(r approvals.Request) approvals.Vote { return approve(r, "ana") }), approvals.ErrAnswer, holdgate.StatusPending, ""},
		{"choosing without a digest is refused", hold(choice), votes(func(r approvals.Request) approvals.Vote {
			return with(choose(r, "ana", "reduce"), func(v *approvals.Vote) { v.Digest = "" })
		}), approvals.ErrDigest, holdgate.StatusPending, ""},
		{"a quorum waits for a second person", hold(quorum(2)), votes(func(r approvals.Request) approvals.Vote { return approve(r, "ana") }), nil, holdgate.StatusPending, ""},
		{"one person is no quorum", hold(quorum(2)), func(r approvals.Request) []approvals.Vote {
			return []approvals.Vote{approve(r, "ana"), approve(r, "ana")}
		}, approvals.ErrVoted, holdgate.StatusPending, ""},
		{"two people are a quorum of two", hold(quorum(2)), func(r approvals.Request) []approvals.Vote {
			return []approvals.Vote{approve(r, "ana"), approve(r, "ben")}
		}, nil, holdgate.StatusApproved, "ana, ben"},
		{"one denial vetoes a quorum", hold(quorum(3)), func(r approvals.Request) []approvals.Vote {
			return []approvals.Vote{approve(r, "ana"), deny("ben")}
		}, nil, holdgate.StatusDenied, "ben"},
		{"whoever approved may still deny", hold(quorum(3)), func(r approvals.Request) []approvals.Vote {
			return []approvals.Vote{approve(r, "ana"), deny("ana")}
		}, nil, holdgate.StatusDenied, "ana"},
		{"a quorum must choose the same", hold(choice, quorum(2)), func(r approvals.Request) []approvals.Vote {
			return []approvals.Vote{choose(r, "ana", "reduce"), choose(r, "ben", "expand")}
		}, nil, holdgate.StatusPending, ""},
		{"a person who is not named may not approve", hold(func(d *holdgate.Decision) { d.Hold.Approvers.Users = []string{"ben"} }),
			votes(func(r approvals.Request) approvals.Vote { return approve(r, "ana") }), people.ErrNotEntitled, holdgate.StatusPending, ""},
		{"a person who is named may", hold(func(d *holdgate.Decision) { d.Hold.Approvers.Users = []string{"ben"} }),
			votes(func(r approvals.Request) approvals.Vote { return approve(r, "ben") }), nil, holdgate.StatusApproved, "ben"},
		{"a role that nobody is known to have is not met", hold(func(d *holdgate.Decision) { d.Hold.Approvers.Roles = []string{"admin"} }),
			votes(func(r approvals.Request) approvals.Vote { return approve(r, "ana") }), people.ErrNotEntitled, holdgate.StatusPending, ""},
		{"an unknown assurance is not met", hold(func(d *holdgate.Decision) { d.Hold.Approvers.Assurance = "absolute" }),
			votes(func(r approvals.Request) approvals.Vote { return approve(r, "ana") }), people.ErrNotEntitled, holdgate.StatusPending, ""},
		{"a channel of text may not approve what needs more", hold(func(d *holdgate.Decision) { d.Hold.Approvers.Assurance = "interactive" }),
			votes(func(r approvals.Request) approvals.Vote {
				return with(approve(r, "ana"), func(v *approvals.Vote) { v.Channel = "webhook"; v.Assurance = "text" })
			}), people.ErrNotEntitled, holdgate.StatusPending, ""},
		{"a channel of text may deny it", hold(func(d *holdgate.Decision) { d.Hold.Approvers.Assurance = "interactive" }),
			votes(func(r approvals.Request) approvals.Vote {
				return with(deny("ana"), func(v *approvals.Vote) { v.Channel, v.Assurance = "webhook", "" })
			}), nil, holdgate.StatusDenied, "ana"},
		{"nobody votes as the policy", hold(), votes(func(r approvals.Request) approvals.Vote { return approve(r, "policy") }), people.ErrNotEntitled, holdgate.StatusPending, ""},
		{"nobody votes without a name", hold(), votes(func(r approvals.Request) approvals.Vote { return approve(r, "") }), people.ErrNotEntitled, holdgate.StatusPending, ""},
		{"nobody times out by voting", hold(), votes(func(r approvals.Request) approvals.Vote {
			return with(approve(r, "ana"), func(v *approvals.Vote) { v.Decision = holdgate.AnswerTimeout })
		}), approvals.ErrAnswer, holdgate.StatusPending, ""},
		{"an edit is refused", hold(), votes(func(r approvals.Request) approvals.Vote {
			return with(approve(r, "ana"), func(v *approvals.Vote) { v.Decision = holdgate.AnswerEdit })
		}), approvals.ErrAnswer, holdgate.StatusPending, ""},
		{"a long reason is refused", hold(), votes(func(r approvals.Request) approvals.Vote {
			return with(deny("ana"), func(v *approvals.Vote) { v.Reason = strings.Repeat("x", 8<<10+1) })
		}), approvals.ErrAnswer, holdgate.StatusPending, ""},
		{"a reason that is no UTF-8 is refused", hold(), votes(func(r approvals.Request) approvals.Vote {
			return with(deny("ana"), func(v *approvals.Vote) { v.Reason = "\xff" })
		}), approvals.ErrAnswer, holdgate.StatusPending, ""},
	}
	b := newBench(t)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := b.enter(fmt.Sprint(i))
			defer x.Leave()
			r := b.ask(x, bash(0, "make"), tt.d)
			vs := tt.votes(r)
			for _, v := range vs[:len(vs)-1] {
				b.decide(r, v)
			}
			_, err := b.queue.Decide(t.Context(), r.ID, vs[len(vs)-1])
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			got := b.request(r.ID)
			if got.Status != tt.status {
				t.Errorf("status %s, want %s", got.Status, tt.status)
			}
			if got.Status.Final() && got.Outcome.By != tt.by {
				t.Errorf("by %q, want %q", got.Outcome.By, tt.by)
			}
			if want := len(vs); err != nil && len(got.Votes) != want-1 {
				t.Errorf("a refused vote was counted: %d votes", len(got.Votes))
			}
		})
	}
}

// votes makes one vote into a list.
func votes(v func(approvals.Request) approvals.Vote) func(approvals.Request) []approvals.Vote {
	return func(r approvals.Request) []approvals.Vote { return []approvals.Vote{v(r)} }
}

func TestDecideSaysHowARequestHasEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold())
	b.decide(r, deny("ana"))
	_, err := b.queue.Decide(t.Context(), r.ID, approve(r, "ben"))
	var ended *approvals.EndedError
	if !errors.As(err, &ended) || ended.Request.Outcome.By != "ana" {
		t.Errorf("got %v", err)
	}
	if _, err := b.queue.Decide(t.Context(), "nobody", deny("ana")); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := b.queue.Cancel(t.Context(), r.ID, "late"); !errors.As(err, &ended) {
		t.Errorf("cancelling: %v", err)
	}
}

// A hundred people and programs act on one request at once.
func TestOneOutcomeAndOneUseWhateverTheInterleaving(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	r := b.ask(x, bash(0, "make"), hold())
	var outcomes, uses atomic.Int32
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			var err error
			switch i % 5 {
			case 0, 1:
				_, err = b.queue.Decide(t.Context(), r.ID, approve(r, []string{"ana", "ben", "eve"}[i%3]))
			case 2:
				_, err = b.queue.Decide(t.Context(), r.ID, deny([]string{"ana", "ben", "eve"}[i%3]))
			case 3:
				_, err = b.queue.Cancel(t.Context(), r.ID, "changed my mind")
			case 4:
				for range 20 {
					if err := x.Use(t.Context(), use(r)); err == nil {
						uses.Add(1)
					}
				}
				return
			}
			var ended *approvals.EndedError
			if err == nil {
				outcomes.Add(1)
			} else if !errors.As(err, &ended) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if outcomes.Load() != 1 {
		t.Errorf("%d outcomes", outcomes.Load())
	}
	got := b.request(r.ID)
	if err := x.Use(t.Context(), use(r)); err == nil {
		uses.Add(1)
	}
	if want := map[bool]int32{true: 1}[got.Status == holdgate.StatusApproved]; uses.Load() != want {
		t.Errorf("%d uses of a request that is %s", uses.Load(), got.Status)
	}
}
