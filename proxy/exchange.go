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
	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/model"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A request is an exchange on its way through the steps.
type request struct {
	*steps.Exchange
	s     *Server
	whole bool // its body is in Body as it came
}

// run is the promise: what an agent asks for is read once, decided by policy, held where
// people are asked, decided again with what they answered, used once, and sent as it was
// judged. A request of a model's and a message of MCP take the same steps in the same
// order, in flows of their own: in a model's answer each call takes them again before the
// agent has it, and of MCP so do results.
func (e *request) run() error {
	switch {
	case e.Target.Socket:
		return e.s.sockets.Open(e.Exchange)
	case e.Target.Codec != nil:
		return e.model()
	case e.Target.MCP && mcpproxy.Speaks(e.R):
		return e.s.mcp.Serve(e.Exchange)
	case e.Target.Metadata:
		e.s.mcp.ServeMetadata(e.Exchange)
		return nil
	}
	if !e.Admit() { // people have paused or stopped the agent
		return nil
	}
	call := e.parse()    // read as far as it says what it is
	if !e.permit(call) { // decide, hold, use: in the order of gate.Exchange.Pass, for all
		return nil
	}
	out, refused := e.outgoing() // the bytes that were judged
	if refused != nil {
		e.Reject(refused.Status, refused.Rule, refused.Error())
		return nil
	}
	ctx, done := e.Underway()
	defer done()
	answer, err := e.send(ctx, out)
	if err != nil {
		e.Failed(err)
		return nil
	}
	defer answer.Body.Close()
	return e.result(answer)
}

// serve takes a request from any door to its end. What a door did to find the target has
// returned by now: people may take hours, and until then each connection keeps the stack
// below the wait. Its error is [steps.ErrCut]. A panic costs this request only.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, t *route.Target) (err error) {
	r, end := trace.Begin(r, s.c.Tracer, w.Header(), t.Door)
	defer end()
	s.running.Add(1)
	defer s.running.Done()
	defer func() {
		if p := recover(); p != nil {
			s.failed(r, p)
			err = steps.ErrCut // the connection ends without an answer that looks whole
		}
	}()
	if e := s.enter(w, r, t); e != nil {
		return e.run()
	}
	return nil
}

// failed logs a panic over a request.
func (s *Server) failed(r *http.Request, p any) {
	s.c.Logger.ErrorContext(r.Context(), "a request failed inside Holdgate and was refused", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// enter looks who asks and for what. It returns nil where the request has been
// answered.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, t *route.Target) *request {
	t.Caller = s.steps.Callers.Of(r, t.Door)
	trace.From(r.Context(), t.Caller.Agent, t.Caller.Session.ID, t.Name, format(t))
	unseen := !t.MCP && t.Why != ""
	if unseen && !s.c.AllowUnsupported {
		s.refuseUnsupported(w, r, *t, t.Why)
		return nil
	}
	s.c.Queue.Agents.Seen(t.Caller)
	e := &request{Exchange: s.steps.Begin(w, r, *t), s: s}
	if unseen {
		e.found(t.Why)
	} else if t.File && s.c.AllowUnsupported {
		e.found(route.Ungated(t.URL.Path))
	}
	known := e.WithCredential()
	if known && !t.MCP && (t.Codec != nil || s.table.MayServeModels(*t)) {
		e.WithAccount()
	}
	if !known || t.Codec == nil && !t.MCP && !e.sniff() {
		return nil
	}
	return e
}

// format is the model format that a request speaks, or "mcp"; empty where it is neither.
func format(t *route.Target) string {
	switch {
	case t.Codec != nil:
		return t.Codec.Name()
	case t.MCP:
		return "mcp"
	}
	return ""
}

// model reads and parses a model request, and hands it to the flow of models.
func (e *request) model() error {
	asked, refused := e.asked()
	switch {
	case refused == nil:
	case errors.Is(refused.Err, wire.ErrUnsupported) && e.unread(refused):
		return e.run()
	default:
		e.Reject(refused.Status, refused.Rule, refused.Error())
		return nil
	}
	if from := e.From(); from.InConversation(asked.Conversation) {
		e.Target.Caller = from.Caller
		e.s.c.Queue.Agents.Seen(e.Target.Caller)
	}
	return e.s.models.Serve(model.Request{Exchange: e.Exchange, Asked: asked})
}

// asked reads the request: what it is as a call, and whether it wants a stream.
// One for a stored answer asks no model, and is what it is at any endpoint.
func (e *request) asked() (model.Asked, *route.Refusal) {
	if f, ok := e.Target.Codec.(route.Fetcher); ok && f.Fetches(route.Method(e.R), e.Target.URL.Path) {
		return e.fetched()
	}
	document, rerr := e.Read()
	if rerr != nil && !route.HasBody(e.R) { // some APIs take such a request where others ask a model
		if _, err := e.Target.Codec.Request(e.Target.URL.Path, noMembers); errors.Is(err, wire.ErrUnsupported) {
			rerr.Err = err
		}
	}
	if rerr != nil {
		return model.Asked{}, rerr
	}
	asked, err := model.Parse(e.Target.Codec, e.Target.URL.Path, document)
	if err == nil {
		e.AtHost(asked.Call.Model)
	}
	if e.Target.Message != nil && err == nil {
		asked.Stream, asked.Call.Model.Stream = true, true
		e.Until, e.Remark = e.Began.Add(messagePatience), gate.Remarks(e.Remark, "over a WebSocket")
	}
	if err != nil {
		return model.Asked{}, &route.Refusal{Status: http.StatusBadRequest, Rule: holdgate.RuleMalformed, Err: err}
	}
	return asked, nil
}

// messagePatience is how long a client waits for the answer to a message on a WebSocket: it
// gets signs of life all the time.
const messagePatience = 24 * time.Hour

// noMembers are those of a request without a body.
func noMembers(func(wire.Member, error) bool) {}

// fetched reads a request for a stored answer, which has no body.
func (e *request) fetched() (model.Asked, *route.Refusal) {
	body, err := e.ReadBody(wire.ContentEncoding(e.R.Header))
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		err = errors.New("a request for a stored answer has no body")
	}
	if err != nil {
		return model.Asked{}, &route.Refusal{Status: http.StatusBadRequest, Rule: holdgate.RuleMalformed, Err: fmt.Errorf("reading the request: %w", err)}
	}
	return model.Asked{Call: e.AsHTTP(), Stream: e.Target.URL.Query().Get("stream") == "true"}, nil
}
