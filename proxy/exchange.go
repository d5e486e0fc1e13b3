package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/model"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An exchange is one request of an agent and its answer, on its way through
// the steps that the package comment names.
type exchange struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	t      route.Target
	body   []byte // what is judged, and what is sent
	seen   sighting
	remark string    // what the log says of the request besides the decision
	began  time.Time // the client's patience counts from here
}

// A sighting is what policy is told of a request of no known format.
type sighting struct {
	looksLike string // a model API that no codec reads
	action    string // the operation that the request names itself
	upgrade   string // the protocol that it asks to change to
}

// exchange takes a request from any door to its end. A panic costs this
// request only. What a door did to find the target has returned by now: people
// may take hours, and until then each connection keeps the stack below the wait.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, t *route.Target) {
	s.running.Add(1)
	defer s.running.Done()
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http's own sentinel, compared as it does
				panic(p)
			}
			s.c.Logger.Error("a request failed inside Holdgate and was refused", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler) // the connection ends without an answer that looks whole
		}
	}()
	if e := s.enter(w, r, t); e != nil {
		e.take()
	}
}

// enter looks who asks and for what. It returns nil where the request has been
// answered.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, t *route.Target) *exchange {
	t.Caller = s.caller(r, *t)
	unseen := !t.MCP && t.Why != ""
	if unseen && !s.c.AllowUnsupported {
		s.refuseUnsupported(w, r, *t, t.Why)
		return nil
	}
	s.c.Queue.Seen(t.Caller)
	e := &exchange{s: s, w: w, r: r, t: *t, began: time.Now()}
	if unseen {
		e.found(t.Why)
	} else if t.File && s.c.AllowUnsupported {
		e.found(route.Ungated(t.URL.Path))
	}
	if !e.withCredential() || t.Codec == nil && !t.MCP && !e.sniff() {
		return nil
	}
	return e
}

// take takes a request through the steps for what it is.
func (e *exchange) take() {
	switch {
	case e.t.MCP:
		e.mcp()
	case e.t.Metadata:
		e.metadata()
	case e.t.Codec != nil:
		e.model()
	default:
		e.pass()
	}
}

// model reads and parses a model request, and hands it to the flow of models.
func (e *exchange) model() {
	asked, err := e.asked()
	if err != nil && errors.Is(err.Err, wire.ErrUnsupported) {
		e.unread(err)
		return
	}
	if err != nil {
		e.reject(err.Status, err.Rule, err.Error())
		return
	}
	if from := e.from(); from.InConversation(asked.Conversation) {
		e.t.Caller = from.Caller
		e.s.c.Queue.Seen(e.t.Caller)
	}
	r := model.Request{Door: door{e.s, e.t, e.began}, W: e.w, R: e.r, URL: e.t.URL, Codec: e.t.Codec, From: e.from(), Asked: asked, Remark: e.remark}
	if err := e.s.models.Serve(r); err != nil {
		panic(http.ErrAbortHandler) // as net/http wants to be told: the client must not take what it has for the whole
	}
}

// asked reads the request: what it is as a call, and whether it wants a stream.
// One for a stored answer asks no model, and is what it is at any endpoint.
func (e *exchange) asked() (model.Asked, *route.Refusal) {
	if f, ok := e.t.Codec.(route.Fetcher); ok && f.Fetches(route.Method(e.r), e.t.URL.Path) {
		return e.fetched()
	}
	document, rerr := e.read()
	if rerr != nil {
		return model.Asked{}, rerr
	}
	asked, err := model.Parse(e.t.Codec, e.t.URL.Path, e.body, document)
	if err != nil {
		return model.Asked{}, &route.Refusal{Status: http.StatusBadRequest, Rule: holdgate.RuleMalformed, Err: err}
	}
	return asked, nil
}

// fetched reads a request for a stored answer, which has no body.
func (e *exchange) fetched() (model.Asked, *route.Refusal) {
	body, err := e.readBody(wire.ContentEncoding(e.r.Header))
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		err = errors.New("a request for a stored answer has no body")
	}
	if err != nil {
		return model.Asked{}, &route.Refusal{Status: http.StatusBadRequest, Rule: holdgate.RuleMalformed, Err: fmt.Errorf("reading the request: %w", err)}
	}
	return model.Asked{Call: e.asHTTP(), Stream: e.t.URL.Query().Get("stream") == "true"}, nil
}

// from is where the exchange's calls come from.
func (e *exchange) from() gate.From {
	f := gate.From{Caller: e.t.Caller, Dir: e.s.dirIn(e.r.Context()), Credential: e.t.Credential}
	switch {
	case e.t.MCP:
		f.At = gate.AtServer
	case e.t.Codec != nil:
		f.At = gate.InAnswer
	}
	return f
}

// call completes a call with who makes it and where.
func (e *exchange) call(c holdgate.Call) holdgate.Call { return e.from().Call(c) }
