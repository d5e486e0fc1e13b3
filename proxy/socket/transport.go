package socket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A transport sends one message on, and presents what the upstream says to it as a stream of
// server-sent events, which is what codecs read.
type transport struct {
	c     *connection
	alive context.Context // for as long as the connection is read
	sent  bool
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if t.sent {
		return nil, errors.New("a message is sent once")
	}
	t.sent = true
	t.c.broken.Store(true) // until its answer has been read to the end
	ctx, cancel := context.WithTimeout(t.alive, keepalive.WriteTimeout)
	defer cancel()
	if err := t.c.up.Write(ctx, websocket.MessageText, body); err != nil {
		return nil, fmt.Errorf("sending a message on the WebSocket: %w", err)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {route.TypeEvents}}, ContentLength: -1, Body: &answer{t: t, ctx: r.Context()}, Request: r,
	}, nil
}

// An answer is what the upstream says to a message, up to its end.
type answer struct {
	t     *transport
	ctx   context.Context
	buf   []byte
	ended bool
}

// Read implements [io.Reader].
func (a *answer) Read(p []byte) (int, error) {
	if len(a.buf) == 0 {
		if a.ended {
			return 0, io.EOF
		}
		if err := a.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, a.buf)
	a.buf = a.buf[n:]
	return n, nil
}

// next waits for an event.
func (a *answer) next() error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	c := a.t.c
	if len(c.early) > 0 {
		event := c.early[0]
		c.early = c.early[1:]
		return a.take(event)
	}
	select {
	case <-a.ctx.Done():
		return a.ctx.Err()
	case event, ok := <-c.events:
		if !ok {
			return c.upEnded
		}
		return a.take(event)
	}
}

// take makes an event of a message.
func (a *answer) take(message []byte) error {
	if err := wire.StrictEvent(message); err != nil {
		return fmt.Errorf("reading a message of the upstream's: %w", err)
	}
	message = bytes.TrimLeft(message, wire.Blanks)
	if message[0] != '{' {
		return errors.New("reading a message of the upstream's: it is no object")
	}
	a.buf = a.t.c.odd.event(message)
	a.ended = a.t.c.talk.Ends(message)
	a.t.c.broken.Store(!a.ended)
	return nil
}

// Close implements [io.Closer].
func (a *answer) Close() error { return nil }

// Oddities are messages that a server-sent event says in other bytes, because they have
// line ends, by its data. The zero value is ready.
type oddities struct {
	mu  sync.Mutex
	all map[string][]byte
}

// event writes a message as a server-sent event.
func (o *oddities) event(message []byte) []byte {
	event := wire.AppendEvent(nil, "", message)
	if len(event) == len(message)+len("data: \n\n") {
		return event
	}
	var scan wire.EventScanner
	scan.Push(event)
	e, ok, err := scan.Next()
	if err != nil || !ok {
		return event // the codec will say what is wrong with it
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[string][]byte{}
	}
	o.all[string(e.Data)] = message
	return event
}

// message is what an event was written of.
func (o *oddities) message(data []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if came, ok := o.all[string(data)]; ok {
		return came
	}
	return data
}

func (o *oddities) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = nil
}
