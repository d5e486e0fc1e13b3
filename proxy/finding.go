package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
)

// maxStrange is how many places are remembered that look like a model API's.
const maxStrange = 1024

// A place is where an agent was seen to speak what looks like a model API.
type place struct{ agent, host, path string }

func (e *request) place() place {
	return place{e.Target.Caller.Agent.ID, route.LowerHost(e.Target.URL.Host), route.LaxPath(e.Target.URL.Path)}
}

// foundBefore reports whether something at this place has looked like a model API
// before.
func (e *request) foundBefore() bool {
	_, known := e.s.strange.Get(e.place())
	return known
}

// found writes to the log, and tells people, that something looks like a model API that no codec
// reads: once for each place, for as long as it is remembered.
func (e *request) found(what string) {
	e.Facts.LooksLike = holdgate.LooksLikeModelAPI
	if known, _ := e.s.strange.ContainsOrAdd(e.place(), struct{}{}); known {
		return
	}
	e.s.steps.Find(e.R.Context(), e.Target.Caller, e.Complete(e.AsHTTP()), holdgate.Bounded(what, 1000))
}

// spotting returns a reader of an answer's body that looks for calls in it. end
// says to the log that there are some; it must be called. What asked for nothing
// is not searched.
func (e *request) spotting(resp *http.Response) (body io.Reader, end func()) {
	if !route.HasBody(e.R) || e.Facts.LooksLike != "" {
		return resp.Body, func() {}
	}
	body, found := route.Spot(resp)
	return body, func() {
		if found() {
			e.found("the answer holds what looks like tool calls of a model, in no format that is read here")
		}
	}
}

// sniff finds out what a request is that no format's path names. It reports false
// where the client has been answered.
func (e *request) sniff() bool {
	if route.HasBody(e.R) && e.foundBefore() {
		e.Facts.LooksLike = holdgate.LooksLikeModelAPI
	}
	finding, refused := route.Sniff(e.W, e.R, &e.Target, e.s.c.Limits.Body, e.s.c.AllowUnsupported)
	if refused != nil {
		e.Reject(refused.Status, refused.Rule, refused.Error())
		return false
	}
	if finding != "" {
		e.found(finding)
	}
	return true
}

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

// unread makes a request of no known format of a model request whose answer no codec
// could read, and reports true, where the configuration lets such through. Else it says
// in the refusal how to.
func (e *request) unread(why *route.Refusal) bool {
	if !e.s.c.AllowUnsupported {
		why.Status, why.Rule = http.StatusBadRequest, holdgate.RuleUnsupported
		why.Err = fmt.Errorf("%w (`unsupported: allow` in the configuration lets such requests through)", why.Err)
		return false
	}
	e.found(why.Error())
	e.Target.Codec = nil
	e.R.Header.Del("Content-Encoding")
	e.R.Body, e.R.ContentLength = io.NopCloser(bytes.NewReader(e.Body)), int64(len(e.Body))
	return true
}
