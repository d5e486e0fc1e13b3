package proxy

import (
	"context"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// advise tells people that the session is at an advisory gate, which holds nothing.
// The session counts as having passed it, so that one gate is told of once.
func (e *exchange) advise(ctx context.Context, q *question, d holdgate.Decision) error {
	if d.Action != holdgate.Allow || d.Would == nil || *d.Would != holdgate.Hold || d.Hold.Gate == "" {
		return nil
	}
	note := "at the advisory gate " + d.Hold.Gate
	call := &audit.Call{ID: q.call.ID, Kind: q.call.Kind, Gate: d.Hold.Gate}
	switch {
	case q.call.Gate != nil:
		note = strings.TrimSuffix(note+": "+strings.Join(strings.Fields(q.call.Gate.Message), " "), ": ")
	case q.call.Tool != nil:
		call.Tool = &audit.Tool{Name: q.call.Tool.Name, Server: q.call.Tool.Server}
	}
	if err := e.s.c.Queue.Find(ctx, e.t.caller, call, note); err != nil {
		return err
	}
	if q.call.Gate != nil { // who asked is answered, which passes it
		return nil
	}
	_, err := e.s.c.Queue.GateDecided(ctx, e.t.caller, d.Hold.Gate, holdgate.Outcome{Decision: holdgate.AnswerApprove, Reason: "it is advisory: people were told"}, true)
	return err
}
