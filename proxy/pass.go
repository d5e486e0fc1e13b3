package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// passBuffer is how much of a request body is read before it is sent on. A
// body that fits is sent from memory: an upstream that answers before it has
// read the request then finds no connection half written.
const passBuffer = 1 << 20

// pass judges a request that speaks no known format and passes it on.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, t target) {
	e := &exchange{s: s, w: w, r: r, t: t, log: s.newLog(t, nil)}
	// The answer may begin while the body is still being read (RFC 9112
	// section 9.3 allows it); HTTP/2 can do so anyway.
	_ = http.NewResponseController(w).EnableFullDuplex()
	q := &question{call: e.call(holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: &holdgate.HTTP{
		Method: r.Method, Scheme: t.url.Scheme, Host: t.url.Host, Path: t.url.Path, Query: t.url.RawQuery,
	}})}
	d := e.judge(q)
	if d.Action == holdgate.Hold {
		body, err := readBody(r.Body, "", r.ContentLength, s.c.Limits.Body)
		if err != nil {
			status, rule := http.StatusBadRequest, holdgate.RuleMalformed
			if errors.Is(err, wire.ErrTooLarge) {
				status, rule = http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge
			}
			s.refuse(w, r, t, status, rule, "a held request must be read whole: "+err.Error())
			return
		}
		e.body = body
		key := func() (holdgate.Digest, error) {
			return s.c.Digester.Fields("http_request", r.Method, t.url.String(), r.Header.Get("Content-Type"), string(body)), nil
		}
		if !e.heldBefore(key, q, d, http.StatusForbidden) {
			return
		}
		e.forward(bytes.NewReader(body), int64(len(body)))
		return
	}
	if err := e.settled(r.Context(), q, d); err != nil {
		e.refuse(http.StatusServiceUnavailable, err.Error())
		return
	}
	if !q.verdict.Release {
		e.refuse(http.StatusForbidden, q.verdict.Notice)
		return
	}
	e.forwardBody()
}

// forwardBody sends the request on, its body from memory where it is small.
func (e *exchange) forwardBody() {
	r := e.r
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		e.forward(nil, 0)
		return
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, passBuffer))
	if err != nil {
		e.refuse(http.StatusBadRequest, "reading the request: "+err.Error())
		return
	}
	if len(head) < passBuffer {
		e.forward(bytes.NewReader(head), int64(len(head)))
		return
	}
	e.forward(io.MultiReader(bytes.NewReader(head), r.Body), r.ContentLength)
}

// forward sends a request and streams the answer back as it comes.
func (e *exchange) forward(body io.Reader, length int64) {
	ctx, cancel := context.WithCancel(e.r.Context())
	defer cancel()
	stop := context.AfterFunc(e.s.life, cancel)
	defer stop()
	req := &http.Request{
		Method: e.r.Method, URL: e.t.url, Host: e.t.url.Host, Header: copyHeader(e.r.Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: length,
	}
	if body != nil && length != 0 {
		req.Body = io.NopCloser(body)
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header["User-Agent"] = nil
	}
	resp, err := e.s.transportFor(e.t).RoundTrip(req.WithContext(ctx))
	if err != nil {
		e.upstreamFailed(err)
		return
	}
	defer resp.Body.Close()
	h := e.w.Header()
	for k, v := range copyHeader(resp.Header) {
		h[k] = v
	}
	e.w.WriteHeader(resp.StatusCode)
	if err := copyFlushing(e.w, resp.Body, resp.ContentLength < 0); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	}
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
