package stdio

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/holdgate/holdgate/proxy/mcp"
)

// A listener takes what a server sends by itself, in order: while people
// decide about a request of the server's, what follows waits.
type listener struct {
	ss      *Session
	ctx     context.Context // ends when the server has
	leave   context.CancelFunc
	queue   chan Frame
	waiting atomic.Int32 // that are in the queue, or on their way out of it
}

// maxListened bounds the lines that wait behind a request of the server's. The
// stream waits once they are so many.
const maxListened = 1024

func newListener(ss *Session) *listener {
	l := &listener{ss: ss, queue: make(chan Frame, maxListened)}
	l.ctx, l.leave = context.WithCancel(ss.ctx)
	return l
}

// receive takes a message of the server's. What asks for nothing goes on at once,
// unless something before it waits.
func (l *listener) receive(f Frame, m mcp.ServerMessage) {
	if len(m.Asks) == 0 && l.waiting.Load() == 0 {
		l.relay(f)
		return
	}
	l.waiting.Add(1)
	select {
	case l.queue <- f:
	case <-l.ss.ctx.Done():
	}
}

// run relays what waits until the server has ended. What is in the queue then
// goes on, unless it asks for something.
func (l *listener) run() {
	for {
		select {
		case f := <-l.queue:
			l.relay(f)
			l.waiting.Add(-1)
		case <-l.ctx.Done():
			for len(l.queue) > 0 {
				l.relay(<-l.queue)
			}
			return
		}
	}
}

// relay sends on to the client what may reach it.
func (l *listener) relay(f Frame) {
	data, err := l.ss.proxy.FromServer(l.ctx, f.Line)
	switch {
	case l.ss.ending():
		return
	case err != nil:
		l.ss.c.Logger.WarnContext(l.ctx, "a message of an MCP server was dropped", "server", l.ss.t.Name, "err", err)
	case len(bytes.TrimSpace(data)) > 0:
		l.ss.write(Frame{Kind: Client, Line: Line(data)})
	}
	l.ss.over(f.Seq)
}

// RoundTrip tells the server what becomes of a request of its own.
func (l *listener) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	l.ss.write(Frame{Kind: Server, Line: Line(body)})
	return accepted(r), nil
}

// accepted answers a message that asks for no answer.
func accepted(r *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
}
