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
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Config is what a [Flow] needs.
type Config struct {
	*steps.Steps
	Options

	Running     *sync.WaitGroup // of what goes on without its handler
	Connections Connections
}

// Options are what people can set.
type Options struct {
	// Notice puts a line into held answers that says who is being asked.
	Notice bool
	// NoRehydrate leaves notices in later requests as they are. Otherwise they
	// become again the calls in whose place they stood, with results that say
	// that they were refused.
	NoRehydrate bool
	// Rounds is how often Holdgate answers the model itself where all calls of
	// an answer were refused, so that the agent's turn goes on; 0: the agent gets
	// the notices, and its turn ends.
	Rounds int
	Idle   time.Duration // between two signs of life
	// Prices are asked for what an answer has cost; nil: nothing has a price.
	Prices func() holdgate.Prices
	// OnUsed, where it is set, is told what each answer has used. It is called by several
	// goroutines and must be quick.
	OnUsed func(holdgate.Usage)
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
	// returned: a context that knows whose it is and ends when its agent's credential
	// is taken back or done is called, and how to give the connection back for the
	// client's next request, of which a part may have been read.
	Outlive(r *http.Request) (ctx context.Context, done func(), giveBack func(c net.Conn, ahead []byte))
}

// A Request is an exchange whose request has been read and parsed.
type Request struct {
	*steps.Exchange
	Asked
}

// Asked is what a request asks for.
type Asked struct {
	JSON         *wire.Document // the body, where it was read as JSON
	Call         holdgate.Call
	Stream       bool   // the client wants a stream
	Conversation string // that the provider keeps and the request names, or ""
}

// Parse says what the body of a model request asks for.
func Parse(c route.Codec, path string, document *wire.Document) (Asked, error) {
	m, err := c.Request(path, document.Members())
	if err != nil {
		return Asked{}, err
	}
	asked := Asked{JSON: document, Call: holdgate.Call{Kind: holdgate.KindModelRequest, Model: m}, Stream: m.Stream}
	if c, ok := c.(route.Converser); ok {
		asked.Conversation = c.Conversation(path, document)
	}
	return asked, nil
}

// Serve takes a request and its answer through the steps. It may return before the
// answer is whole, where that waits for people without its handler. Its error is
// [steps.ErrCut].
func (f *Flow) Serve(r Request) error {
	return (&exchange{f: f, Request: r}).run()
}
