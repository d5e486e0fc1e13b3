package steps

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// AgentStatus is whether people let the agent go on.
func (e *Exchange) AgentStatus() approvals.AgentStatus {
	return e.Steps.Gate.AgentStatus(e.Target.Caller)
}

// Admit is the step before policy: it reports whether the agent may go on at
// all. The request of a paused agent waits in line, and shortly before its
// client would give up gets a status that makes it ask again. Where admit
// reports false the client has been answered, or has gone.
func (e *Exchange) Admit() bool {
	if e.AgentStatus().Running() {
		return true
	}
	ctx, done := e.Patience()
	defer done()
	s, err := e.Steps.Gate.Unpaused(ctx, e.Target.Caller)
	switch {
	case err == nil && s.Running():
		return true
	case err == nil:
		e.Reject(e.refusedStatus(), holdgate.RuleStopped, gate.NoticeStopped("This request was not sent on", s))
	case e.R.Context().Err() == nil:
		e.W.Header().Set("Retry-After", "1")
		e.Reject(http.StatusServiceUnavailable, holdgate.RulePaused, wire.Mark+gate.PausedText(s)+": ask again")
	}
	return false
}

// refusedStatus is one on which clients of the format do not ask again.
func (e *Exchange) refusedStatus() int {
	if e.Target.Codec != nil {
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// Permit takes the request itself through the gate and says whether it may go on
// now. Where it may not, the client has been answered, with the status where it was
// refused, or has gone. A request that is held is an exchange of its own: what its
// answer will ask for is another matter.
func (e *Exchange) Permit(q *gate.Evaluation, status int, key gate.Key) bool {
	x := e.Steps.Gate.Begin(e.From(), key)
	defer x.Leave()
	err := x.Pass(e.R.Context(), q, func(context.Context) (context.Context, func(), error) {
		x.Waits(gate.RungLine, q)
		return e.inLine()
	})
	unread, _ := errors.AsType[*route.Refusal](err)
	waits, _ := errors.AsType[*gate.WaitError](err)
	switch {
	case err == nil && q.Released():
		e.tieAccount()
		x.Done(e.R.Context(), true, gate.Remarks("sent upstream", e.Remark))
		return true
	case err == nil:
		e.Refuse(status, q.Verdict().Notice)
		x.Done(e.R.Context(), true, "refused")
	case waits != nil && e.R.Context().Err() != nil: // the client has gone; what is pending stays
	case waits != nil && waits.Over:
		x.Waits(gate.RungAgain, q)
		e.comeBack(x.WaitsFor([]*gate.Evaluation{q}))
	case unread != nil:
		e.Reject(unread.Status, unread.Rule, unread.Error())
	default:
		e.Unable("the request could not be decided", err)
	}
	return false
}

// Permitted is [Exchange.Permit] for a request that its own key names.
func (e *Exchange) Permitted(c holdgate.Call) bool {
	q := &gate.Evaluation{Call: e.Complete(c), Remark: e.Remark}
	return e.Permit(q, http.StatusBadRequest, func() (holdgate.Digest, error) { return e.permitKey(c) })
}

// inLine is the wait before any header has been sent: the client sees a slow
// answer, and shortly before it would give up a status that makes it ask again. So it does
// where the upstream is gone: an approval must not be used for what cannot be sent.
func (e *Exchange) inLine() (context.Context, func(), error) {
	ctx, done := e.Patience()
	if e.Target.Gone == nil {
		return ctx, done, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.Target.Gone, cancel)
	return ctx, func() { stop(); cancel(); done() }, nil
}

// Patience is the time until shortly before the client gives up, or the server
// shuts down.
func (e *Exchange) Patience() (ctx context.Context, done func()) {
	if e.Waits != nil {
		e.Waits()
	}
	end := e.Began.Add(e.Steps.budgetOf(e.R))
	if !e.Until.IsZero() {
		end = e.Until
	}
	ctx, cancel := context.WithDeadline(e.R.Context(), end)
	ctx, over := e.Steps.Waiting(ctx)
	return ctx, func() { over(); cancel() }
}

// Waiting is ctx for somebody who waits for people: it ends when the server shuts down.
func (s *Steps) Waiting(ctx context.Context) (waiting context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.Waits, cancel)
	return ctx, func() { stop(); cancel() }
}

// comeBack answers a client whose patience ends before the person has decided.
// Each status and header here is one on which clients ask again.
func (e *Exchange) comeBack(waitingFor string) {
	e.W.Header().Set("Retry-After", "1")
	e.Refuse(http.StatusServiceUnavailable, waitingFor+": ask again")
}

// endless are the clients that ask again where a stream ends in order and without
// what its format ends with, and give up where it is cut off; by how their User-Agent
// begins.
var endless = []string{"GeminiCLI", "QwenCode"}

// AsksAfterEnd reports whether the client asks again once its stream has ended in
// order, but without what its format ends with. Others are known, or have to be
// expected, to ask again where it is cut off: to them such an end may look whole.
func AsksAfterEnd(r *http.Request) bool {
	return slices.ContainsFunc(endless, func(agent string) bool { return strings.HasPrefix(r.UserAgent(), agent) })
}

// patience is how long the clients were seen to wait for headers before they
// ask again, less a margin; by how their User-Agent begins. Clients that are
// not here get [Steps.Budget].
var patience = []struct {
	agent string
	wait  time.Duration
}{
	{"GeminiCLI", 50 * time.Second},
	{"google-genai-sdk", 50 * time.Second},
	{"QwenCode", 110 * time.Second},
}

func (s *Steps) budgetOf(r *http.Request) time.Duration {
	ua := r.UserAgent()
	for _, p := range patience {
		if strings.HasPrefix(ua, p.agent) {
			return min(p.wait, s.Budget)
		}
	}
	return s.Budget
}
