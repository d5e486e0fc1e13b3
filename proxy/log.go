package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

// exchangeLog writes what is decided in one exchange to the audit log. Holds,
// votes, outcomes and uses are written by the queue, with the state that they
// change.
type exchangeLog struct {
	log      *audit.Log
	t        target
	x        *approvals.Exchange
	onDisk   atomic.Bool // something of x is stored, so that its id means something
	digester *holdgate.Digester
	sync     bool // plain allows are synced too
	inputs   bool // arguments are kept
}

func (s *Server) newLog(t target, x *approvals.Exchange) *exchangeLog {
	return &exchangeLog{log: s.c.Log, t: t, x: x, digester: s.c.Digester, sync: s.c.SyncAllows, inputs: !s.c.NoInputs}
}

func (l *exchangeLog) stored() { l.onDisk.Store(true) }

// decision writes an allow so that it survives this process, and a denial so
// that it survives the machine. It returns the entry's number.
func (l *exchangeLog) decision(ctx context.Context, q *question, d holdgate.Decision) (uint64, error) {
	e := l.entry(audit.TypeDecision, q.call)
	if c := q.call; q.digest == "" && c.Tool != nil {
		digest, err := l.digester.Tool(c.Tool)
		if err != nil {
			return 0, fmt.Errorf("digesting the call: %w", err)
		}
		q.digest = digest
	}
	e.Call.Digest = q.digest
	e.Decision = &audit.Decision{Action: d.Action, Rule: d.Rule, Reason: d.Reason, Risk: d.Risk, Revision: d.Revision, Would: d.Would}
	e.Note = q.remark
	if r := q.call.Result; r != nil && d.Action == holdgate.Allow {
		if _, hidden, _ := approvals.WithoutRedacted(r, d.Redact); hidden > 0 {
			e.Note += fmt.Sprintf(", without %d values that policy redacts", hidden)
		}
	}
	if q.edited != "" {
		e.Note = "edited in request " + q.edited
	}
	if l.inputs {
		e.Input, e.Seen = loggedInput(q, d), d.Seen
	}
	e, err := l.log.Write(context.WithoutCancel(ctx), e, l.sync || d.Action != holdgate.Allow)
	if err != nil {
		return 0, fmt.Errorf("writing the audit log: %w", err)
	}
	return e.Seq, nil
}

// observed writes a call that the provider ran by itself.
func (l *exchangeLog) observed(ctx context.Context, c holdgate.Call) error {
	e := l.entry(audit.TypeObserved, c)
	if _, err := l.log.Write(context.WithoutCancel(ctx), e, false); err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

func (l *exchangeLog) entry(t audit.Type, c holdgate.Call) audit.Entry {
	e := audit.Entry{Type: t, Door: l.t.door, Call: auditCall(c)}
	if l.onDisk.Load() {
		e.Exchange = l.x.ID()
	}
	return e
}

func auditCall(c holdgate.Call) *audit.Call {
	a := &audit.Call{ID: c.ID, Kind: c.Kind, Agent: c.Agent.ID, Proven: c.Agent.Proven, Session: c.Session.ID}
	switch {
	case c.Tool != nil:
		a.Tool = &audit.Tool{Name: c.Tool.Name, Server: c.Tool.Server}
	case c.Model != nil:
		a.Model = c.Model.Name
	case c.MCP != nil:
		a.MCP = c.MCP.Server + " " + c.MCP.Method
	case c.Gate != nil:
		a.Gate = c.Gate.Type
	case c.HTTP != nil:
		a.HTTP = c.HTTP.Method + " " + c.HTTP.Host + c.HTTP.Path
	}
	return a
}

// loggedInput is what the log keeps of a tool call that policy decided by
// itself: its arguments, with what policy redacts taken out.
func loggedInput(q *question, d holdgate.Decision) json.RawMessage {
	switch {
	case q.call.Tool == nil:
		return nil
	case len(d.Redact) == 0 && q.call.Result == nil && q.canonical != nil:
		return q.canonical // as the log will have it
	}
	return approvals.Redacted(q.call, d.Redact)
}

// refused writes what never reached policy; of an agent that is over a limit
// only once a minute.
func (s *Server) refused(ctx context.Context, t target, what, rule, message string) {
	message, ok := s.quotas.mayLog(t.caller.Agent, rule, message)
	if !ok {
		return
	}
	e := audit.Entry{Type: audit.TypeRefused, Door: t.door, Note: bounded(message, 1000),
		Call:     &audit.Call{Kind: holdgate.KindHTTPRequest, HTTP: bounded(what, 500), Agent: t.caller.Agent.ID, Proven: t.caller.Agent.Proven, Session: t.caller.Session.ID},
		Decision: &audit.Decision{Action: holdgate.Deny, Rule: rule, Reason: bounded(message, 1000)}}
	if _, err := s.c.Log.Write(context.WithoutCancel(ctx), e, true); err != nil {
		s.c.Logger.Error("writing a refusal to the audit log", "err", err)
	}
}
