package approvals

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// Decide takes one person's vote. Approving answers (approve, choose, edit)
// must carry the digest of the call that the person was shown. With a quorum
// that many different people must approve (or choose the same); one denial or
// steer ends the request at once, and so does an edit: what it makes of the
// call is a question of its own, in which the editor's vote counts. A denial with
// Stop also stops the agent: see [Queue.Intervene].
//
// Nothing has happened where it returns an error: ErrNotFound, *EndedError,
// ErrDigest, ErrSteerEmpty, ErrSteerNotAllowed, ErrAnswer, ErrEditRefused, ErrVoted,
// ErrRemember or ErrNotEntitled, which say more when printed, or one of the store.
func (q *Queue) Decide(ctx context.Context, id string, v Vote) (Request, error) {
	v, err := checked(v)
	if err != nil {
		return Request{}, err
	}
	v.Reason, v.Instructions = q.book.Words(v.Reason), q.book.Words(v.Instructions)
	if v.Decision == holdgate.AnswerEdit {
		if err := q.mayEdit(ctx, id, v); err != nil {
			return Request{}, err
		}
	}
	if err := q.confirm(ctx, id, v); err != nil {
		return Request{}, err
	}
	var hidden []string
	if v.Decision == holdgate.AnswerEdit {
		if err := q.permits(ctx, id, v); err != nil {
			return Request{}, err
		}
		if hidden, err = q.redactions(ctx, id, v.Arguments); err != nil {
			return Request{}, err
		}
	}
	r, err := q.change(ctx, id, func(t *transition, r *record.StoredRequest) error {
		v, err := t.admitted(r, v)
		if err != nil {
			return err
		}
		if v.Decision == holdgate.AnswerEdit {
			if err := t.edit(r, v.Arguments, hidden); err != nil {
				return err
			}
			v.Arguments = nil
		}
		return t.vote(r, record.StoredVote(v))
	})
	if err != nil || !v.Stop {
		return r, err
	}
	if err := q.Agents.Sweep(ctx, r.Agent.ID); err != nil {
		q.c.Logger.ErrorContext(ctx, "an agent was stopped, and requests of it are still shown as pending", "agent", r.Agent.ID, "err", err)
	}
	return r, nil
}

// mayEdit returns the error of an edit that would not be counted whatever policy says of it.
func (q *Queue) mayEdit(ctx context.Context, id string, v Vote) error {
	admitted := errors.New("nothing is to be stored")
	_, err := q.change(ctx, id, func(t *transition, r *record.StoredRequest) error {
		if _, err := t.admitted(r, v); err != nil {
			return err
		}
		return admitted
	})
	if errors.Is(err, admitted) {
		return nil
	}
	return err
}

// admitted is a vote that may be counted on the request, as its voter gives it now.
func (t *transition) admitted(r *record.StoredRequest, v Vote) (Vote, error) {
	n, err := t.People.Acting(v.By)
	if err != nil {
		return v, err
	}
	if v.Account = ""; n.Name != v.By {
		v.By, v.Account = n.Name, v.By
	}
	v.At = t.Now
	if err := t.signed(r, n, &v); err != nil {
		return v, err
	}
	return v, t.admits(r, v)
}

// confirm makes sure that who approves something of high risk may still do so. What an
// edit makes of a call is judged later, and the editor's vote counts for it.
func (q *Queue) confirm(ctx context.Context, id string, v Vote) error {
	if q.c.Confirm == nil || v.Decision == holdgate.AnswerDeny || v.Decision == holdgate.AnswerSteer {
		return nil
	}
	r, err := q.request(ctx, id)
	if err != nil || v.Decision != holdgate.AnswerEdit && (r.Risk == holdgate.RiskLow || r.Risk == holdgate.RiskMedium) {
		return err
	}
	return q.c.Confirm(ctx, v.By)
}

