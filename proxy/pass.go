package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// pass takes a request that speaks no known format through the gate and passes it on.
func (e *exchange) pass() {
	if !e.admit() {
		return
	}
	// The answer may begin while the body is still being read (RFC 9112
	// section 9.3 allows it); HTTP/2 can do so anyway.
	_ = http.NewResponseController(e.w).EnableFullDuplex()
	e.seen.action, e.seen.upgrade = route.ReadAction(e.w, e.r, e.t.URL, e.s.c.Limits.Body), upstream.UpgradeOf(e.r)
	q := &gate.Evaluation{Call: e.call(e.asHTTP()), Remark: e.remark}
	if e.seen.upgrade != "" {
		q.Remark = gate.Remarks(q.Remark, upstream.UnseenFrames)
	}
	read := false
	if !e.permit(q, http.StatusForbidden, func() (holdgate.Digest, error) {
		read = true
		return e.passKey()
	}) {
		return
	}
	if !read {
		e.forwardBody()
		return
	}
	req := upstream.Outgoing(e.r, e.t.URL)
	upstream.Carry(req, e.body)
	e.forward(req)
}

// passKey names a request that is held by all that is sent of it. So it is read
// whole now, as it came: nobody looks into it.
func (e *exchange) passKey() (holdgate.Digest, error) {
	body, err := e.readBody("")
	if err != nil {
		rerr := &route.Refusal{Status: http.StatusBadRequest, Rule: holdgate.RuleMalformed, Err: fmt.Errorf("a held request must be read whole: %w", err)}
		if errors.Is(err, wire.ErrTooLarge) {
			rerr.Status, rerr.Rule = http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge
		}
		return "", rerr
	}
	e.body = body
	return e.s.c.Digester.Fields("http_request", e.r.Method, e.t.URL.String(), e.credentials(), route.Meaning(e.r.Header), e.seen.upgrade, string(body)), nil
}

// asHTTP is the request as a call of no known format. Its host is written in one
// way, in lower case and without the root's dot, so that a rule knows it.
func (e *exchange) asHTTP() holdgate.Call {
	u := e.t.URL
	h := &holdgate.HTTP{Method: e.r.Method, Scheme: u.Scheme, Host: route.TrimDefaultPort(u.Scheme, route.WithPort(u.Scheme, u.Host)), Path: u.Path, Query: u.RawQuery, LooksLike: e.seen.looksLike}
	h.MethodOverride, h.Unresolved = route.TwoReadings(e.r.Method, u, e.r.Header)
	h.Action, h.Upgrade = e.seen.action, e.seen.upgrade
	h.Operation = e.s.c.Engine.Operation(h)
	return holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: h}
}

// forwardBody sends the request on, its body from memory where it is small. A
// body of unknown length may be one half of a conversation: it is passed on as
// it comes.
func (e *exchange) forwardBody() {
	r, req := e.r, upstream.Outgoing(e.r, e.t.URL)
	switch {
	case r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody:
	case r.ContentLength > 0 && r.ContentLength <= min(route.PassBuffer, e.s.c.Limits.Body):
		body, err := e.readBody("")
		if err != nil {
			e.reject(http.StatusBadRequest, holdgate.RuleMalformed, "reading the request: "+err.Error())
			return
		}
		upstream.Carry(req, body)
	default:
		req.Body, req.ContentLength = io.NopCloser(r.Body), r.ContentLength
		if len(r.Trailer) > 0 {
			req.Trailer = r.Trailer // filled in when the body has been read
		}
	}
	e.forward(req)
}

// forward sends a request and streams the answer back as it comes.
func (e *exchange) forward(req *http.Request) {
	ctx, cancel := context.WithCancel(e.r.Context())
	defer cancel()
	stop := context.AfterFunc(e.s.life, cancel)
	defer stop()
	defer e.s.gate.WhenStopped(e.t.Caller, cancel)()
	file := e.t.File && !e.s.c.AllowUnsupported
	if file {
		wholeFile(req.Header)
	}
	if wantsTrailers(e.r.Header) {
		req.Header.Set("Te", "trailers")
	}
	if e.seen.upgrade != "" {
		upstream.AskUpgrade(req.Header)
	}
	resp, err := e.transport().RoundTrip(req.WithContext(ctx))
	if err != nil {
		e.upstreamFailed(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if err := upstream.ChangeProtocol(e.w, resp, e.seen.upgrade, e.untilEnded); err != nil {
			e.malformed(err)
		}
		return
	}
	if file && resp.StatusCode/100 <= 3 {
		e.passFile(resp)
		return
	}
	h := wire.EndToEnd(resp.Header)
	for name := range resp.Trailer {
		h.Add("Trailer", name)
	}
	wire.WriteHeader(e.w, resp.StatusCode, h)
	body, end := e.spotting(resp)
	defer end()
	if err := copyFlushing(e.w, body, resp.ContentLength < 0); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	}
	for name, v := range resp.Trailer {
		e.w.Header()[name] = v
	}
}

// wantsTrailers reports whether the client takes trailers, which is the one
// thing in TE that is not of one connection only: gRPC needs it.
func wantsTrailers(h http.Header) bool {
	for _, v := range h.Values("Te") {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), "trailers") {
				return true
			}
		}
	}
	return false
}

// copyFlushing copies what comes as it comes: an answer of unknown length may
// be a stream of any format.
func copyFlushing(w http.ResponseWriter, src io.Reader, flush bool) error {
	if !flush {
		_, err := io.Copy(w, src)
		return err
	}
	rc := http.NewResponseController(w)
	if err := rc.Flush(); err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, rerr := src.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := rc.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(rerr, io.EOF):
			return nil
		case rerr != nil:
			return rerr
		}
	}
}
