package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An exchange is one request of an agent and its answer, on its way through
// the steps that the package comment names.
type exchange struct {
	s            *Server
	w            http.ResponseWriter
	r            *http.Request
	t            target
	body         []byte // the request as the client sent it
	sent         []byte // as it goes on, where refused calls were put back; else nil
	x            *gate.Exchange
	conversation string         // that the provider keeps and the request names, or ""
	answers      []wire.Refused // calls in it that have their results in this request
	converses    bool           // the request is of the conversation that people follow

	json *wire.Document // body, where it was read as JSON

	looksLike string // what policy is told of a request of no known format
	action    string // the operation that such a request names itself
	upgrade   string // the protocol that it asks to change to

	remark string    // what the log says of the request besides the decision
	began  time.Time // the client's patience counts from here

	told  bool   // people's words are in sent
	joint *joint // the client's side, where the answer may go on
	round int    // how often it has
}

// exchange takes a request from any door to its end. A panic costs this
// request only. What a door did to find the target has returned by now: people
// may take hours, and until then each connection keeps the stack below the wait.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, t *target) {
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
func (s *Server) enter(w http.ResponseWriter, r *http.Request, t *target) *exchange {
	t.caller = s.caller(r, *t)
	unseen := !t.mcp && t.why != ""
	if unseen && !s.c.AllowUnsupported {
		s.refuseUnsupported(w, r, *t, t.why)
		return nil
	}
	s.c.Queue.Seen(t.caller)
	e := &exchange{s: s, w: w, r: r, t: *t, began: time.Now()}
	if unseen {
		e.found(t.why)
	} else if t.file && s.c.AllowUnsupported {
		e.found(ungated(t.url.Path))
	}
	if !e.withCredential() || t.codec == nil && !t.mcp && !e.look() {
		return nil
	}
	return e
}

// take takes a request through the steps for what it is.
func (e *exchange) take() {
	switch {
	case e.t.mcp:
		e.mcp()
	case e.t.metadata:
		e.metadata()
	case e.t.codec != nil:
		e.model()
	default:
		e.pass()
	}
}

// model takes a model request and its answer through the steps: all that can be
// done without people, and then what is left once they have decided.
func (e *exchange) model() {
	a := &answer{exchange: e, cut: func() {}}
	parked := false
	defer func() {
		if !parked {
			a.end()
		}
	}()
	if a.get() {
		if parked = a.park(); parked {
			return
		}
		a.deliver()
	}
	_ = a.goOn() // nothing of it is stored, so there is no end to record
}

// get reads the request, has it judged and sent, and reports whether something
// of its answer is left to deliver. Otherwise the client has been answered, or
// has gone.
func (a *answer) get() bool {
	asked, stream, rerr := a.asked()
	if rerr != nil && errors.Is(rerr.err, wire.ErrUnsupported) {
		a.unread(rerr)
		return false
	}
	if rerr != nil {
		a.reject(rerr.status, rerr.rule, rerr.Error())
		return false
	}
	if !a.admit() {
		return false
	}
	a.join(stream)
	x, err := a.s.gate.Enter(a.r.Context(), a.from(), a.key)
	if err != nil {
		a.reject(http.StatusServiceUnavailable, holdgate.RuleStore, "the queue cannot be read: "+err.Error())
		return false
	}
	a.x = x
	kept, whole, err := x.Held().Kept(a.r.Context())
	if err != nil {
		a.reject(http.StatusServiceUnavailable, holdgate.RuleStore, "the stored answer cannot be read: "+err.Error())
		return false
	}
	if whole {
		return a.replay(kept, stream)
	}
	a.rehydrate(a.r.Context())
	if m := asked.Model; m != nil {
		if t, err := x.Session(a.s.life); err == nil {
			a.converses = t.Converses(len(m.Tools) > 0)
		}
	}
	a.match(asked.Model)
	if !a.permitted(asked) {
		return false
	}
	if asked.Model != nil {
		x.WentOn(asked.Model)
	}
	return a.ask(stream)
}

