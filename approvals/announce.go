package approvals

import (
	"context"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Announce tells everybody who follows events of something that is no
// request's: it writes the audit entry, and an event of the type whose Note is
// the entry's, in one transaction. What also writes, where it is set, is part
// of the same transaction, and its error undoes all.
func (q *Queue) Announce(ctx context.Context, typ EventType, e audit.Entry, also func(store.Tx) error) error {
	return q.book.Change(ctx, announcing(typ, e, also))
}

// announcing is the change of state of [Queue.Announce].
func announcing(typ EventType, e audit.Entry, also func(store.Tx) error) func(*record.Change) error {
	return func(c *record.Change) error {
		if also != nil {
			if err := also(c.Tx); err != nil {
				return err
			}
		}
		seq, err := c.Append(e)
		if err != nil || typ == "" {
			return err
		}
		return c.Note(typ, "", e.Note, seq)
	}
}
