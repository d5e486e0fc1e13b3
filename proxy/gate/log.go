package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/approvals/redact"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// What is decided without people is written here. Holds, votes, outcomes and uses are
// written by the queue, with the state that they change.

// logDecision writes an allow so that it survives this process, and a denial so
// that it survives the machine. It returns the entry's number.
func (x *Exchange) logDecision(ctx context.Context, e *Evaluation, d holdgate.Decision) (uint64, error) {
	c := &x.g.c
	if e.digest == "" && e.Call.Tool != nil {
		digest, err := c.Digester.Tool(e.Call.Tool)
		if err != nil {
			return 0, fmt.Errorf("digesting the call: %w", err)
		}
		e.digest = digest
	}
	entry := x.entry(audit.TypeDecision, shown(e.Call, d))
	entry.Call.Digest = e.digest
	entry.Call.Program, entry.Call.Said = holdgate.Visible(x.from.Program), holdgate.Visible(x.from.Said)
	if d.Facts != nil {
		entry.Call.Folder = holdgate.Visible(d.Facts.Dir)
	}
	if entry.Call.Said == entry.Call.Folder {
		entry.Call.Said = ""
	}
	entry.Decision = &audit.Decision{Action: d.Action, Rule: d.Rule, Reason: d.Reason, Risk: d.Risk, Revision: d.Revision, Would: d.Would}
	entry.Note = e.Remark
	if r := e.Call.Result; r != nil && d.Action == holdgate.Allow {
		if _, hidden, _ := redact.Result(r, d.Redact); hidden > 0 {
			entry.Note += fmt.Sprintf(", without %d values that policy redacts", hidden)
		}
	}
	if e.edited != "" {
		entry.Note = "edited in request " + e.edited
	}
	if !c.NoInputs {
		entry.Input, entry.Seen = loggedInput(e, d), d.Seen
	}
	entry, err := c.Log.Write(context.WithoutCancel(ctx), entry, c.SyncAllows || d.Action != holdgate.Allow)
	if err != nil {
		return 0, fmt.Errorf("writing the audit log: %w", err)
	}
	return entry.Seq, nil
}

// Observe writes down a call that the provider ran by itself.
func (x *Exchange) Observe(c holdgate.Call) error {
	if _, err := x.g.c.Log.Write(context.WithoutCancel(x.g.life), x.entry(audit.TypeObserved, c), false); err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

func (x *Exchange) entry(t audit.Type, c holdgate.Call) audit.Entry {
	e := audit.Entry{Type: t, Door: x.from.Door, Call: AuditCall(c)}
	if x.stored.Load() {
		e.Exchange = x.held.ID()
	}
	return e
}

// shown is a call without what is redacted of its name, which only HTTP requests
// have: their path is content.
func shown(c holdgate.Call, d holdgate.Decision) holdgate.Call {
	if c.HTTP == nil || len(d.Redact) == 0 {
		return c
	}
	shown, _ := redact.Call(c, d.Redact)
	return shown
}

// AuditCall is a call as the log names it, without credentials.
func AuditCall(c holdgate.Call) *audit.Call {
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
		a.HTTP = rego.Conceal(c.HTTP.Method + " " + c.HTTP.Host + c.HTTP.Path)
	}
	return a
}

// loggedInput is what the log keeps of a tool call that policy decided by
// itself: its arguments, with what policy redacts taken out.
func loggedInput(e *Evaluation, d holdgate.Decision) json.RawMessage {
	hidden := d.Redact
	if strings.HasPrefix(d.Rule, "holdgate.") { // policy has perhaps not seen it
		hidden = append(slices.Clip(hidden), holdgate.RedactCredentials)
	}
	switch {
	case e.Call.Tool == nil:
		return nil
	case len(hidden) == 0 && e.Call.Result == nil && e.canonical != nil:
		return e.canonical // as the log will have it
	}
	return redact.Arguments(e.Call, hidden)
}

// Find writes down what an agent's own word shows of it, and tells people: as often as it
// may have decisions, and of one that is over a limit once a minute.
func (g *Gate) Find(ctx context.Context, who approvals.Caller, call *audit.Call, note string) error {
	note, ok := g.quotas.mayLog(who.Agent, "finding", note)
	if !ok {
		return nil
	}
	return g.c.Queue.Find(ctx, who, call, note)
}

// Refused writes down what never reached policy; of an agent that is over a limit
// only once a minute.
func (g *Gate) Refused(ctx context.Context, who approvals.Caller, what, rule, message string) {
	if g.c.OnRefused != nil {
		g.c.OnRefused(rule)
	}
	message, ok := g.quotas.mayLog(who.Agent, rule, message)
	if !ok {
		return
	}
	what, message = rego.Conceal(what), rego.Conceal(message)
	e := audit.Entry{Type: audit.TypeRefused, Door: who.Door, Note: holdgate.Bounded(message, 1000),
		Call:     &audit.Call{Kind: holdgate.KindHTTPRequest, HTTP: holdgate.Bounded(what, 500), Agent: who.Agent.ID, Proven: who.Agent.Proven, Session: who.Session.ID},
		Decision: &audit.Decision{Action: holdgate.Deny, Rule: rule, Reason: holdgate.Bounded(message, 1000)}}
	if _, err := g.c.Log.Write(context.WithoutCancel(ctx), e, true); err != nil {
		g.c.Logger.ErrorContext(ctx, "writing a refusal to the audit log", "err", err)
	}
}
