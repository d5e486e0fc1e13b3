package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/trace"
)

// A parked answer waits for people on a connection that was taken from its
// HTTP/1.1 server, whose buffers and stack would be kept for as long as they
// take. All that is left of it is one goroutine that reads: it notices a client
// that leaves, and keeps the first byte of a next request for later. Signs of
// life come from the sender's timer. What wakes it (an outcome, a client that
// leaves, a shutdown) has the answer go on in a goroutine of its own; the
// connection then goes back to its server for the client's next request.
type parked struct {
	f        *Flow
	a        *answer
	conn     net.Conn
	giveBack func(c net.Conn, ahead []byte) // for the client's next request
	last     bool                           // the client wants it closed after this answer
	ahead    []byte                         // what was read of the client's next request
	next     [1]byte                        // where it is read to
	gone     func()                         // says that the client is
	traced   func()                         // says that the request has ended

	ready  sync.Mutex // until it is parked
	forget func()     // has the queue not wake it any longer

	woken sync.Once
	over  chan struct{} // closed once nothing of the answer is left to come
	whole bool          // set before over is closed: the client has all of it
}

const (
	// keepAlive is how long a client may take until its next request.
	keepAlive = 5 * time.Minute
	// lingering is how long a client that wanted its connection closed may take
	// to do so, before what it may not have read yet is lost.
	lingering = 500 * time.Millisecond
)

// park takes the connection of an answer that waits for people from its server,
// and reports whether it did: what is left of the exchange is done without the
// caller then. HTTP/2 has many requests on a connection, which cannot be taken,
// and in a later round the caller has an answer of its own to end. What the
// connection has next is another request: this one's body was read to its end,
// for reading it fails where something of it is left.
func (a *answer) park() (bool, error) {
	ids := a.waitsFor()
	if len(ids) == 0 || a.out == nil || a.round > 0 || a.f.c.Waits.Err() != nil || a.R.ProtoMajor != 1 || a.R.ProtoMinor != 1 {
		return false, nil
	}
	ctx, gone, giveBack := a.f.c.Connections.Outlive(a.R)
	ctx = trace.Carry(ctx, a.R.Context())
	p := &parked{f: a.f, a: a, giveBack: giveBack, last: a.R.Close, gone: gone, over: make(chan struct{})}
	p.ready.Lock()
	defer p.ready.Unlock()
	if !p.hijack() {
		gone()
		return false, nil
	}
	if !a.f.parked.add(p) {
		gone()
		defer p.conn.Close()
		if err := a.interrupted(); err != nil { // a shutdown
			return false, err
		}
		a.close()
		_ = p.finish() // a client that has gone asks again all the same
		return true, nil
	}
	p.traced = trace.Keep(ctx)
	a.R = a.R.WithContext(ctx)
	a.R.Body, a.R.TLS = http.NoBody, nil // the server's buffers hang on the body
	a.f.c.Running.Go(p.keep)
	defer func() {
		if p.forget == nil { // a panic, which costs this request only
			p.forget = func() {}
			_ = p.conn.Close()
		}
	}()
	context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.Canceled) { // not by gone: the credential was taken back
			_ = p.conn.Close() // what is read from it next is its end
		}
	})
	a.out.OnFail(p.leftBehind)
	p.forget = a.x.Held().AfterEnd(ctx, ids, p.wake)
	return true, nil
}

// waitsFor are the requests that people have not yet decided.
func (a *answer) waitsFor() []string {
	var ids []string
	for _, q := range a.calls() {
		if q.Undecided() {
			ids = append(ids, q.Request().ID)
		}
	}
	return ids
}

// hijack takes the connection, while no sign of life is made.
func (p *parked) hijack() bool {
	a := p.a
	return a.out.TakeOver(func() (http.ResponseWriter, bool) {
		conn, rw, err := http.NewResponseController(a.W).Hijack()
		if err != nil {
			return nil, false // the server does not give it away
		}
		if ahead, err := rw.Reader.Peek(rw.Reader.Buffered()); err == nil && len(ahead) > 0 {
			p.ahead = bytes.Clone(ahead)
		}
		if k, is := conn.(interface{ Bare() net.Conn }); is {
			conn = k.Bare()
		}
		p.conn = conn
		w := &chunked{conn: conn}
		if a.joined != nil {
			a.joined.ResponseWriter = w
			return nil, true
		}
		a.W = w
		return w, true
	})
}

// wake has the answer go on. It does nothing the second time.
func (p *parked) wake() { p.woken.Do(func() { p.f.c.Running.Go(p.goOn) }) }

// leftBehind says that the client has gone.
func (p *parked) leftBehind() {
	p.gone()
	p.wake()
}

