package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
)

// AgentStatus is whether people let the exchange's agent go on.
func (x *Exchange) AgentStatus() approvals.AgentStatus { return x.g.AgentStatus(x.from.Caller) }

// AgentStatus is whether people let a caller go on.
func (g *Gate) AgentStatus(who approvals.Caller) approvals.AgentStatus {
	s, _ := g.c.Queue.StatusOf(who.Agent.ID, who.Session.ID)
	return s
}

// Unpaused waits until a caller is not paused: it runs then, or is stopped.
func (g *Gate) Unpaused(ctx context.Context, who approvals.Caller) (approvals.AgentStatus, error) {
	for {
		s, changed := g.c.Queue.StatusOf(who.Agent.ID, who.Session.ID)
		if s.Running() || s.Stopped() {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// WhenStopped has what is under way cut when the caller is stopped. Call what it
// returns when there is nothing left to cut.
func (g *Gate) WhenStopped(who approvals.Caller, cut func()) (forget func()) {
	return g.c.Queue.WhenStopped(who.Agent.ID, cut)
}

// clear is the last step before anything is released: it waits while the agent
// is paused, and refuses the calls of one that is stopped.
func (x *Exchange) clear(ctx context.Context, all []*Evaluation) error {
	s, err := x.g.Unpaused(ctx, x.from.Caller)
	if err != nil || s.Running() {
		return err
	}
	for _, e := range all {
		if e.Released() {
			if err := x.halt(ctx, e, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// halt refuses a call of an agent that is stopped.
func (x *Exchange) halt(ctx context.Context, e *Evaluation, s approvals.AgentStatus) error {
	entry, err := x.logDecision(ctx, e, holdgate.Decision{Rule: holdgate.RuleStopped, Reason: "the agent is " + s.String()})
	e.Refuse(NoticeStopped(fmt.Sprintf("%s (log entry %d)", Undone(e.Call), entry), s))
	return err
}

// MustWait reports whether a call that may go on must wait, because its agent is
// paused. One whose agent was stopped meanwhile is refused instead.
func (x *Exchange) MustWait(ctx context.Context, e *Evaluation) bool {
	s := x.AgentStatus()
	if s.Running() || !e.Released() {
		return false
	}
	if !s.Stopped() {
		return true
	}
	if err := x.halt(ctx, e, s); err != nil {
		x.g.c.Logger.ErrorContext(ctx, "writing the refusal of a stopped agent's call", "err", err)
	}
	return false
}

// Halted finds out whether the queue refused because of what people have done to
// the agent.
func Halted(err error) (approvals.AgentStatus, bool) {
	if h, ok := errors.AsType[*agents.HaltError](err); ok {
		return h.Status, true
	}
	return approvals.AgentStatus{}, false
}
