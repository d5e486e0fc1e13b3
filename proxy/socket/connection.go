package socket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A connection is a client's WebSocket, with the upstream's that belongs to it. One answer
// is under way at a time: the next request waits until it has ended.
type connection struct {
	s      *Sockets
	e      *steps.Exchange // the request that opened it
	talk   wire.Talk
	client *websocket.Conn
	up     *websocket.Conn

	asks    chan []byte // messages of the client's
	events  chan []byte // messages of the upstream's; closed once it has ended
	upEnded error       // why it has; set before events is closed
	upGone  context.Context
	upGoes  context.CancelFunc // ends upGone
	early   [][]byte           // what came between two answers, and goes to the next one
	broken  atomic.Bool        // an answer was not read to its end: what comes next could belong to it
	odd     oddities
}

const (
	// messageTimeout is how long a client may take to send a message, as it may for a body.
	messageTimeout = 2 * time.Minute
	// maxBeside is how long a message may be, in bytes, that comes while one is in line.
	maxBeside = 1 << 10
	// maxIdle is how long a connection stays open on which nothing is asked: providers close
	// theirs by then.
	maxIdle = time.Hour
)

// maxEarly is how many messages may come between two answers.
const maxEarly = 16

func newConnection(s *Sockets, e *steps.Exchange, talk wire.Talk, client, up *websocket.Conn) *connection {
	client.SetReadLimit(e.Steps.Body)
	up.SetReadLimit(wire.DefaultEventLimit)
	gone, goes := context.WithCancel(context.Background())
	return &connection{upGone: gone, upGoes: goes, s: s, e: e, talk: talk, client: client, up: up, asks: make(chan []byte, 1), events: make(chan []byte, maxEarly)}
}

// run serves messages until one side leaves, Holdgate ends, people stop the agent, or its
// credential is taken back.
func (c *connection) run() error {
	here, gone := context.WithCancel(c.e.R.Context()) // until the client leaves
	defer gone()
	alive, end := context.WithCancel(context.WithoutCancel(here)) // until nothing is left to read
	var readers sync.WaitGroup
	defer readers.Wait()
	defer end()
	defer context.AfterFunc(c.e.R.Context(), end)()
	readers.Go(func() {
		defer gone()
		c.readClient(alive)
	})
	readers.Go(func() { c.readUpstream(alive) })

	idle, over := context.WithCancel(here) // until no further message is served
	defer over()
	defer context.AfterFunc(c.e.Steps.Waits, over)()
	defer c.e.Steps.Gate.WhenStopped(c.e.Target.Caller, over)()
	quiet := time.AfterFunc(maxIdle, over)
	defer quiet.Stop()
	for {
		// A closed connection is told from a message that came before.
		select {
		case <-idle.Done():
			return c.end(here)
		default:
		}
		select {
		case <-idle.Done():
			return c.end(here)
		case message := <-c.asks:
			quiet.Stop()
			if goesOn, err := c.serve(here, alive, message); !goesOn {
				return err
			}
			quiet.Reset(maxIdle)
		case event, ok := <-c.events:
			if !ok {
				c.close(websocket.StatusGoingAway, "holdgate: the upstream has closed its connection")
				return nil
			}
			if c.talk.Between(event) && len(c.early) < maxEarly {
				c.early = append(c.early, event)
				continue
			}
			c.e.Report(holdgate.RuleMalformed, fmt.Sprintf("the upstream sent a message of %d bytes that belongs to no answer: the WebSocket was closed", len(event)))
			c.close(websocket.StatusPolicyViolation, "holdgate: the upstream sent what belongs to no answer")
			return nil
		}
	}
}

// end says to a client that is still there why it is served no longer.
func (c *connection) end(here context.Context) error {
	switch {
	case here.Err() != nil:
	case c.e.AgentStatus().Stopped():
		c.close(websocket.StatusPolicyViolation, "holdgate: people have stopped this agent")
	default:
		c.close(websocket.StatusServiceRestart, "holdgate ends")
	}
	return nil
}

// close closes the client's connection with a reason of at most 123 bytes.
func (c *connection) close(code websocket.StatusCode, reason string) {
	_ = c.client.Close(code, reason)
}

