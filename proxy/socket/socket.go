// Package socket carries models' answers on WebSockets (RFC 6455). Each message of the
// client's is a request, and takes the steps that the same request takes over HTTP. Its
// answer comes as messages of the provider's: they go through the format's codec as a
// stream of events, and what the codec lets on reaches the client, a message for each event.
//
// A connection is opened only where policy allows it at once, and after the upstream has
// opened one of its own. Otherwise the client is told to use HTTP, where the request itself
// is judged. No extension and no subprotocol is agreed on, so that messages are what they
// look like. A message that is not understood is refused and never passed; what cannot be
// told apart from the next answer ends the connection.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Sockets serves requests that ask for a WebSocket.
type Sockets struct {
	Serve func(http.ResponseWriter, *http.Request, *route.Target) error // a request, through the steps
	Idle  time.Duration                                                 // between two signs of life

	mu   sync.Mutex
	open map[string]int // how many each agent has
}

// openTimeout is how long an upstream may take to open a connection. Clients wait for 15 s.
const openTimeout = 12 * time.Second

// Open serves a request for a WebSocket, until the connection ends. Its error is
// [steps.ErrCut].
func (s *Sockets) Open(e *steps.Exchange) error {
	talker, ok := e.Target.Codec.(route.Talker)
	switch {
	case !ok || upstream.UpgradeOf(e.R) == "":
		useHTTP(e, "a request to upgrade this connection is refused: it asks for no WebSocket, or has a body")
		return nil
	case e.Target.Credential != "":
		useHTTP(e, "no WebSocket is opened with a credential that Holdgate puts in, for it could come back in pieces: use HTTP")
		return nil
	case !e.Admit():
		return nil
	}
	agent := e.Target.Caller.Agent.ID
	if !s.take(agent) {
		e.Reject(http.StatusTooManyRequests, holdgate.RuleQuota, fmt.Sprintf("this agent has %d WebSockets to models open: close one, or use HTTP", maxSockets))
		return nil
	}
	defer s.leave(agent)
	if !permitted(e) {
		useHTTP(e, "no WebSocket is opened, for policy does not allow every request to a model: use HTTP, where each request is judged by what it asks for")
		return nil
	}
	up, header := s.dial(e)
	if up == nil {
		return nil
	}
	defer up.CloseNow()
	for name, values := range header {
		e.W.Header()[name] = values
	}
	client, err := websocket.Accept(e.W, e.R, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil { // it has been answered
		e.Report(holdgate.RuleMalformed, err.Error())
		return nil
	}
	defer client.CloseNow()
	c := newConnection(s, e, talker.Talk(), client, up)
	return c.run()
}

// permitted reports whether policy allows a request to a model of which nothing is known yet.
// The decision is in the log before anything is sent. What it would hold is not asked about:
// each message is judged by itself, and so is each request over HTTP. Where people would be asked
// about the host itself, the client has to ask over HTTP.
func permitted(e *steps.Exchange) bool {
	question := holdgate.Call{Kind: holdgate.KindModelRequest, Model: &holdgate.Model{Provider: "openai", Stream: true}}
	e.AtHost(question.Model)
	asks := !e.Target.Known || e.Target.Account == steps.AccountNew // to open it tells the host something already
	q := &gate.Evaluation{Call: e.Complete(question), Later: asks, Remark: gate.Remarks(e.Remark, "opens a WebSocket to "+holdgate.OneLine(e.Target.URL.Host+e.Target.URL.Path, 200))}
	err := e.Steps.Gate.Begin(e.From(), nil).Pass(e.R.Context(), q, gate.Later)
	return err == nil && q.Released()
}

// maxSockets is how many WebSockets one agent may have open.
const maxSockets = 32

func (s *Sockets) take(agent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[agent] == maxSockets {
		return false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[agent]++
	return true
}

func (s *Sockets) leave(agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[agent]--; s.open[agent] == 0 {
		delete(s.open, agent)
	}
}

// dial opens the upstream's connection, and returns what its answer says besides. Where it
// fails the client has been answered.
func (s *Sockets) dial(e *steps.Exchange) (*websocket.Conn, http.Header) {
	ctx, cancel := context.WithTimeout(e.R.Context(), openTimeout)
	defer cancel()
	h := upstream.Outgoing(e.R, e.Target.URL).Header
	withoutHandshake(h)
	client := &http.Client{Transport: e.Transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	up, resp, err := websocket.Dial(ctx, e.Target.URL.String(), &websocket.DialOptions{HTTPClient: client, HTTPHeader: h, CompressionMode: websocket.CompressionDisabled})
	if err == nil {
		header := wire.EndToEnd(resp.Header)
		withoutHandshake(header)
		for _, name := range []string{"Content-Length", "Content-Type", "Content-Encoding", "Date"} {
			header.Del(name)
		}
		return up, header
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the address may hold a key
	}
	switch {
	case e.R.Context().Err() != nil:
	case resp == nil && isAddress(err):
		e.Failed(err)
	case resp == nil:
		e.Steps.Logger.WarnContext(ctx, "the upstream opened no WebSocket", "host", e.Target.URL.Host, "err", err)
		useHTTP(e, "the upstream "+e.Target.URL.Host+" opened no WebSocket: "+upstream.Fault(err)+": use HTTP")
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusTooManyRequests:
		if after := resp.Header.Get("Retry-After"); after != "" {
			e.W.Header().Set("Retry-After", after)
		}
		e.Refuse(resp.StatusCode, fmt.Sprintf("the upstream %s answered a request for a WebSocket with status %d", e.Target.URL.Host, resp.StatusCode))
	default:
		useHTTP(e, fmt.Sprintf("the upstream %s opened no WebSocket, and answered with status %d: use HTTP", e.Target.URL.Host, resp.StatusCode))
	}
	return nil, nil
}

func isAddress(err error) bool {
	_, is := errors.AsType[*upstream.AddressError](err)
	return is
}

// useHTTP refuses a WebSocket with the status on which clients fall back to HTTP (RFC 9110,
// section 15.5.22).
func useHTTP(e *steps.Exchange, why string) {
	e.W.Header().Set("Upgrade", "HTTP/1.1")
	e.W.Header().Set("Connection", "Upgrade")
	e.Refuse(http.StatusUpgradeRequired, why)
}

// withoutHandshake takes away what is agreed on for one connection.
func withoutHandshake(h http.Header) {
	for _, name := range []string{"Key", "Version", "Extensions", "Protocol", "Accept"} {
		h.Del("Sec-Websocket-" + name)
	}
}
