package approvals

import (
	"context"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// Find writes into the log what was seen of an agent that it should not have
// done, and tells people of it ([record.EventFinding]). It decides nothing.
func (q *Queue) Find(ctx context.Context, who Caller, call *audit.Call, note string) error {
	call.Agent, call.Session = who.Agent.ID, who.Session.ID
	note = holdgate.Visible(note)
	err := q.book.Change(ctx, func(c *record.Change) error {
		seq, err := c.Append(audit.Entry{Type: audit.TypeFinding, Door: who.Door, Call: call, Note: note})
		if err != nil {
			return err
		}
		return c.Note(record.EventFinding, who.Agent.ID, note, seq)
	})
	if err != nil {
		return fmt.Errorf("storing a finding: %w", err)
	}
	return nil
}
