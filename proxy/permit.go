package proxy

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// standing is whether people let the agent go on.
func (e *exchange) standing() approvals.Standing { return e.s.gate.Standing(e.t.Caller) }

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
	s, err := e.s.gate.Unpaused(ctx, e.t.Caller)
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
	if e.t.Codec != nil {
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// permit takes the request itself through the gate and says whether it may go on
// now. Where it may not, the client has been answered, with the status where it was
// refused, or has gone. A request that is held is an exchange of its own: what its
// answer will ask for is another matter.
func (e *exchange) permit(q *gate.Evaluation, status int, key gate.Key) bool {
	x := e.s.gate.Begin(e.from(), key)
	defer x.Leave()
	err := x.Pass(e.r.Context(), q, e.inLine)
	unread, _ := errors.AsType[*route.Refusal](err)
	waits, _ := errors.AsType[*gate.WaitError](err)
	switch {
	case err == nil && q.Released():
		x.Done(e.r.Context(), true, gate.Remarks("sent upstream", e.remark))
		return true
	case err == nil:
		e.refuse(status, q.Verdict().Notice)
		x.Done(e.r.Context(), true, "refused")
	case waits != nil && e.r.Context().Err() != nil: // the client has gone; what is pending stays
	case waits != nil && waits.Over:
		e.comeBack(x.WaitsFor([]*gate.Evaluation{q}))
	case unread != nil:
		e.reject(unread.Status, unread.Rule, unread.Error())
	default:
		e.refuse(http.StatusServiceUnavailable, err.Error())
	}
	return false
}

// permitted is [exchange.permit] for a request that its own key names.
func (e *exchange) permitted(c holdgate.Call) bool {
	q := &gate.Evaluation{Call: e.call(c), Remark: e.remark}
	return e.permit(q, http.StatusBadRequest, func() (holdgate.Digest, error) { return e.permitKey(c) })
}

// inLine is the wait before any header has been sent: the client sees a slow
// answer, and shortly before it would give up a status that makes it ask again.
func (e *exchange) inLine(context.Context) (ctx context.Context, end func(), err error) {
	ctx, end = e.patience()
	return ctx, end, nil
}

// patience is the time until shortly before the client gives up, or the server
// shuts down.
func (e *exchange) patience() (ctx context.Context, done func()) {
	ctx, cancel := context.WithDeadline(e.r.Context(), e.began.Add(e.s.budget(e.r)))
	stop := context.AfterFunc(e.s.waits, cancel)
	return ctx, func() { stop(); cancel() }
}

// comeBack answers a client whose patience ends before the person has decided.
// Each status and header here is one on which clients ask again.
func (e *exchange) comeBack(waitingFor string) {
	e.w.Header().Set("Retry-After", "1")
	e.refuse(http.StatusServiceUnavailable, waitingFor+": ask again")
}
