package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// maxInformational is how many answers may come ahead of the answer.
const maxInformational = 8

// A conn is one connection. One request at a time has it to itself.
type conn struct {
	pool *pool
	at   place
	raw  net.Conn // TCP
	tls  *tls.Conn
	r    *bufio.Reader // of what comes, decrypted
	peek func() bool   // whether raw is open with nothing to be read

	used  bool      // it has answered before
	since time.Time // when it was used last
}

func newConn(p *pool, at place, raw net.Conn, secure *tls.Conn) *conn {
	if raw == nil {
		return nil
	}
	c := &conn{pool: p, at: at, raw: raw, tls: secure, peek: peeker(raw)}
	c.r = bufio.NewReaderSize(c.stream(), maxHead)
	return c
}

func (c *conn) stream() net.Conn {
	if c.tls != nil {
		return c.tls
	}
	return c.raw
}

// close cuts the connection. TLS's own farewell could have to wait for a server
// that does not read.
func (c *conn) close() { _ = c.raw.Close() }

// isWaiting reports whether a connection that was kept is open and waits for a
// request: whatever a server says unasked would be taken for its next answer.
func (c *conn) isWaiting() bool {
	if c.r.Buffered() > 0 || !c.peek() {
		return false
	}
	if c.tls == nil {
		return true
	}
	// A record that came with the last answer may have been read already.
	if c.tls.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	_, err := c.r.Peek(1)
	return errors.Is(err, os.ErrDeadlineExceeded) && c.tls.SetReadDeadline(time.Time{}) == nil
}

// exchange sends a request, as msg has it, and returns its answer. Whether it was
// sent is said as well: where it was not, no byte of it has reached the server. A
// connection that fails is closed.
func (c *conn) exchange(req *http.Request, msg []byte) (resp *http.Response, sent bool, err error) {
	ctx := req.Context()
	stop := context.AfterFunc(ctx, c.close)
	n, err := c.stream().Write(msg)
	if err == nil {
		resp, err = c.answer(req)
	}
	if err != nil {
		stop()
		c.close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, n > 0, err
	}
	b := &body{src: resp.Body, c: c, ctx: ctx, stop: stop, reusable: !resp.Close}
	if resp.Body == http.NoBody {
		b.finish(true)
		return resp, true, nil
	}
	resp.Body = b
	return resp, true, nil
}

// answer reads the head of an answer.
func (c *conn) answer(req *http.Request) (*http.Response, error) {
	for range maxInformational {
		if err := readHead(c.r); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(c.r, req)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("the server switched to another protocol, which nobody has asked for")
		case resp.StatusCode < http.StatusContinue:
			return nil, fmt.Errorf("the server answered with the status %d, which there is not", resp.StatusCode)
		case resp.StatusCode >= http.StatusOK:
			return resp, nil
		}
	}
	return nil, fmt.Errorf("the server sent over %d answers that only announce another", maxInformational-1)
}

// A body is that of an answer. Its connection is kept when it has been read to its
// end, and closed where it is left before.
type body struct {
	src      io.Reader
	c        *conn
	ctx      context.Context
	stop     func() bool // takes back that the context's end closes the connection
	reusable bool
	ended    atomic.Bool
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if err != nil {
		b.finish(errors.Is(err, io.EOF))
	}
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		err = b.ctx.Err()
	}
	return n, err
}

// Close implements [io.Closer]. It may be called while the body is read.
func (b *body) Close() error {
	b.finish(false)
	return nil
}

func (b *body) finish(whole bool) {
	if !b.ended.CompareAndSwap(false, true) {
		return
	}
	if b.stop() && whole && b.reusable && b.c.r.Buffered() == 0 {
		b.c.pool.put(b.c)
		return
	}
	b.c.close()
}
