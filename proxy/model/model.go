// Package model carries a model's answer to the agent that asked for it, judged part
// by part.
//
// A [Flow] takes a request from its door once that has read and parsed it. The
// request itself is permitted, completed by what the agent does not know (calls that
// were refused, words of people), and sent. The codec cuts the answer into parts, and
// each part that is a call goes through the gate. What comes before the first held
// call flows at once. Everything from there on waits until every call of the answer
// is decided, and goes on in order once the approvals are used.
//
// The same request asked again finds the answer that an earlier connection left. Where
// all calls of an answer were refused, the answer can go on: Holdgate asks the model
// once more, and the client gets one response of both.
package model

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Config is what a [Flow] needs.
type Config struct {
	Gate     *gate.Gate
	Queue    *approvals.Queue
	Digester *holdgate.Digester
	Logger   *slog.Logger
	Options

	Life, Waits context.Context // nothing is read after the one, and nobody waited for after the other
	Running     *sync.WaitGroup // of what goes on without its handler
	Connections Connections
}

// Options are what people can set.
type Options struct {
	Notice      bool          // a line in held answers says who is being asked
	NoRehydrate bool          // notices in later requests stay as they are
	Rounds      int           // how often Holdgate answers the model itself
	Body        int64         // bytes of a whole answer
	Idle        time.Duration // between two signs of life
}

// A Flow takes model requests and their answers through the steps.
type Flow struct {
	c      Config
	parked parkedSet
}

// New returns a Flow.
func New(c Config) *Flow { return &Flow{c: c} }

// Wake begins a shutdown: answers that wait without their handler go on.
func (f *Flow) Wake() { f.parked.wake() }

// Wait waits until none is left of them, after Wake.
func (f *Flow) Wait(ctx context.Context) error { return f.parked.wait(ctx) }

// Close closes the connections of those that are left.
func (f *Flow) Close() { f.parked.close() }

// Connections are those by which clients ask.
type Connections interface {
	// Outlive returns what is left of a request's connection once its handler has
	// returned: a context that knows whose it is, and how to give it back for the
	// client's next request, of which a part may have been read.
	Outlive(r *http.Request) (ctx context.Context, giveBack func(c net.Conn, ahead []byte))
}

// A Door is where a request came in. What it answers goes to w.
type Door interface {
	// Admit reports whether the agent may go on at all. Where it may not, the client
	// has been answered, or has gone.
	Admit(w http.ResponseWriter, r *http.Request) bool
	// Permit takes the request itself through the gate, in the same way.
	Permit(w http.ResponseWriter, r *http.Request, body []byte, q *gate.Evaluation) bool
	// Send sends the request on with this body.
	Send(ctx context.Context, r *http.Request, body []byte) (*http.Response, error)
	// Patience is the time until shortly before the client gives up.
	Patience(r *http.Request) (ctx context.Context, end func())

	// Key names a request, and Account on whose account it is made, and where.
	Key(r *http.Request, body []byte) (holdgate.Digest, error)
	Account(r *http.Request) holdgate.Digest

	// Refuse answers in the format spoken; Reject says in the log why, too; Report
	// only says it in the log; Failed does what an upstream's failure asks for.
	Refuse(w http.ResponseWriter, status int, message string)
	Reject(w http.ResponseWriter, r *http.Request, status int, rule, message string)
	Report(r *http.Request, rule, message string)
	Failed(w http.ResponseWriter, r *http.Request, err error)
}

// A Request is one that a door has read and parsed.
type Request struct {
	Door  Door
	W     http.ResponseWriter
	R     *http.Request
	URL   *url.URL // where it goes
	Codec route.Codec
	From  gate.From
	Asked
	Remark string // what the log says of it besides the decision
}

// Asked is what a request asks for.
type Asked struct {
	Body         []byte
	JSON         *wire.Document // Body, where it was read as JSON
	Call         holdgate.Call
	Stream       bool   // the client wants a stream
	Conversation string // that the provider keeps and the request names, or ""
}

// Parse says what the body of a model request asks for.
func Parse(c route.Codec, path string, body []byte, document *wire.Document) (Asked, error) {
	m, err := c.Request(path, document.Members())
	if err != nil {
		return Asked{}, err
	}
	asked := Asked{Body: body, JSON: document, Call: holdgate.Call{Kind: holdgate.KindModelRequest, Model: m}, Stream: m.Stream}
	if c, ok := c.(route.Converser); ok {
		asked.Conversation = c.Conversation(document)
	}
	return asked, nil
}

// ErrCut says that the client's connection is to be cut: it must see that what it
// has is not the whole.
var ErrCut = errors.New("the answer is cut off")

// Serve takes a request and its answer through the steps. It may return before the
// answer is whole, where that waits for people without its handler. Its error is
// [ErrCut].
func (f *Flow) Serve(r Request) error {
	return (&exchange{f: f, Request: r}).run()
}
