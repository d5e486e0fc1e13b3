package approvals

import (
	"context"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Announce tells everybody who follows events of something that is no
// request's: it writes the audit entry, and an event of the type whose Note is
// the entry's, in one transaction. What also writes, where it is set, is part
// of the same transaction, and its error undoes all.
func (q *Queue) Announce(ctx context.Context, typ EventType, e audit.Entry, also func(store.Tx) error) error {
	return q.transact(ctx, announcing(typ, e, also))
}

// announcing is the change of state of [Queue.Announce].
func announcing(typ EventType, e audit.Entry, also func(store.Tx) error) func(*transition) error {
	return func(t *transition) error {
		if also != nil {
			if err := also(t.tx); err != nil {
				return err
			}
		}
		seq, err := t.log(e)
		if err != nil || typ == "" {
			return err
		}
		return write(t.tx, prefixOutbox+store.Seq(seq), storedEvent{header: current(), Time: t.now, Type: typ, Note: e.Note})
	}
}
