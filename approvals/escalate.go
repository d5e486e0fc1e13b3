package approvals

import (
	"context"
	"errors"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// escalate lets more people approve a request that is still pending. A claim does
// not keep it from that.
func (q *Queue) escalate(ctx context.Context, d record.Due) error {
	return q.transact(ctx, func(t *transition) error {
		if err := t.Tx.Delete(d.Key); err != nil {
			return err
		}
		r, err := t.Request(d.ID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil || r.Status.Final() {
			return err
		}
		if at, ok := r.Escalates(); !ok || !at.Equal(d.At) {
			return nil
		}
		e := r.Approvers.Escalate[r.Escalated]
		r.Escalated++
		note := "asked as well after " + e.After.String() + ": " + people.DescribeApprovers(e.Roles, e.Users)
		return errors.Join(t.ScheduleEscalation(r), t.Write(r), t.Record(r, audit.TypeEscalate, record.EventEscalated, note))
	})
}
