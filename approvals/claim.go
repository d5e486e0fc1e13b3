package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// claimFor is how long a claim keeps silence from ending a request.
const claimFor = 30 * time.Minute

// Claim says that a person is looking at a request: until they answer, unclaim
// it, or claimFor has passed, silence neither denies nor approves it. After
// that its window begins anew. Whoever may approve or operate may claim; a
// claim of one's own is made longer.
//
// It returns ErrNotFound, *EndedError, ErrNotEntitled or ErrClaimed, which
// names who has it.
func (q *Queue) Claim(ctx context.Context, id, by string) (Request, error) {
	return q.change(ctx, id, func(t *transition, r *record.StoredRequest) error {
		n, err := t.People.MayAnswer(by)
		if err != nil {
			return err
		}
		if r.Claim != nil && r.Claim.By != n.Name {
			return fmt.Errorf("%w: %s, until %s", ErrClaimed, r.Claim.By, r.Claim.Until.Format(time.RFC3339))
		}
		if err := t.Tx.Delete(record.DueKey(r.Expires, r.ID)); err != nil {
			return err
		}
		r.Claim = &Claim{By: n.Name, At: t.Now, Until: t.Now.Add(claimFor)}
		r.Expires = r.Claim.Until
		return errors.Join(t.Schedule(r.Expires, r.ID, r.Timer()), t.Write(r), t.Record(r, audit.TypeClaim, record.EventClaimed, "claimed by "+n.Name))
	})
}

// Unclaim ends a person's claim; the request's window begins anew. It does
// nothing where nobody has claimed it. It returns ErrNotFound, *EndedError,
// ErrNotEntitled or ErrClaimed.
func (q *Queue) Unclaim(ctx context.Context, id, by string) (Request, error) {
	return q.change(ctx, id, func(t *transition, r *record.StoredRequest) error {
		n, err := t.People.MayAnswer(by)
		if err != nil || r.Claim == nil {
			return err
		}
		if r.Claim.By != n.Name {
			return fmt.Errorf("%w: %s, until %s", ErrClaimed, r.Claim.By, r.Claim.Until.Format(time.RFC3339))
		}
		return errors.Join(t.unclaim(r, "unclaimed by "+n.Name), t.Write(r))
	})
}

// lapse ends a claim whose time has passed.
func (q *Queue) lapse(ctx context.Context, d record.Due) error {
	return q.transact(ctx, func(t *transition) error {
		r, err := t.Request(d.ID)
		if errors.Is(err, ErrNotFound) || err == nil && (r.Status.Final() || r.Claim == nil || !r.Expires.Equal(d.At)) {
			return t.Tx.Delete(d.Key)
		}
		if err != nil {
			return err
		}
		return errors.Join(t.unclaim(r, "the claim of "+r.Claim.By+" lapsed"), t.Write(r))
	})
}

// unclaim gives a claimed request its whole window again. It leaves writing
// the request to its caller.
func (t *transition) unclaim(r *record.StoredRequest, note string) error {
	if err := t.Tx.Delete(record.DueKey(r.Expires, r.ID)); err != nil {
		return err
	}
	r.Claim, r.Expires = nil, t.Now.Add(r.Timeout)
	if r.Timer() == record.DueSilence && r.Told {
		t.listen(r)
	}
	return errors.Join(t.Schedule(r.Expires, r.ID, r.Timer()), t.Record(r, audit.TypeClaim, record.EventUnclaimed, note))
}
