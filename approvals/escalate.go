package approvals

import (
	"context"
	"errors"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// escalates says when the circle of a request widens next.
func (r *storedRequest) escalates() (time.Time, bool) {
	if r.Escalated >= len(r.Approvers.Escalate) {
		return time.Time{}, false
	}
	return r.Created.Add(r.Approvers.Escalate[r.Escalated].After), true
}

// scheduleEscalation puts the request's next escalation into the timer.
func (t *transition) scheduleEscalation(r *storedRequest) error {
	at, ok := r.escalates()
	if !ok {
		return nil
	}
	t.wakeAt(at)
	return t.tx.Set(escalateKey(at, r.ID), []byte(dueEscalate))
}

// escalate widens the circle of a request that is still pending. A claim does
// not keep it from that.
func (q *Queue) escalate(ctx context.Context, d due) error {
	return q.transact(ctx, func(t *transition) error {
		if err := t.tx.Delete(d.key); err != nil {
			return err
		}
		r, err := t.request(d.id)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil || r.Status.Final() {
			return err
		}
		if at, ok := r.escalates(); !ok || !at.Equal(d.at) {
			return nil
		}
		e := r.Approvers.Escalate[r.Escalated]
		r.Escalated++
		note := "asked as well after " + e.After.String() + ": " + people.DescribeCircle(e.Roles, e.Users)
		return errors.Join(t.scheduleEscalation(r), t.write(r), t.record(r, audit.TypeEscalate, EventEscalated, note))
	})
}
