package proxy

import (
	"bytes"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
)

// refuseUnsupported refuses a request. Clients that are refused another
// protocol with this status (RFC 9110, section 15.5.22) fall back to HTTP.
func (s *Server) refuseUnsupported(w http.ResponseWriter, r *http.Request, t route.Target, why string) {
	status := http.StatusBadRequest
	if route.Upgrades(r) {
		status = http.StatusUpgradeRequired
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
	}
	s.refuse(w, r, t, status, holdgate.RuleUnsupported, why)
}

// unread takes a model request whose answer no codec could read: it is refused,
// or goes on as a request of no known format where the configuration lets such
// through.
func (e *exchange) unread(why *route.Refusal) {
	if !e.s.c.AllowUnsupported {
		e.reject(http.StatusBadRequest, holdgate.RuleUnsupported, why.Error()+" (`unsupported: allow` in the configuration lets such requests through)")
		return
	}
	e.found(why.Error())
	e.t.Codec = nil
	e.r.Header.Del("Content-Encoding")
	e.r.Body, e.r.ContentLength = io.NopCloser(bytes.NewReader(e.body)), int64(len(e.body))
	e.pass()
}