// Cancel ends a pending request that needs no answer any more. It returns
// ErrNotFound or *EndedError.
func (q *Queue) Cancel(ctx context.Context, id, reason string) (Request, error) {
	if err := record.Bounded("reason", reason, record.MaxText); err != nil {
		return Request{}, err
	}
	return q.change(ctx, id, func(t *transition, r *record.StoredRequest) error {
		return t.Cancel(r, people.ByHoldgate, reason)
	})
}

// change runs fn on a pending request as one transition.
func (q *Queue) change(ctx context.Context, id string, fn func(*transition, *record.StoredRequest) error) (Request, error) {
	var r *record.StoredRequest
	err := q.transact(ctx, func(t *transition) (err error) {
		if r, err = t.Request(id); err != nil {
			return err
		}
		if r.Status.Final() {
			return &EndedError{Request: r.View(t.People)}
		}
		return fn(t, r)
	})
	if err != nil {
		return Request{}, err
	}
	return r.View(q.People()), nil
}

// vote stores the vote and ends the request where that settles it.
func (t *transition) vote(r *record.StoredRequest, v record.StoredVote) error {
	r.Votes = append(r.Votes, v)
	o := answered(Vote(v))
	e := r.Entry(audit.TypeVote)
	e.Outcome, e.Note = &o, "through "+v.Channel
	if v.Account != "" {
		e.Note += " as " + v.Account
	}
	e.Signed = v.Signed
	seq, err := t.Append(e)
	if err != nil {
		return err
	}
	if err := t.Tell(record.EventVoted, r, seq); err != nil {
		return err
	}
	status, by := tally(r, t.People, v)
	if status.Final() {
		o.By = by
		if option, ok := r.Option(v.Choice); ok && status == holdgate.StatusSteered && o.Instructions == "" {
			o.Instructions = option.Label
		}
		note := ""
		if status == holdgate.StatusApproved {
			if o.Grant, note, err = t.q.Grants.Make(t.Change, r); err != nil {
				return err
			}
			if o.Grant == "" {
				if o.Grant, err = t.q.Grants.Teach(t.Change, r, v); err != nil {
					return err
				}
			}
			if err := t.q.Tools.Accept(t.Change, r); err != nil {
				return err
			}
		}
		if err := t.EndRequest(r, status, o, note); err != nil || !o.Stop {
			return err
		}
		return t.q.Agents.Put(t.Change, r.Agent, agents.Intervention{Action: agents.Stop, Reason: holdgate.Visible(o.Reason), By: o.By})
	}
	if r.Claim != nil && r.Claim.By == v.By {
		if err := t.unclaim(r, v.By+" has voted"); err != nil {
			return err
		}
	}
	return t.Write(r)
}

// answered is a vote as the log has it.
func answered(v Vote) holdgate.Outcome {
	return holdgate.Outcome{
		Decision: v.Decision, By: v.By, At: v.At, Reason: v.Reason, Instructions: v.Instructions, Artifacts: v.Artifacts,
		Choice: v.Choice, Rollback: v.Rollback, Stop: v.Stop,
	}
}

// tally says where the request stands after its latest vote, and who brought
// it there. Approvals count only of those who may give them now.
func tally(r *record.StoredRequest, p *people.People, v record.StoredVote) (holdgate.Status, string) {
	switch effect := r.Effect(v); {
	case effect == holdgate.EffectSteer:
		return holdgate.StatusSteered, v.By
	case effect != holdgate.EffectApprove:
		return holdgate.StatusDenied, v.By
	case v.Decision == holdgate.AnswerEdit:
		return holdgate.StatusApproved, v.By
	}
	c := r.Eligibility(p)
	var people []string
	for _, o := range r.Votes {
		if r.Effect(o) != holdgate.EffectApprove || o.Choice != v.Choice {
			continue
		}
		n, known := p.Find(o.By)
		if !known || c.Refuses(n) != nil || slices.ContainsFunc(people, func(name string) bool { return p.Same(name, n.Name) }) {
			continue
		}
		people = append(people, n.Name)
	}
	if len(people) < max(r.Approvers.Quorum, 1) {
		return holdgate.StatusPending, ""
	}
	return holdgate.StatusApproved, strings.Join(people, ", ")
}
