// Package steps has what requests of all kinds have in common on their way: who asks and
// whether the agent may go on at all ([Exchange.Admit]), the request itself through the
// gate ([Exchange.Permit]), its bytes read once and sent as they were judged
// ([Exchange.Read], [Exchange.Send]), and what a client is told that gets no answer of its
// upstream's. Which kind takes which of them in which order is the business of the
// packages above.
package steps

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An Exchange is one request of an agent and its answer. It is for one goroutine at a
// time.
type Exchange struct {
	Steps  *Steps
	W      http.ResponseWriter
	R      *http.Request
	Target route.Target
	Body   []byte // what is judged, and what is sent
	Facts  Facts
	Remark string    // what the log says of the request besides the decision
	Began  time.Time // the client's patience counts from here
	Until  time.Time // when the client is to be answered at the latest; zero: nobody knows
	Waits  func()    // is called when people are waited for; nil: nobody wants to know
}

// Facts are what policy is told of a request of no known format.
type Facts struct {
	LooksLike string // a model API that no codec reads
	Action    string // the operation that the request names itself
	Upgrade   string // the protocol that it asks to change to
}

// Steps is what the requests of a server have in common. It is not changed once it is
// in use.
type Steps struct {
	Gate      *gate.Gate
	Out       *upstream.Network
	Callers   caller.Finder
	Queue     *approvals.Queue
	Digester  *holdgate.Digester
	Operation func(*holdgate.HTTP) string // what a request does, as policy calls it
	Logger    *slog.Logger

	accounts    accounts
	Body        int64           // bytes of a request, decoded
	Budget      time.Duration   // how long a client without headers waits that is not in the table
	Life, Waits context.Context // nothing is read after the one, and nobody waited for after the other

	// OnAnswered, where it is set, is told of each request that was sent on. It is
	// called by several goroutines and must be quick.
	OnAnswered func(Answered)
}

// Begin begins an exchange of a caller that is known.
func (s *Steps) Begin(w http.ResponseWriter, r *http.Request, t route.Target) *Exchange {
	return &Exchange{Steps: s, W: w, R: r, Target: t, Began: time.Now()}
}

// From is where the exchange's calls come from.
func (e *Exchange) From() gate.From {
	f := gate.From{Caller: e.Target.Caller, Dir: e.Steps.Callers.DirIn(e.R.Context()), Credential: e.Target.Credential, Account: e.Target.Account}
	switch {
	case e.Target.MCP:
		f.At = gate.AtServer
	case e.Target.Codec != nil:
		f.At, f.Task, f.Turns = gate.InAnswer, e.task, e.turns
	}
	return f
}

// task is what the agent's user has asked it for.
func (e *Exchange) task() string {
	said := wire.LastUser(e.Body)
	if m := e.Target.Message; m != nil && said == "" {
		return m.Task
	}
	return said
}

// turns is what the agent's user has said in the conversation, in order.
func (e *Exchange) turns() []string { return wire.UserTurns(e.Body) }

// Complete completes a call with who makes it and where.
func (e *Exchange) Complete(c holdgate.Call) holdgate.Call { return e.From().Call(c) }

// AsHTTP is the request as a call of no known format. Its host is written in one
// way, in lower case and without the root's dot, so that a rule knows it.
func (e *Exchange) AsHTTP() holdgate.Call {
	u := e.Target.URL
	h := &holdgate.HTTP{Method: e.R.Method, Scheme: u.Scheme, Host: e.host(), Path: u.Path, Query: u.RawQuery, LooksLike: e.Facts.LooksLike}
	h.MethodOverride, h.Unresolved = route.TwoReadings(e.R.Method, u, e.R.Header)
	h.Action, h.Upgrade = e.Facts.Action, e.Facts.Upgrade
	h.Operation = e.Steps.Operation(h)
	return holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: h}
}

// AtHost says in a request to a model where it is asked.
func (e *Exchange) AtHost(m *holdgate.Model) {
	m.Host, m.HostKnown = e.host(), e.Target.Known
}

// host is written in one way, in lower case and without the root's dot.
func (e *Exchange) host() string {
	u := e.Target.URL
	return route.TrimDefaultPort(u.Scheme, route.WithPort(u.Scheme, u.Host))
}

// Read reads the request's body, whole, decoded and checked. It is what will be
// judged and what will be sent: from here on there is no other copy.
func (e *Exchange) Read() (*wire.Document, *route.Refusal) {
	body, document, refused := route.ReadRequest(e.W, e.R, e.Steps.Body)
	if refused != nil {
		return nil, refused
	}
	e.Body = body
	return document, nil
}

// ReadBody reads a body of at most Limits.Body decoded bytes.
func (e *Exchange) ReadBody(encoding string) ([]byte, error) {
	return route.ReadBody(e.W, e.R, encoding, e.Steps.Body)
}