// asked reads the request: what it is as a call, and whether it wants a stream.
// One for a stored answer asks no model, and is what it is on any road.
func (e *exchange) asked() (c holdgate.Call, stream bool, rerr *readError) {
	if f, ok := e.t.codec.(Fetcher); ok && f.Fetches(method(e.r), e.t.url.Path) {
		return e.fetched()
	}
	if rerr := e.read(); rerr != nil {
		return c, false, rerr
	}
	m, err := e.t.codec.Request(e.t.url.Path, e.json.Members())
	if err != nil {
		return c, false, &readError{http.StatusBadRequest, holdgate.RuleMalformed, err}
	}
	if c, ok := e.t.codec.(Converser); ok {
		e.conversation = c.Conversation(e.json)
		e.inSessionOf(e.conversation)
	}
	return holdgate.Call{Kind: holdgate.KindModelRequest, Model: m}, m.Stream, nil
}

// fetched reads a request for a stored answer, which has no body.
func (e *exchange) fetched() (c holdgate.Call, stream bool, rerr *readError) {
	body, err := e.readBody(wire.ContentEncoding(e.r.Header))
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		err = errors.New("a request for a stored answer has no body")
	}
	if err != nil {
		return c, false, &readError{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("reading the request: %w", err)}
	}
	return e.asHTTP(), e.t.url.Query().Get("stream") == "true", nil
}

// permit takes the request itself through the gate and says whether it may go on
// now. Where it may not, the client has been answered, with the status where it was
// refused, or has gone. A request that is held is an exchange of its own: what its
// answer will ask for is another matter.
func (e *exchange) permit(q *gate.Evaluation, status int, key gate.Key) bool {
	x := e.s.gate.Begin(e.from(), key)
	defer x.Leave()
	err := x.Pass(e.r.Context(), q, e.inLine)
	unread, _ := errors.AsType[*readError](err)
	waits, _ := errors.AsType[*gate.WaitError](err)
	switch {
	case err == nil && q.Released():
		x.Done(e.r.Context(), true, gate.Remarks("sent upstream", e.remark))
		return true
	case err == nil:
		e.refuse(status, q.Verdict().Notice)
		x.Done(e.r.Context(), true, "refused")
	case waits != nil && e.r.Context().Err() != nil: // the client has gone; what is pending stays
	case waits != nil && waits.Over:
		e.comeBack(x.WaitsFor([]*gate.Evaluation{q}))
	case unread != nil:
		e.reject(unread.status, unread.rule, unread.Error())
	default:
		e.refuse(http.StatusServiceUnavailable, err.Error())
	}
	return false
}

// permitted is [exchange.permit] for a request that its own key names.
func (e *exchange) permitted(c holdgate.Call) bool {
	q := &gate.Evaluation{Call: e.call(c), Remark: e.remark}
	return e.permit(q, http.StatusBadRequest, func() (holdgate.Digest, error) { return e.permitKey(c) })
}

// inLine is the wait before any header has been sent: the client sees a slow
// answer, and shortly before it would give up a status that makes it ask again.
func (e *exchange) inLine(context.Context) (ctx context.Context, end func(), err error) {
	ctx, end = e.patience()
	return ctx, end, nil
}

// patience is the time until shortly before the client gives up, or the server
// shuts down.
func (e *exchange) patience() (ctx context.Context, done func()) {
	ctx, cancel := context.WithDeadline(e.r.Context(), e.began.Add(e.s.budget(e.r)))
	stop := context.AfterFunc(e.s.waits, cancel)
	return ctx, func() { stop(); cancel() }
}

