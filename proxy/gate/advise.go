package gate

import (
	"context"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// advise tells people that the session is at an advisory gate, which holds nothing.
// The session counts as having passed it, so that one gate is told of once.
func (x *Exchange) advise(ctx context.Context, e *Evaluation, d holdgate.Decision) error {
	if d.Action != holdgate.Allow || d.Would == nil || *d.Would != holdgate.Hold || d.Hold.Gate == "" {
		return nil
	}
	note := "at the advisory gate " + d.Hold.Gate
	call := &audit.Call{ID: e.Call.ID, Kind: e.Call.Kind, Gate: d.Hold.Gate}
	switch {
	case e.Call.Gate != nil:
		note = strings.TrimSuffix(note+": "+strings.Join(strings.Fields(e.Call.Gate.Message), " "), ": ")
	case e.Call.Tool != nil:
		call.Tool = &audit.Tool{Name: e.Call.Tool.Name, Server: e.Call.Tool.Server}
	}
	if err := x.g.c.Queue.Find(ctx, x.from.Caller, call, note); err != nil {
		return err
	}
	if e.Call.Gate != nil { // who asked is answered, which passes it
		return nil
	}
	_, err := x.g.c.Queue.GateDecided(ctx, x.from.Caller, d.Hold.Gate, holdgate.Outcome{Decision: holdgate.AnswerApprove, Reason: "it is advisory: people were told"}, true)
	return err
}
