package proxy

import (
	"bytes"
	"context"
	"io"
	"net"
)

// A requestBody is a body in memory on its way upstream. It is for one sending.
type requestBody struct{ bytes.Reader }

func newRequestBody(b []byte) *requestBody {
	r := &requestBody{}
	r.Reset(b)
	return r
}

// Close implements [io.Closer].
func (*requestBody) Close() error { return nil }

// An upstreamConn is a connection that takes a body from where it lies in
// memory, in one write. net/http would copy it into a buffer of its own, made for
// each request, 32 KB at a time.
type upstreamConn struct{ *net.TCPConn }

// dialUpstream returns what dials in place of d.
func dialUpstream(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok && err == nil {
			return &upstreamConn{tcp}, nil
		}
		return c, err
	}
}

// ReadFrom implements [io.ReaderFrom]. net/http calls it with what is left of a
// body, bounded by the length that it has announced.
func (c *upstreamConn) ReadFrom(r io.Reader) (int64, error) {
	l, ok := r.(*io.LimitedReader)
	if !ok {
		return c.TCPConn.ReadFrom(r)
	}
	b, ok := l.R.(*requestBody)
	if !ok || int64(b.Len()) > l.N {
		return c.TCPConn.ReadFrom(r)
	}
	n, err := b.WriteTo(c.TCPConn)
	l.N -= n
	return n, err
}
