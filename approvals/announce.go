package approvals

import (
	"context"
	"fmt"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Announce tells everybody who follows events of something that is no
// request's: it writes the audit entry, and an event of the type whose Note is
// the entry's, in one transaction. What also writes, where it is set, is part
// of the same transaction, and its error undoes all.
func (q *Queue) Announce(ctx context.Context, typ EventType, e audit.Entry, also func(store.Tx) error) error {
	return q.transact(ctx, func(t *transition) error {
		if also != nil {
			if err := also(t.tx); err != nil {
				return err
			}
		}
		stored, err := q.c.Log.Append(t.tx, e)
		if err != nil {
			return fmt.Errorf("announcing %s: %w", typ, err)
		}
		return write(t.tx, prefixOutbox+store.Seq(stored.Seq), storedEvent{header: current(), Time: t.now, Type: typ, Note: e.Note})
	})
}