// readClient reads what the client sends until it leaves.
func (c *connection) readClient(ctx context.Context) {
	for {
		c.client.SetReadLimit(c.e.Steps.Body)
		if len(c.asks) > 0 {
			c.client.SetReadLimit(maxBeside)
		}
		typ, message, err := c.read(ctx)
		switch {
		case err != nil:
			if tooBig(err) {
				c.e.Report(holdgate.RuleTooLarge, fmt.Sprintf("a message on a WebSocket is larger than %d bytes: raise limits.body, or send less", c.e.Steps.Body))
			}
			return
		case typ != websocket.MessageText:
			c.violated(websocket.StatusUnsupportedData, "a message on the WebSocket is binary: text is understood")
			return
		case !utf8.Valid(message):
			c.violated(websocket.StatusInvalidFramePayloadData, "a message on the WebSocket is not in UTF-8")
			return
		}
		select {
		case c.asks <- message:
		default:
			c.violated(websocket.StatusPolicyViolation, "more requests wait on the WebSocket than one: wait for the answer")
			return
		}
	}
}

// read reads a message, which must end soon after it has begun.
func (c *connection) read(ctx context.Context) (websocket.MessageType, []byte, error) {
	typ, r, err := c.client.Reader(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer time.AfterFunc(messageTimeout, func() { _ = c.client.CloseNow() }).Stop()
	message, err := io.ReadAll(r)
	return typ, message, err
}

// violated closes the client's connection over something that it sent.
func (c *connection) violated(code websocket.StatusCode, why string) {
	c.e.Report(holdgate.RuleMalformed, why)
	c.close(code, "holdgate: "+why)
}

func tooBig(err error) bool { return errors.Is(err, websocket.ErrMessageTooBig) }

// readUpstream reads what the upstream sends until it ends.
func (c *connection) readUpstream(ctx context.Context) {
	defer close(c.events)
	defer c.upGoes()
	for {
		typ, event, err := c.up.Read(ctx)
		switch {
		case tooBig(err):
			c.upEnded = fmt.Errorf("an event is longer than %d bytes: %w", wire.DefaultEventLimit, wire.ErrTooLarge)
			return
		case err != nil:
			c.upEnded = fmt.Errorf("the upstream closed the WebSocket: %w", err)
			return
		case typ != websocket.MessageText || !utf8.Valid(event):
			c.upEnded = errors.New("the upstream sent a message that is no text in UTF-8")
			return
		}
		select {
		case c.events <- event:
		case <-ctx.Done():
			c.upEnded = ctx.Err()
			return
		}
	}
}

// serve takes one message through the steps, and reports whether the connection can take
// another one.
func (c *connection) serve(here, alive context.Context, message []byte) (goesOn bool, err error) {
	w := newWriter(alive, c)
	defer w.end()
	asked, err := c.talk.Asks(message)
	if err != nil {
		c.e.Report(holdgate.RuleMalformed, "a message on the WebSocket is refused: "+err.Error())
		w.refuse(http.StatusBadRequest, nil, c.e.Target.Codec.Error(http.StatusBadRequest, "Holdgate refused this message: "+holdgate.Bounded(err.Error(), 300)))
		return w.failed() == nil, nil
	}
	asked.Credential = c.e.Target.Credential
	t := c.e.Target
	up := &transport{c: c, alive: alive}
	t.Socket, t.Message, t.Transport, t.Gone = false, asked, up, c.upGone
	if err := c.s.Serve(w, c.request(here, message), &t); err != nil {
		return false, err
	}
	w.finish()
	c.odd.forget()
	switch {
	case here.Err() != nil, w.failed() != nil:
		return false, nil
	case !up.sent && w.status == http.StatusOK: // of an earlier connection, with what is not known on this one
		c.close(websocket.StatusServiceRestart, "holdgate: this answer waited for you: open another connection to go on from it")
		return false, nil
	case c.broken.Load() || !w.whole:
		c.close(websocket.StatusInternalError, "holdgate: the answer broke off, ask again")
		return false, nil
	}
	return true, nil
}

// request is a message as a request over HTTP that no socket carries. It has the headers of
// the one that opened the connection: they say whose account and which session it is.
func (c *connection) request(ctx context.Context, message []byte) *http.Request {
	r := c.e.R
	h := wire.EndToEnd(r.Header)
	withoutHandshake(h)
	for _, name := range []string{"Content-Encoding", "Content-Length", "Expect"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	return (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}, Host: r.Host, RemoteAddr: r.RemoteAddr,
		Proto: "HTTP/2.0", ProtoMajor: 2, // of which no connection can be taken while people decide
		Header: h, Body: io.NopCloser(bytes.NewReader(message)), ContentLength: int64(len(message)),
	}).WithContext(ctx)
}
