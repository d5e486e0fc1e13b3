package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// standing is whether people let the agent go on.
func (e *exchange) standing() approvals.Standing {
	s, _ := e.s.c.Queue.StandingOf(e.t.caller.Agent.ID, e.t.caller.Session.ID)
	return s
}

// unpaused waits until the agent is not paused: it runs then, or is stopped.
func (e *exchange) unpaused(ctx context.Context) (approvals.Standing, error) {
	for {
		s, changed := e.s.c.Queue.StandingOf(e.t.caller.Agent.ID, e.t.caller.Session.ID)
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

// admit is the step before policy: it reports whether the agent may go on at
// all. The request of a paused agent waits in line, and shortly before its
// client would give up gets a status that makes it ask again. Where admit
// reports false the client has been answered, or has gone.
func (e *exchange) admit() bool {
	if e.standing().Running() {
		return true
	}
	ctx, done := e.patience()
	defer done()
	s, err := e.unpaused(ctx)
	switch {
	case err == nil && s.Running():
		return true
	case err == nil:
		e.reject(e.refusedStatus(), holdgate.RuleStopped, noticeStopped("This request was not sent on", s))
	case e.r.Context().Err() == nil:
		e.w.Header().Set("Retry-After", "1")
		e.reject(http.StatusServiceUnavailable, holdgate.RulePaused, noticeMark+pausedText(s)+": ask again")
	}
	return false
}

// refusedStatus is one on which clients of the format do not ask again.
func (e *exchange) refusedStatus() int {
	if e.t.codec != nil {
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// clear is the last step before anything is released: it waits while the agent
// is paused, and refuses the calls of one that is stopped.
func (e *exchange) clear(ctx context.Context, qs []*question) error {
	s, err := e.unpaused(ctx)
	if err != nil || s.Running() {
		return err
	}
	for _, q := range qs {
		if q.decided && q.verdict.Release {
			if err := e.halt(ctx, q, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// halt refuses a call of an agent that is stopped.
func (e *exchange) halt(ctx context.Context, q *question, s approvals.Standing) error {
	entry, err := e.log.decision(ctx, q, holdgate.Decision{Rule: holdgate.RuleStopped, Reason: "the agent is " + s.String()})
	q.refuse(noticeStopped(fmt.Sprintf("%s (log entry %d)", undone(q.call), entry), s))
	return err
}

// mustWait reports whether a call that may go on must wait, because its agent is
// paused. One whose agent was stopped meanwhile is refused instead.
func (e *exchange) mustWait(ctx context.Context, q *question) bool {
	s := e.standing()
	if s.Running() || !q.decided || !q.verdict.Release {
		return false
	}
	if !s.Stopped() {
		return true
	}
	if err := e.halt(ctx, q, s); err != nil {
		e.s.c.Logger.Error("writing the refusal of a stopped agent's call", "err", err)
	}
	return false
}

// cutWhenStopped ends what is under way when the agent is stopped. Call what it
// returns when there is nothing left to end.
func (e *exchange) cutWhenStopped(cut func()) (forget func()) {
	return e.s.c.Queue.WhenStopped(e.t.caller.Agent.ID, cut)
}

// errStopped ends an answer whose agent is stopped.
var errStopped = errors.New("the agent is stopped")

// orStopped is why an answer broke off, where that is not Holdgate's own doing.
func (e *exchange) orStopped(err error) error {
	if s := e.standing(); s.Stopped() {
		return fmt.Errorf("%w (%s)", errStopped, oneLine(s.String(), maxWords))
	}
	return err
}

// asHalt finds out whether the queue refused because of what people have done
// to the agent.
func asHalt(err error) (approvals.Standing, bool) {
	if h, ok := errors.AsType[*approvals.HaltError](err); ok {
		return h.Standing, true
	}
	return approvals.Standing{}, false
}

// noticeStopped stands in the place of what a stopped agent asked for.
func noticeStopped(what string, s approvals.Standing) string {
	return noticeMark + what + ": this agent was " + oneLine(s.String(), maxWords) + ". Nothing that it asks for is done until a person resumes it. Stop, and tell the user."
}

func pausedText(s approvals.Standing) string {
	return "this agent is " + oneLine(s.String(), 500)
}
