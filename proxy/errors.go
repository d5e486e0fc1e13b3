package proxy

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

// refuse writes to the log why something never reached policy, and answers in
// the format spoken.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, t route.Target, status int, rule, message string) {
	s.refused(s.life, t, r.Method+" "+t.URL.Host+t.URL.Path, rule, message)
	s.writeError(w, t, status, message)
}

// refuseHTTP is refuse for a request that names no target.
func (s *Server) refuseHTTP(w http.ResponseWriter, r *http.Request, status int, rule, message string) {
	t := route.Target{Door: route.DoorForward, URL: r.URL}
	if tun, ok := r.Context().Value(tunnelKey{}).(*tunnel); ok {
		t.Door = tun.door
	}
	t.Caller = s.caller(r, t)
	if rule != "" {
		s.refused(s.life, t, r.Method+" "+r.Host+r.URL.Path, rule, message)
	}
	s.writeError(w, t, status, message)
}

// writeError answers with an error in the format spoken, or as a problem
// document (RFC 9457) where none is.
func (s *Server) writeError(w http.ResponseWriter, t route.Target, status int, message string) {
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

// refused writes to the log what never reached policy.
func (s *Server) refused(ctx context.Context, t route.Target, what, rule, message string) {
	who := t.Caller
	who.Door = t.Door
	s.gate.Refused(ctx, who, what, rule, message)
}

// reject writes to the log what never reached policy, and answers in the
// format spoken.
func (e *exchange) reject(status int, rule, message string) {
	e.s.refuse(e.w, e.r, e.t, status, rule, message)
}

// refuse answers in the format spoken. What was decided is in the log already.
func (e *exchange) refuse(status int, message string) {
	e.s.writeError(e.w, e.t, status, message)
}

// malformed refuses an answer that cannot be understood.
func (e *exchange) malformed(err error) {
	e.reject(http.StatusBadGateway, holdgate.RuleMalformed, err.Error())
}

// upstreamFailed answers a client whose upstream could not be reached.
func (e *exchange) upstreamFailed(err error) {
	if ae, ok := errors.AsType[*upstream.AddressError](err); ok {
		e.reject(http.StatusForbidden, holdgate.RuleAddress, ae.Error())
		return
	}
	if e.r.Context().Err() != nil {
		return
	}
	if s := e.standing(); s.Stopped() {
		e.reject(e.refusedStatus(), holdgate.RuleStopped, gate.NoticeStopped("The answer to this request was cut off", s))
		return
	}
	e.s.c.Logger.Warn("the upstream failed", "host", e.t.URL.Host, "err", err)
	e.refuse(http.StatusBadGateway, "the upstream "+e.t.URL.Host+" failed: "+upstream.Fault(err))
}