// comeBack answers a client whose patience ends before the person has decided.
// Each status and header here is one on which clients ask again.
func (e *exchange) comeBack(waitingFor string) {
	e.w.Header().Set("Retry-After", "1")
	e.refuse(http.StatusServiceUnavailable, waitingFor+": ask again")
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

// key names the request: its canonical JSON without what differs between a
// request and its retry, where it is for, and on whose account.
func (e *exchange) key() (holdgate.Digest, error) {
	var canon []byte
	if len(e.body) > 0 {
		var err error
		if canon, err = wire.CanonicalWithout(e.body, "stream", "stream_options"); err != nil {
			return "", fmt.Errorf("reading the request for its key: %w", err)
		}
	}
	return e.s.c.Digester.Fields("request", e.r.Method, e.t.url.Scheme, e.t.url.Host, e.t.url.Path, e.t.url.RawQuery, e.credentials(), string(canon)), nil
}

// credentials names the account that the request is made on, so that an answer
// made on one is not picked up by another. It is a keyed digest.
func (e *exchange) credentials() string {
	var fields []string
	for _, name := range upstream.CredentialHeaders {
		for _, v := range e.r.Header.Values(name) {
			fields = append(fields, name, signer(v))
		}
	}
	return string(e.s.c.Digester.Fields("credentials", fields...))
}

// signer is what a credential says of the account. A signature of AWS (Signature
// Version 4) is of one request at one time: the account is its access key.
func signer(credential string) string {
	if !strings.HasPrefix(credential, "AWS4-") {
		return credential
	}
	_, scope, found := strings.Cut(credential, "Credential=")
	key, _, ok := strings.Cut(scope, "/")
	if !found || !ok {
		return credential
	}
	return key
}

// permitKey names the request as something that is itself to be permitted. What
// asks no model is judged as HTTP, where headers say what is asked for.
func (e *exchange) permitKey(c holdgate.Call) (holdgate.Digest, error) {
	k, err := e.key()
	fields := []string{string(k)}
	if c.HTTP != nil {
		fields = append(fields, meaning(e.r.Header))
	}
	return e.s.c.Digester.Fields("permit", fields...), err
}

// from is where the exchange's calls come from.
func (e *exchange) from() gate.From {
	f := gate.From{Caller: e.t.caller, Dir: e.s.dirIn(e.r.Context()), Credential: e.t.credential}
	switch {
	case e.t.mcp:
		f.At = gate.AtServer
	case e.t.codec != nil:
		f.At = gate.InAnswer
	}
	return f
}

// call completes a call with who makes it and where.
func (e *exchange) call(c holdgate.Call) holdgate.Call { return e.from().Call(c) }

// caller says who makes a request. A session is what the client itself names,
// never a gap in time.
func (s *Server) caller(r *http.Request, t target) approvals.Caller {
	c := s.callerIn(r.Context(), t.door)
	for _, h := range sessionHeaders {
		if v := r.Header.Get(h); isSession(v) {
			c.Session.ID = v
			break
		}
	}
	return c
}

// isSession reports whether a client's word can name a session.
func isSession(v string) bool { return v != "" && len(v) <= 128 && printable(v) }

// inSessionOf takes a conversation for the session of a request that names none
// in a header.
func (e *exchange) inSessionOf(conversation string) {
	if e.t.caller.Session.ID == holdgate.SessionDefault && isSession(conversation) {
		e.t.caller.Session.ID = conversation
		e.s.c.Queue.Seen(e.t.caller)
	}
}

// unnamedCaller is who makes a request that names no session and shows nothing.
func (s *Server) unnamedCaller(door string) approvals.Caller {
	c := approvals.Caller{Agent: s.c.Agent, Session: holdgate.Session{ID: holdgate.SessionDefault}, Door: door}
	if c.Agent.ID == "" {
		c.Agent.ID = holdgate.AgentDefault
	}
	return c
}

// sessionHeaders are the names under which clients name their session.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "Session-Id", "Session_id", "Thread-Id", "Conversation_id", "Mcp-Session-Id", "X-Session-Id"}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' })
}
