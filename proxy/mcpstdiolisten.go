package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/stdio"
)

// A stdioListener takes what a server sends by itself, in order: while people
// decide about a request of the server's, what follows waits.
type stdioListener struct {
	ss      *stdioSession
	m       *mcpExchange
	ctx     context.Context // ends when the server has
	leave   context.CancelFunc
	queue   chan stdio.Frame
	waiting atomic.Int32 // that are in the queue, or on their way out of it
}

// maxListened bounds the lines that wait behind a request of the server's. The
// stream waits once they are so many.
const maxListened = 1024

func newStdioListener(ss *stdioSession) *stdioListener {
	l := &stdioListener{ss: ss, queue: make(chan stdio.Frame, maxListened)}
	l.ctx, l.leave = context.WithCancel(ss.ctx)
	t := ss.t
	t.Transport = l
	r := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: t.Name, Header: http.Header{}}).WithContext(l.ctx)
	t.Caller = ss.s.caller(r, t)
	l.m = &mcpExchange{exchange: &exchange{s: ss.s, r: r, t: t}, sent: true}
	return l
}

// take takes a message of the server's. What asks for nothing goes on at once,
// unless something before it waits.
func (l *stdioListener) take(f stdio.Frame, m mcp.ServerMessage) {
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
func (l *stdioListener) run() {
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
func (l *stdioListener) relay(f stdio.Frame) {
	data, err := l.m.fromServer(l.ctx, f.Line)
	switch {
	case l.ss.ending():
		return
	case err != nil:
		l.ss.s.c.Logger.Warn("a message of an MCP server was dropped", "server", l.ss.t.Name, "err", err)
	case len(bytes.TrimSpace(data)) > 0:
		l.ss.write(stdio.Frame{Kind: stdio.Client, Line: stdio.Line(data)})
	}
	l.ss.over(f.Seq)
}

// RoundTrip tells the server what becomes of a request of its own.
func (l *stdioListener) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	l.ss.write(stdio.Frame{Kind: stdio.Server, Line: stdio.Line(body)})
	return accepted(r), nil
}

// accepted answers a message that asks for no answer.
func accepted(r *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
}
