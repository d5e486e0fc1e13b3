package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// Delegate lets a person vote on one request in the place of another who may
// approve it. From then on only the delegate's vote counts for the two. It
// cannot be passed on; a person who may approve anyway needs none, and the one
// whom the agent works for gets none under four eyes.
//
// It returns ErrNotFound, *EndedError, ErrNotEntitled or ErrAnswer, which say
// more when printed.
func (q *Queue) Delegate(ctx context.Context, id, by, to, note string) (Request, error) {
	if err := record.Bounded("note", note, record.MaxText); err != nil {
		return Request{}, err
	}
	return q.change(ctx, id, func(t *transition, r *record.StoredRequest) error {
		d, err := t.delegation(r, by, to)
		if err != nil {
			return err
		}
		d.Note = note
		r.Delegations = append(r.Delegations, d)
		what := d.By + " lets " + d.To + " vote"
		if note != "" {
			what += ": " + note
		}
		return errors.Join(t.Write(r), t.Record(r, audit.TypeDelegate, record.EventDelegated, what))
	})
}

// delegation checks that one person may let another vote.
func (t *transition) delegation(r *record.StoredRequest, by, to string) (people.Delegation, error) {
	p := t.People
	from, err := p.Acting(by)
	if err != nil {
		return people.Delegation{}, err
	}
	c := r.Eligibility(p)
	if err := c.Refuses(from); err != nil {
		return people.Delegation{}, err
	}
	heir, known := p.Find(to)
	switch {
	case p.Alone():
		return people.Delegation{}, fmt.Errorf("%w: there is nobody else to delegate to", ErrAnswer)
	case !known:
		return people.Delegation{}, fmt.Errorf("%w: nobody knows who %q is", ErrAnswer, to)
	case c.RefusesOwn(from) != nil:
		return people.Delegation{}, fmt.Errorf("%w: what was delegated to you cannot be passed on", people.ErrNotEntitled)
	case slices.ContainsFunc(r.Votes, func(v record.StoredVote) bool { return v.By == from.Name }):
		return people.Delegation{}, fmt.Errorf("%w: you have voted already", ErrAnswer)
	case c.RefusesOwn(heir) == nil:
		return people.Delegation{}, fmt.Errorf("%w: %s may vote without a delegation", ErrAnswer, heir.Name)
	case c.RefusesAnyway(heir) != nil:
		return people.Delegation{}, fmt.Errorf("%w: %s could not approve it: %w", ErrAnswer, heir.Name, c.RefusesAnyway(heir))
	}
	return people.Delegation{By: from.Name, To: heir.Name, At: t.Now}, nil
}
