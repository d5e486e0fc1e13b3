package gate

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// maxFindings bounds how many results of one request the log has entries of.
const maxFindings = 16

// Asked notes a call of the exchange before it is decided, for the client of a held
// one can leave, and show a result, at any moment.
func (x *Exchange) Asked(own *holdgate.Call) {
	x.g.provenance.became(x.from.Caller, own.ID, own.Tool, fateAsked)
}

// Became notes what has become of a call of the exchange, before the client can see
// it. own is the call as the model made it.
func (x *Exchange) Became(own *holdgate.Call, e *Evaluation) {
	tool, is := *own.Tool, fateReleased
	switch {
	case e.Undecided():
		is = fateHeld
	case !e.Released():
		is = fateRefused
	case e.edited != "":
		tool.Arguments = e.Call.Tool.Arguments
	}
	x.g.provenance.became(x.from.Caller, own.ID, &tool, is)
}

// AtHook looks up what became of a call that has reached its agent's hook where it stood
// in a model's answer. One that no model has asked for is a finding, where the session's
// models are asked through here.
func (x *Exchange) AtHook(ctx context.Context, e *Evaluation) {
	is, same, watched := x.g.provenance.reached(x.from.Caller, e.Call.ID, e.Call.Tool)
	e.Seen = same
	if is == fateReleased || is == fateAnswered || !watched {
		return
	}
	why := "that no model has asked for through Holdgate"
	switch is {
	case fateRefused:
		why = "that was refused in a model's answer"
	case fateAsked, fateHeld:
		why = "that waits for people to decide in a model's answer"
	}
	name := holdgate.Bounded(e.Call.Tool.Name, 200)
	call := &audit.Call{ID: holdgate.Bounded(e.Call.ID, 200), Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: name}}
	if err := x.g.Find(context.WithoutCancel(ctx), x.from.Caller, call, "unapproved: the agent is about to run a call of "+name+" "+why); err != nil {
		x.g.c.Logger.ErrorContext(ctx, "writing a finding", "err", err)
	}
}

// Shown looks for results of calls that were not let go on among those that a model
// request has. Policy is told of them until a request with them has gone on
// ([Exchange.WentOn]); the log and the people are told once.
func (x *Exchange) Shown(ctx context.Context, m *holdgate.Model, h wire.History) {
	ctx = trace.Carry(x.g.life, ctx)
	all, fresh := x.g.provenance.unapproved(x.from.Caller, h)
	m.Unapproved = all
	x.reads(ctx, h)
	x.settle(ctx, h)
	for i, u := range fresh {
		if i == maxFindings {
			break
		}
		note := noteUnapproved(u)
		if i == maxFindings-1 && len(fresh) > maxFindings {
			note += fmt.Sprintf("; so do %d others in the request", len(fresh)-maxFindings)
		}
		call := &audit.Call{ID: holdgate.Bounded(u.ID, 200), Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: holdgate.Bounded(u.Tool, 200)}}
		if err := x.g.c.Queue.Find(ctx, x.from.Caller, call, note); err != nil {
			x.g.c.Logger.ErrorContext(ctx, "writing a finding", "err", err)
		}
	}
}

// WentOn takes note that a model request goes on.
func (x *Exchange) WentOn(m *holdgate.Model) {
	if len(m.Unapproved) > 0 {
		x.g.provenance.passed(x.from.Caller, m.Unapproved)
	}
}

// Used takes note of what the answer to a model request has used.
func (x *Exchange) Used(ctx context.Context, u holdgate.Usage) {
	s, err := x.Session(x.g.life)
	if err != nil {
		x.g.c.Logger.WarnContext(ctx, "what an answer has used is not counted", "err", err)
		return
	}
	s.Used(u, x.from.Agent.Proven)
}

// noteUnapproved is what the log says of a result.
func noteUnapproved(u holdgate.Unapproved) string {
	var b strings.Builder
	b.WriteString("unapproved: the agent shows a result of a call")
	if u.Tool != "" {
		fmt.Fprintf(&b, " of %s", holdgate.Bounded(u.Tool, 200))
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

// reads takes note of what results in a request say: how the session's tools have
// ended, and what those have brought it in touch with whose calls were not seen here
// (of a conversation that began elsewhere, or under another name). Where policy
// cannot say, they count as untrusted.
func (x *Exchange) reads(ctx context.Context, h wire.History) {
	n := x.g.provenance.news(x.from.Caller, h)
	x.ToolsEnded(ctx, n.ended)
	for _, r := range n.ungated {
		x.brings(ctx, r)
	}
}

// brings takes note of what a result brings the session in touch with whose call was not let
// go on here.
func (x *Exchange) brings(ctx context.Context, r wire.Result) {
	c := x.g.informed(x.from.Call(holdgate.Call{Kind: holdgate.KindToolCall, ID: r.ID, Tool: &holdgate.Tool{Name: r.Tool, Arguments: r.Arguments}}))
	words, err := x.g.c.Policy.Taint(ctx, rego.Input{Call: c, Dir: x.from.Dir, Home: x.g.c.Home})
	if err != nil {
		x.g.c.Logger.WarnContext(ctx, "policy cannot say what a result brings", "err", err)
		words = []string{"untrusted"}
	}
	if err := x.g.c.Queue.Taint(ctx, x.from.Caller, words, "a result of "+holdgate.Bounded(r.Tool, 200)+" in a request"); err != nil {
		x.g.c.Logger.ErrorContext(ctx, "recording what a result brings", "err", err)
	}
}

// ToolsEnded takes note of how tools of the session have ended.
func (x *Exchange) ToolsEnded(ctx context.Context, how sessions.Results) {
	if how == "" {
		return
	}
	s, err := x.Session(trace.Carry(x.g.life, ctx))
	if err != nil {
		x.g.c.Logger.WarnContext(ctx, "how a tool ended is not counted", "err", err)
		return
	}
	s.Ended(how)
}
