package approvals

import (
	"context"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	// earlierCalls is how many calls a briefing shows that came before.
	earlierCalls = 5
	// nearEntries is how far back in the audit log they are looked for first, and
	// earlierEntries how far where there are too few.
	nearEntries, earlierEntries = 40, 200
)

// allowedEarlier is what became of a call that policy let pass.
const allowedEarlier = "allowed"

// An earlierCall is a call that came before in the session, and what became of
// it.
type earlierCall struct{ request, text, became string }

// earlier returns what the session did last, for the briefing of its next call;
// nil where it did nothing. It comes from the audit log, so that it outlives a
// restart and holds nothing that policy redacts.
func (q *Queue) earlier(ctx context.Context, who Caller) []briefing.Section {
	calls, err := q.callsOf(ctx, who, nearEntries)
	if err == nil && len(calls) < earlierCalls {
		calls, err = q.callsOf(ctx, who, earlierEntries)
	}
	if err != nil {
		q.c.Logger.WarnContext(ctx, "a briefing is without the calls before", "err", err)
		return nil
	}
	if len(calls) == 0 {
		return nil
	}
	s := briefing.Section{Title: "before it, in this session", Kind: briefing.KindBefore}
	for _, c := range calls[max(0, len(calls)-earlierCalls):] {
		s.Lines = append(s.Lines, c.became+": "+c.text)
	}
	return []briefing.Section{s}
}

// callsOf returns the session's calls in the last entries of the log.
func (q *Queue) callsOf(ctx context.Context, who Caller, entries uint64) (calls []earlierCall, err error) {
	head, err := q.c.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	query := audit.Query{Agent: who.Agent.ID, Session: who.Session.ID, From: head.Seq - min(head.Seq, entries)}
	err = q.c.Log.Each(ctx, query, func(e audit.Entry) error {
		calls = takeEarlier(calls, e)
		return nil
	})
	return calls, err
}

// takeEarlier adds an entry's call, or what became of one.
func takeEarlier(calls []earlierCall, e audit.Entry) []earlierCall {
	switch {
	case e.Call == nil || e.Call.Kind == holdgate.KindModelRequest:
	case e.Type == audit.TypeDecision && e.Decision != nil:
		return append(calls, earlierCall{e.RequestID, CallLine(e), map[holdgate.Action]string{
			holdgate.Allow: allowedEarlier, holdgate.Deny: "refused by policy", holdgate.Hold: "waits"}[e.Decision.Action]})
	case e.Type == audit.TypeObserved:
		return append(calls, earlierCall{"", CallLine(e), "run by the provider"})
	case e.Type == audit.TypeRefused && e.Decision != nil && e.Decision.Rule == holdgate.RuleAddress:
		return refusedEarlier(calls, CallLine(e))
	case e.Type == audit.TypeOutcome && e.Outcome != nil:
		i := slices.IndexFunc(calls, func(c earlierCall) bool { return c.request == e.RequestID })
		if i >= 0 {
			calls[i].became = string(e.Outcome.Decision) + " by " + holdgate.Visible(e.Outcome.By)
		}
	}
	return calls
}

// refusedEarlier notes that a request did not go on after policy had let it: where it
// led was known only then.
func refusedEarlier(calls []earlierCall, text string) []earlierCall {
	const refused = "refused, for where it leads"
	for i := range slices.Backward(calls) {
		if calls[i].text == text && calls[i].became == allowedEarlier {
			calls[i].became = refused
			return calls
		}
	}
	return append(calls, earlierCall{text: text, became: refused})
}

// CallLine names the call of an entry in one line, safe to show: a tool's with what it is
// given, as far as the entry has that. An entry of a session, without a call, has none.
func CallLine(e audit.Entry) string {
	switch c := e.Call; {
	case c == nil:
		return ""
	case c.Tool != nil:
		return briefing.Line(&holdgate.Tool{Name: c.Tool.Name, Server: c.Tool.Server, Arguments: e.Input})
	case c.MCP != "":
		return holdgate.Visible(c.MCP)
	case c.Gate != "":
		return "the gate " + holdgate.Visible(c.Gate)
	case c.Model != "":
		return "a request to the model " + holdgate.Visible(c.Model)
	default:
		return holdgate.Visible(c.HTTP)
	}
}
