package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// MaxDefer is how long a request can be put off at once.
const MaxDefer = 24 * time.Hour

// Defer puts a request off for one person: their screens do not show it until the
// time has passed, or at once again where it is 0. Where next is set they show it
// once its session asks again, if that comes first. It decides nothing. Others see
// the request as before, and its window and its escalations go on; a claim stops
// them. Where silence would have approved, it denies from now on, for somebody has
// spoken.
//
// It returns ErrNotFound, *EndedError, ErrNotEntitled or ErrAnswer.
func (q *Queue) Defer(ctx context.Context, id, by string, lasts time.Duration, next bool) (Request, error) {
	if lasts < 0 || lasts > MaxDefer {
		return Request{}, fmt.Errorf("%w: a request is put off for up to %s", ErrAnswer, record.Lasting(MaxDefer))
	}
	return q.change(ctx, id, func(t *transition, r *record.StoredRequest) error {
		n, err := t.People.MayAnswer(by)
		if err != nil {
			return err
		}
		r.Deferrals = slices.DeleteFunc(r.Deferrals, func(d Deferral) bool { return d.By == n.Name || !d.Until.After(t.Now) })
		note := n.Name + " is shown it again"
		if lasts > 0 {
			until := t.Now.Add(lasts)
			r.Deferrals = append(r.Deferrals, Deferral{By: n.Name, Until: until, Next: next})
			note = fmt.Sprintf("put off by %s until %s", n.Name, until.Format(time.RFC3339))
			if next {
				note += ", or until its session asks again"
				if err := t.Tx.Set(record.PutOffKey(r), nil); err != nil {
					return err
				}
			}
			if err := t.notSilent(r, n.Name+" has put it off"); err != nil {
				return err
			}
		}
		return errors.Join(t.Write(r), t.Record(r, audit.TypeDefer, record.EventDeferred, note))
	})
}
