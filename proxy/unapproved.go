package proxy

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// maxFindings bounds how many results of one request the log has entries of.
const maxFindings = 16

// made notes what became of the calls of these items, before the client can see
// it.
func (a *answer) made(items []item) {
	for _, it := range items {
		if it.q == nil {
			continue
		}
		own := it.part.Call
		if !it.q.verdict.Release {
			a.s.made.became(a.t.caller, own.ID, own.Tool, madeRefused)
			continue
		}
		tool := *own.Tool
		if it.q.edited != "" {
			tool.Arguments = it.q.call.Tool.Arguments
		}
		a.s.made.became(a.t.caller, own.ID, &tool, madeReleased)
	}
}

// match looks for results in the request of calls that were not let go on.
// Policy is told of them until a request with them has gone on; the log and the
// people are told once.
func (e *exchange) match(m *holdgate.Model) {
	codec, ok := e.t.codec.(Historian)
	if !ok || m == nil || e.json == nil || e.round > 0 {
		return
	}
	h, err := codec.History(e.json)
	if err != nil {
		e.s.c.Logger.Debug("reading the results in a request", "err", err)
		return
	}
	if len(m.Tools) == 0 && len(h.Results) == 0 {
		return // made on the side: it says nothing of when the session began
	}
	all, fresh := e.s.made.unapproved(e.t.caller, h)
	m.Unapproved = all
	e.reads(h)
	for i, u := range fresh {
		if i == maxFindings {
			break
		}
		note := noteUnapproved(u)
		if i == maxFindings-1 && len(fresh) > maxFindings {
			note += fmt.Sprintf("; so do %d others in the request", len(fresh)-maxFindings)
		}
		call := &audit.Call{ID: bounded(u.ID, 200), Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: bounded(u.Tool, 200)}}
		if err := e.s.c.Queue.Find(e.s.life, e.t.caller, call, note); err != nil {
			e.s.c.Logger.Error("writing a finding", "err", err)
		}
	}
}

// matched takes note that the request goes on.
func (e *exchange) matched(m *holdgate.Model) {
	if m != nil && len(m.Unapproved) > 0 {
		e.s.made.passed(e.t.caller, m.Unapproved)
	}
}

// noteUnapproved is what the log says of a result.
func noteUnapproved(u holdgate.Unapproved) string {
	var b strings.Builder
	b.WriteString("unapproved: the agent shows a result of a call")
	if u.Tool != "" {
		fmt.Fprintf(&b, " of %s", bounded(u.Tool, 200))
	}
	switch u.Why {
	case holdgate.UnapprovedRefused:
		b.WriteString(" that was refused")
	case holdgate.UnapprovedHeld:
		b.WriteString(" that waits for people to decide")
	default:
		b.WriteString(" that no model has asked for through Holdgate")
	}
	return b.String()
}