// keep reads from the client until it leaves or begins its next request, for
// which the connection goes back to the server once this one is answered.
func (p *parked) keep() {
	defer p.f.parked.leave(p)
	if len(p.ahead) == 0 {
		n, err := p.conn.Read(p.next[:])
		if n > 0 {
			p.ahead = p.next[:]
		} else if err != nil {
			p.leftBehind()
		}
	}
	<-p.over
	if !p.whole || p.last || len(p.ahead) == 0 {
		_ = p.conn.Close()
		return
	}
	_ = p.conn.SetReadDeadline(time.Time{})
	p.giveBack(p.conn, p.ahead)
}

// goOn takes the answer to its end.
func (p *parked) goOn() {
	p.ready.Lock() // what is set while it is parked is set
	p.forget()
	p.ready.Unlock()
	defer p.traced()
	p.whole = p.deliver() && p.finish() == nil
	p.gone() // its context is not needed any longer
	p.a = nil
	switch {
	case !p.whole:
		_ = p.conn.Close() // without an end that would look whole
	case p.last:
		_ = p.conn.SetReadDeadline(time.Now().Add(lingering))
		if c, ok := p.conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	default:
		_ = p.conn.SetReadDeadline(time.Now().Add(keepAlive))
	}
	close(p.over)
	if p.f.c.Waits.Err() != nil {
		_ = p.conn.Close() // no other request is served
	}
}

// deliver does what is left of the exchange, and reports whether the client has
// all but the end. A panic costs this request only.
func (p *parked) deliver() (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			ok = false
			p.f.c.Logger.ErrorContext(p.a.R.Context(), "a request failed inside Holdgate and was refused", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	defer p.a.close()
	err := p.a.deliver()
	if err == nil {
		err = cutOnly(p.a.goOn()) // what of it is stored has its end recorded
	}
	return err == nil && p.a.R.Context().Err() == nil && p.a.out.Failed() == nil
}

// finish writes the end of the answer.
func (p *parked) finish() error {
	_ = p.conn.SetWriteDeadline(time.Now().Add(keepalive.WriteTimeout))
	_, err := io.WriteString(p.conn, "0\r\n\r\n")
	_ = p.conn.SetWriteDeadline(time.Time{})
	return err
}

// chunked writes on where net/http's server has begun an answer without a
// length: each write is a chunk (RFC 9112 section 7.1), and goes out at once.
type chunked struct{ conn net.Conn }

// Header implements [http.ResponseWriter]. It has been sent.
func (*chunked) Header() http.Header { return http.Header{} }

// WriteHeader implements [http.ResponseWriter].
func (*chunked) WriteHeader(int) {}

// Flush implements [http.Flusher]. Nothing is kept back.
func (*chunked) Flush() {}

// SetWriteDeadline is for [http.ResponseController].
func (w *chunked) SetWriteDeadline(t time.Time) error { return w.conn.SetWriteDeadline(t) }

// Write implements [http.ResponseWriter].
func (w *chunked) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil // an empty chunk would be the end
	}
	chunk := slices.Concat(fmt.Appendf(nil, "%x\r\n", len(b)), b, []byte("\r\n"))
	if _, err := w.conn.Write(chunk); err != nil {
		return 0, err
	}
	return len(b), nil
}

// parkedSet are the parked answers, and the connections that wait for their
// client's next request: http.Server.Shutdown does not see them. The zero value
// is ready.
type parkedSet struct {
	mu   sync.Mutex
	all  map[*parked]struct{}
	none chan struct{} // made when a shutdown begins, closed when none is left
}

// add takes one up. It reports false once a shutdown has begun.
func (c *parkedSet) add(p *parked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none != nil {
		return false
	}
	if c.all == nil {
		c.all = map[*parked]struct{}{}
	}
	c.all[p] = struct{}{}
	return true
}

func (c *parkedSet) leave(p *parked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, p)
	if c.none != nil && len(c.all) == 0 {
		close(c.none)
	}
}

// wake is how a shutdown begins: those that wait go on, and the connections that
// are between two requests are closed. Config.Waits has ended before.
func (c *parkedSet) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none == nil {
		c.none = make(chan struct{})
		if len(c.all) == 0 {
			close(c.none)
		}
	}
	for p := range c.all {
		p.wake()
		select {
		case <-p.over:
			_ = p.conn.Close()
		default:
		}
	}
}

// wait waits until none is left, after wake.
func (c *parkedSet) wait(ctx context.Context) error {
	select {
	case <-c.none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close closes what is left.
func (c *parkedSet) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.all {
		_ = p.conn.Close()
	}
}
