package socket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer takes the answer to one message to the client: each event of a stream as a
// message, and what is no stream as an event that fails the request.
type writer struct {
	c      *connection
	ctx    context.Context
	header http.Header
	events wire.EventScanner
	body   []byte // of what is no stream
	status int

	mu    sync.Mutex
	timer *time.Timer
	begun bool // an event has gone out
	whole bool // the event that ends the answer, too
	over  bool
	err   error
}

// newWriter returns a writer that gives signs of life until the first event, for as long as
// end has not been called. Afterwards the codec's stream does.
func newWriter(ctx context.Context, c *connection) *writer {
	w := &writer{c: c, ctx: ctx, header: http.Header{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(c.s.Idle, w.beat)
	return w
}

func (w *writer) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun || w.over || w.err != nil {
		return
	}
	w.send(w.c.talk.Idle())
	w.timer.Reset(w.c.s.Idle)
}

// end ends the signs of life.
func (w *writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

// send sends a message.
func (w *writer) send(message []byte) {
	if w.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, keepalive.WriteTimeout)
	defer cancel()
	if err := w.c.client.Write(ctx, websocket.MessageText, message); err != nil {
		w.err = fmt.Errorf("writing to the WebSocket: %w", err)
	}
}

func (w *writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Header implements [http.ResponseWriter].
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// FlushError is for [http.ResponseController]. Nothing is kept back.
func (w *writer) FlushError() error { return w.failed() }

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status != http.StatusOK {
		w.body = append(w.body, p...)
		return len(p), nil
	}
	w.events.Push(p)
	for {
		e, ok, err := w.events.Next()
		if err != nil {
			return 0, err
		}
		if !ok {
			return len(p), nil
		}
		if wire.IsNoOp(e) {
			continue
		}
		if err := w.event(e.Data); err != nil {
			return 0, err
		}
	}
}

// event sends an event on, in the bytes in which it came where it is as it came.
func (w *writer) event(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.whole {
		w.err = errors.New("an event follows the end of its answer")
	}
	w.send(w.c.odd.message(data))
	if w.err != nil {
		return w.err
	}
	w.begun = true
	w.c.talk.Tells(data)
	w.whole = w.c.talk.Ends(data)
	return nil
}

// finish writes what is left when the request has been served.
func (w *writer) finish() {
	if w.status != http.StatusOK && w.status != 0 {
		w.refuse(w.status, w.header, bytes.TrimSpace(w.body))
	}
}

// refuse fails the request with an event.
func (w *writer) refuse(status int, header http.Header, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(w.c.talk.Refusal(status, header, body))
	w.begun, w.whole = true, true
}
