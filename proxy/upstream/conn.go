package upstream

import (
	"bytes"
	"context"
	"io"
	"net"
)

// smallBody is how long a body is at most, in bytes, that goes out in one write
// with its headers. Both fit into a transport's buffer.
const smallBody = 8 << 10

// bodyToSend is a body in memory on its way upstream, for one sending. A small one
// is of a type that net/http knows to be in memory: of all others it sends the
// headers ahead, which is a second write here, and a second time to wake up for
// the server.
func bodyToSend(b []byte) io.ReadCloser {
	if len(b) <= smallBody {
		return io.NopCloser(bytes.NewReader(b))
	}
	return newRequestBody(b)
}

// A requestBody is a body that is not small.
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
