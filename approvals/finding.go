package approvals

import (
	"context"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Find writes into the log what was seen of an agent that it should not have
// done, and tells people of it ([EventFinding]). It decides nothing.
func (q *Queue) Find(ctx context.Context, who Caller, call *audit.Call, note string) error {
	call.Agent, call.Session = who.Agent.ID, who.Session.ID
	note = holdgate.Visible(note)
	err := q.transact(ctx, func(t *transition) error {
		seq, err := t.log(audit.Entry{Type: audit.TypeFinding, Door: who.Door, Call: call, Note: note})
		if err != nil {
			return err
		}
		told := storedEvent{header: current(), Time: t.now, Type: EventFinding, Agent: who.Agent.ID, Note: note}
		return write(t.tx, prefixOutbox+store.Seq(seq), told)
	})
	if err != nil {
		return fmt.Errorf("storing a finding: %w", err)
	}
	return nil
}
