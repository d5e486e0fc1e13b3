package proxy

import (
	"context"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
)

// maxStrange is how many places are remembered that look like a model API's.
const maxStrange = 1024

// A place is where an agent was seen to speak what looks like a model API.
type place struct{ agent, host, path string }

func (e *exchange) place() place {
	return place{e.t.Caller.Agent.ID, route.LowerHost(e.t.URL.Host), route.LaxPath(e.t.URL.Path)}
}

// foundBefore reports whether something at this place has looked like a model API
// before.
func (e *exchange) foundBefore() bool {
	_, known := e.s.strange.Get(e.place())
	return known
}

// found writes to the log, and tells people, that something looks like a model API that no codec
// reads: once for each place, for as long as it is remembered. The log being
// full or broken is no reason to refuse: what is decided of the request is
// written all the same.
func (e *exchange) found(what string) {
	e.seen.looksLike = holdgate.LooksLikeModelAPI
	if known, _ := e.s.strange.ContainsOrAdd(e.place(), struct{}{}); known {
		return
	}
	call := gate.AuditCall(e.call(e.asHTTP()))
	if err := e.s.c.Queue.Find(context.WithoutCancel(e.r.Context()), e.t.Caller, call, holdgate.Bounded(what, 1000)); err != nil {
		e.s.c.Logger.Error("writing a finding to the audit log", "err", err)
	}
}

// spotting returns a reader of an answer's body that looks for calls in it. end
// says to the log that there are some; it must be called. What asked for nothing
// is not searched.
func (e *exchange) spotting(resp *http.Response) (body io.Reader, end func()) {
	if !route.HasBody(e.r) || e.seen.looksLike != "" {
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
func (e *exchange) sniff() bool {
	if route.HasBody(e.r) && e.foundBefore() {
		e.seen.looksLike = holdgate.LooksLikeModelAPI
	}
	finding, refused := route.Sniff(e.w, e.r, &e.t, e.s.c.Limits.Body, e.s.c.AllowUnsupported)
	if refused != nil {
		e.reject(refused.Status, refused.Rule, refused.Error())
		return false
	}
	if finding != "" {
		e.found(finding)
	}
	return true
}
