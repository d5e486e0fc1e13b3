package steps

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// ErrCut says that the client's connection is to be cut: it must see that what it
// has is not the whole.
var ErrCut = errors.New("the answer is cut off")

// WriteError answers with an error in the format spoken, or as a problem
// document (RFC 9457) where none is.
func (s *Steps) WriteError(w http.ResponseWriter, t route.Target, status int, message string) {
	var body []byte
	if t.Codec != nil {
		body = t.Codec.Error(status, message)
		w.Header().Set("Content-Type", "application/json")
	} else {
		body, _ = json.Marshal(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": holdgate.Visible(message)}) // of strings and a number: cannot fail
		w.Header().Set("Content-Type", "application/problem+json")
	}
	if status < 500 {
		w.Header().Set("X-Should-Retry", "false") // what the official SDKs heed: a refusal asked again stays one
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// Refused writes to the log what never reached policy.
func (s *Steps) Refused(t route.Target, what, rule, message string) {
	who := t.Caller
	who.Door = t.Door
	s.Gate.Refused(s.Life, who, what, rule, message)
}

// Report writes to the log why a request, or its answer, never reached policy.
func (e *Exchange) Report(rule, message string) {
	e.Steps.Refused(e.Target, e.R.Method+" "+e.Target.URL.Host+e.Target.URL.Path, rule, message)
}

// Reject writes to the log what never reached policy, and answers in the
// format spoken.
func (e *Exchange) Reject(status int, rule, message string) {
	e.Report(rule, message)
	e.Refuse(status, message)
}

// Refuse answers in the format spoken. What was decided is in the log already.
func (e *Exchange) Refuse(status int, message string) {
	e.Steps.WriteError(e.W, e.Target, status, message)
}

// Unable is [gate.Unable] with the log of the steps.
func (s *Steps) Unable(ctx context.Context, what string, err error) string {
	return gate.Unable(ctx, s.Logger, what, err)
}

// Unable refuses a request for which something failed inside Holdgate: its error is for the
// log, and not for the agent.
func (e *Exchange) Unable(what string, err error) {
	e.Refuse(http.StatusServiceUnavailable, e.Steps.Unable(e.R.Context(), what, err))
}

// Malformed refuses an answer that cannot be understood.
func (e *Exchange) Malformed(err error) {
	e.Reject(http.StatusBadGateway, holdgate.RuleMalformed, err.Error())
}

// Failed answers a client whose upstream could not be reached.
func (e *Exchange) Failed(err error) {
	if ae, ok := errors.AsType[*upstream.AddressError](err); ok {
		e.Reject(http.StatusForbidden, holdgate.RuleAddress, ae.Error())
		return
	}
	if e.R.Context().Err() != nil {
		return
	}
	if s := e.AgentStatus(); s.Stopped() {
		e.Reject(e.refusedStatus(), holdgate.RuleStopped, gate.NoticeStopped("The answer to this request was cut off", s))
		return
	}
	e.Steps.Logger.WarnContext(e.R.Context(), "the upstream failed", "host", e.Target.URL.Host, "err", err)
	e.Refuse(http.StatusBadGateway, "the upstream "+e.Target.URL.Host+" failed: "+upstream.Fault(err))
}
