package approvals

import (
	"context"

	"github.com/holdgate/holdgate/approvals/record"
)

// A transition is a change of state as the queue makes it.
type transition struct {
	*record.Change
	q *Queue
}

// transact runs fn as one transition: see [record.Book.Change].
func (q *Queue) transact(ctx context.Context, fn func(*transition) error) error {
	return q.book.Change(ctx, func(c *record.Change) error { return fn(&transition{c, q}) })
}
