package proxy

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// standing is whether people let the agent go on.
func (e *exchange) standing() approvals.Standing { return e.s.gate.Standing(e.t.caller) }

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
	s, err := e.s.gate.Unpaused(ctx, e.t.caller)
	switch {
	case err == nil && s.Running():
		return true
	case err == nil:
		e.reject(e.refusedStatus(), holdgate.RuleStopped, gate.NoticeStopped("This request was not sent on", s))
	case e.r.Context().Err() == nil:
		e.w.Header().Set("Retry-After", "1")
		e.reject(http.StatusServiceUnavailable, holdgate.RulePaused, wire.Mark+gate.PausedText(s)+": ask again")
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

// errStopped ends an answer whose agent is stopped.
var errStopped = errors.New("the agent is stopped")

// orStopped is why an answer broke off, where that is not Holdgate's own doing.
func (e *exchange) orStopped(err error) error {
	if s := e.standing(); s.Stopped() {
		return fmt.Errorf("%w (%s)", errStopped, holdgate.OneLine(s.String(), gate.MaxWords))
	}
	return err
}
