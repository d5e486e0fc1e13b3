package gate

import (
	"context"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/rego"
)

// maxRounds bounds how often one call may be held again after it was approved:
// a policy that never stops asking is refused.
const maxRounds = 8

// Decide asks policy about a call, unless people have stopped its agent. Afterwards
// the call is decided, or open with a request in the queue. The decision is in the
// log before this returns. An error means that nothing could be written: the call
// must be refused.
func (x *Exchange) Decide(ctx context.Context, e *Evaluation) error {
	if s := x.AgentStatus(); s.Stopped() {
		return x.halt(ctx, e, s)
	}
	if e.Call.Result != nil { // whose digest is another than that of the call
		if err := x.digest(ctx, e); err != nil {
			return err
		}
	}
	d := x.judge(ctx, e)
	if d.Action != holdgate.Hold {
		return x.settled(ctx, e, d)
	}
	err := x.hold(ctx, e, d)
	if s, halted := Halted(err); halted {
		return x.halt(ctx, e, s)
	}
	return err
}

// judge asks the policy in force what becomes of the call, now that people have
// answered what they have. It does not where the agent has asked for too much;
// what people answered is nothing that the agent asks for.
func (x *Exchange) judge(ctx context.Context, e *Evaluation) holdgate.Decision {
	if e.rounds == 0 && e.Call.Result == nil {
		if e.over = x.g.quotas.admit(x.g.life, e.Call.Agent); e.over != nil {
			return holdgate.Decision{Rule: e.over.Rule, Reason: e.over.Why}
		}
		if !e.Seen {
			if err := x.counted(e); err != nil {
				return x.unknownSession(ctx, err)
			}
		}
	}
	d := x.evaluate(ctx, e, e.answers(-1))
	if d.Action == holdgate.Allow {
		d = x.confirmed(ctx, e, d)
	}
	if d.Action != holdgate.Hold {
		return d
	}
	switch {
	case e.rounds >= maxRounds:
		return holdgate.Decision{Rule: holdgate.RulePolicyError, Reason: fmt.Sprintf("the policy asked %d times about one call", maxRounds), Revision: d.Revision}
	case e.Unheld != "":
		d.Action, d.Hold, d.Also = holdgate.Deny, holdgate.HoldSpec{}, nil
		d.Reason += " " + e.Unheld
	}
	return d
}

// evaluate asks the policy in force, with these answers of people.
func (x *Exchange) evaluate(ctx context.Context, e *Evaluation, answers []rego.Answer) holdgate.Decision {
	c := &x.g.c
	e.Call = x.g.informed(e.Call)
	if c.Proofs != nil {
		e.Call.Agent.Proofs = c.Proofs(e.Call.Agent)
	}
	in := rego.Input{Call: e.Call, Answers: answers, Edited: e.edited != "", Dir: x.from.Dir, From: x.from.Start, Home: c.Home, Own: rego.Own{Listeners: c.Deciders(), Folders: c.Private}}
	if err := x.inSession(&in, e); err != nil {
		return x.unknownSession(ctx, err)
	}
	ctx, span := trace.Evaluate(context.WithoutCancel(ctx), e.Call, x.from.At != InAnswer || e.Call.Model != nil)
	d := c.Policy.Decide(ctx, in)
	span.Decided(d)
	return d
}

// informed returns a call with what is known of its tool at the moment.
func (g *Gate) informed(c holdgate.Call) holdgate.Call {
	if c.Tool == nil {
		return c
	}
	learned := g.c.Catalog.Learned(c.Tool)
	if learned == nil && c.Tool.Learned == nil {
		return c
	}
	tool := *c.Tool
	tool.Learned = learned
	c.Tool = &tool
	return c
}

// settled logs a decision that holds nothing and makes it the verdict.
func (x *Exchange) settled(ctx context.Context, e *Evaluation, d holdgate.Decision) error {
	if e.over != nil {
		return x.overLimit(ctx, e, e.over)
	}
	if d.Action == holdgate.Allow {
		if err := x.g.c.Queue.Taint(ctx, x.from.Caller, d.Taint, NameCall(shown(e.Call, d))); err != nil {
			return err
		}
		if err := x.left(ctx, d); err != nil {
			return err
		}
		x.let(ctx, e.Call, d.Later)
	}
	entry, err := x.logDecision(ctx, e, d)
	if err == nil {
		err = x.advise(ctx, e, d)
	}
	if err != nil {
		return err
	}
	if e.Call.Result == nil && !e.Seen { // the call was counted when it was made
		if s, err := x.Session(ctx); err == nil {
			s.Decided(d.Action)
		}
	}
	e.redact = d.Redact
	if d.Action == holdgate.Allow {
		e.release()
	} else {
		e.Refuse(noticeDenied(e.Call, d, entry))
	}
	return nil
}
