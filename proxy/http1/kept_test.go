package http1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// isClosed reports whether this side has closed a connection.
func isClosed(c net.Conn) bool {
	err := c.SetDeadline(time.Time{})
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// A dialer keeps what it dials, and lets each connection write as fails says.
type dialer struct {
	mu    sync.Mutex
	conns []*failing
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	f := &failing{TCPConn: c.(*net.TCPConn)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns = append(d.conns, f)
	return f, nil
}

// A failing connection is one whose writes fail from when fail is set, after so
// many bytes as that returns.
type failing struct {
	*net.TCPConn
	fail func() int
}

func (f *failing) Write(b []byte) (int, error) {
	if f.fail == nil {
		return f.TCPConn.Write(b)
	}
	n, _ := f.TCPConn.Write(b[:f.fail()])
	return n, errors.New("it does not take it")
}

// echo answers each request with ok, and tells of the bodies.
func echo(t *testing.T) (addr string, came chan string) {
	t.Helper()
	came = make(chan string, 100)
	s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
		for {
			body, err := request(r)
			if err != nil {
				return
			}
			came <- body
			_, _ = io.WriteString(c, okAnswer)
		}
	})
	return s.Addr().String(), came
}

func dialing(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) *Client {
	t.Helper()
	c := New(dial, &tls.Config{MinVersion: tls.VersionTLS12}, &elsewhere{})
	t.Cleanup(c.Close)
	return c
}

// keeps leaves n connections that are kept.
func keeps(t *testing.T, c *Client, addr string, n int) {
	t.Helper()
	var bodies []io.Reader
	for range n {
		resp, err := c.RoundTrip(newRequest(t.Context(), t, "http://"+addr, "first"))
		must(t, err)
		bodies = append(bodies, resp.Body)
	}
	for _, b := range bodies {
		_, err := io.Copy(io.Discard, b)
		must(t, err)
	}
	if c.kept() != n {
		t.Fatalf("%d connections are kept", c.kept())
	}
}

// A request goes out again where no byte of it was taken by a connection that had
// been kept, its client waits still, and nowhere else.
func TestWhenARequestGoesOutAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kept, taken int
		leaves      bool
		again       bool
	}{
		"nothing was taken":                    {kept: 1, again: true},
		"nothing was taken, another is kept":   {kept: 2, again: true},
		"a byte was taken":                     {kept: 1, taken: 1},
		"a byte was taken, another is kept":    {kept: 2, taken: 1},
		"nothing was taken, the client leaves": {kept: 2, leaves: true},
		"a new connection takes nothing":       {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, came := echo(t)
			d := &dialer{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			fail := func() int {
				if tt.leaves {
					cancel()
				}
				return tt.taken
			}
			first := true
			c := dialing(t, func(ctx context.Context, network, addr string) (net.Conn, error) {
				cn, err := d.dial(ctx, network, addr)
				if tt.kept == 0 && first {
					cn.(*failing).fail, first = fail, false
				}
				return cn, err
			})
			keeps(t, c, addr, tt.kept)
			for range tt.kept {
				<-came
			}
			if tt.kept > 0 { // the one used last is the next
				c.idle.mu.Lock()
				kept := c.idle.conns[place{"http", addr}]
				kept[len(kept)-1].raw.(*failing).fail = fail
				c.idle.mu.Unlock()
			}
			got, err := c.say(ctx, t, addr, "second")
			if tt.again && (err != nil || got != "ok" || <-came != "second") {
				t.Errorf("%q, %v", got, err)
			}
			if !tt.again && (err == nil || len(came) > 0) {
				t.Errorf("it went out again: %q", got)
			}
			if tt.leaves && !errors.Is(err, context.Canceled) {
				t.Errorf("who leaves is told %v", err)
			}
			gone := 0
			for _, f := range d.conns {
				if isClosed(f) {
					gone++
				}
			}
			if gone != 1 {
				t.Errorf("%d connections are closed, want the one that failed", gone)
			}
		})
	}
}

// A client that has left before the end was read leaves no connection, though the
// whole answer has come.
func TestLeavingAnAnswerThatHasCome(t *testing.T) {
	t.Parallel()
	addr, _ := echo(t)
	d := &dialer{}
	c := dialing(t, d.dial)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := c.RoundTrip(newRequest(ctx, t, "http://"+addr, "{}"))
	must(t, err)
	cancel()
	if _, _ = io.ReadAll(resp.Body); c.kept() != 0 {
		t.Error("a connection is kept that is being closed")
	}
	waitFor(t, func() bool { return isClosed(d.conns[0]) })
}

// A body that is closed before its end closes its connection by that.
func TestLeavingAnAnswerCloses(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
		_, _ = request(r)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
		_, _ = r.ReadByte()
	})
	d := &dialer{}
	c := dialing(t, d.dial)
	resp, err := c.RoundTrip(newRequest(t.Context(), t, "http://"+s.Addr().String(), "{}"))
	must(t, err)
	if _ = resp.Body.Close(); !isClosed(d.conns[0]) || c.kept() != 0 {
		t.Error("the connection is open")
	}
}

// joined writes what it is told in one piece.
type joined struct {
	net.Conn
	b    bytes.Buffer
	hold bool
}

func (j *joined) Write(b []byte) (int, error) {
	if j.hold {
		return j.b.Write(b)
	}
	return j.Conn.Write(b)
}

// TLS may have read what a server says unasked together with its answer: then
// the connection itself has nothing to be read.
func TestAnAnswerUnaskedInTheSamePiece(t *testing.T) {
	t.Parallel()
	up := httptest.NewTLSServer(http.NotFoundHandler())
	conf := up.TLS.Clone()
	roots := up.Client().Transport.(*http.Transport).TLSClientConfig
	up.Close()
	conf.NextProtos = nil
	s := newServer(t, func(n int, c net.Conn, _ *bufio.Reader) {
		j := &joined{Conn: c}
		secure := tls.Server(j, conf)
		if _, err := request(bufio.NewReader(secure)); err != nil {
			t.Error(err)
			return
		}
		if n > 0 {
			_, _ = io.WriteString(secure, okAnswer)
			_, _ = secure.Read(make([]byte, 1))
			return
		}
		j.hold = true
		_, _ = io.WriteString(secure, okAnswer)
		_, _ = io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		_, _ = c.Write(j.b.Bytes())
		_, _ = c.Read(make([]byte, 1))
	})
	c := newClient(t, roots)
	for range 2 {
		resp, err := c.RoundTrip(newRequest(t.Context(), t, "https://"+s.Addr().String(), "{}"))
		must(t, err)
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "ok" {
			t.Fatalf("%q, %v", b, err)
		}
	}
}

// A connection in the clear is not used for what is to be encrypted.
func TestSchemesShareNoConnection(t *testing.T) {
	t.Parallel()
	began := make(chan byte, 10)
	s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
		for {
			b, err := r.Peek(1)
			if err != nil {
				return
			}
			began <- b[0]
			if _, err := request(r); err != nil {
				return
			}
			_, _ = io.WriteString(c, okAnswer)
		}
	})
	c := newClient(t, nil)
	keeps(t, c, s.Addr().String(), 1)
	if _, err := c.RoundTrip(newRequest(t.Context(), t, "https://"+s.Addr().String(), "{}")); err == nil {
		t.Error("a server without TLS was spoken to")
	}
	if a, b := <-began, <-began; a != 'P' || b != 0x16 || c.kept() != 1 {
		t.Errorf("connections began with %q and %#x, %d are kept", a, b, c.kept())
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://A.example/x": "a.example:80", "https://a.example": "a.example:443", "https://a.example:80": "a.example:80",
		"http://[::1]": "[::1]:80", "http://[::1]:8080": "[::1]:8080", "http://b.example": "b.example:80",
	} {
		u, err := url.Parse(in)
		must(t, err)
		if got := hostport(u); got != want {
			t.Errorf("%s leads to %s, want %s", in, got, want)
		}
	}
}

// pooled is a connection whose server is open as long as open says.
func pooled(t *testing.T, p *pool, addr string, open bool) *conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	c := &conn{pool: p, at: place{"http", addr}, raw: ours, peek: func() bool { return open }}
	c.r = bufio.NewReaderSize(ours, 16)
	return c
}

// All places together have a bound, and what is not kept is closed.
func TestThePoolIsBounded(t *testing.T) {
	t.Parallel()
	p := &pool{}
	var last *conn
	for i := range maxIdle + 1 {
		last = pooled(t, p, strconv.Itoa(i%300), true)
		p.put(last)
	}
	if p.n != maxIdle || !isClosed(last.raw) || p.timer == nil {
		t.Errorf("%d connections are kept, the last is closed: %t", p.n, isClosed(last.raw))
	}
	kept := p.conns[place{"http", "0"}][0]
	p.close()
	if !isClosed(kept.raw) || p.n != 0 {
		t.Error("a pool that ended has connections")
	}
	late := pooled(t, p, "late", true)
	if p.put(late); !isClosed(late.raw) || p.n != 0 {
		t.Error("a pool that ended keeps a connection")
	}
}

// What its server has closed is found when it is wanted, and when nobody wants it.
func TestThePoolClosesWhatHasGone(t *testing.T) {
	t.Parallel()
	p := &pool{}
	defer p.close()
	open, gone, unwanted, old := pooled(t, p, "a", true), pooled(t, p, "a", false), pooled(t, p, "b", false), pooled(t, p, "c", true)
	for _, c := range []*conn{open, gone, unwanted, old} {
		p.put(c)
	}
	if got := p.get(place{"http", "a"}); got != open || !isClosed(gone.raw) || isClosed(open.raw) || p.n != 2 {
		t.Errorf("got the one that is open: %t; the other is closed: %t; %d are kept", got == open, isClosed(gone.raw), p.n)
	}
	p.put(open)
	old.since = old.since.Add(-idleTime)
	p.sweep()
	if !isClosed(unwanted.raw) || !isClosed(old.raw) || isClosed(open.raw) || p.n != 1 || len(p.conns) != 1 {
		t.Errorf("%d connections are kept at %d places", p.n, len(p.conns))
	}
}

// What is known of HTTP/2 is known of one server, and is bounded.
func TestServersOfHTTP2AreRemembered(t *testing.T) {
	t.Parallel()
	p := &pool{}
	for i := range 2*maxPlaces + 1 {
		at := place{"https", strconv.Itoa(i)}
		if p.speaksHTTP2(at) {
			t.Fatalf("%v is known, and nobody has asked it", at)
		}
		p.setHTTP2(at)
		if !p.speaksHTTP2(at) || len(p.http2) > maxPlaces {
			t.Fatalf("%v is not known, or %d are", at, len(p.http2))
		}
	}
	if p.speaksHTTP2(place{"http", strconv.Itoa(2 * maxPlaces)}) {
		t.Error("HTTP/2 is spoken in the clear")
	}
}

// A handshake is waited for as long as the client waits, and 10 s.
func TestHandshakesAreBounded(t *testing.T) {
	t.Parallel()
	for _, patience := range []time.Duration{time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			c := dialing(t, func(context.Context, string, string) (net.Conn, error) { return ours, nil })
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			_, err := c.RoundTrip(newRequest(ctx, t, "https://a.example", "{}"))
			if took := time.Since(began); err == nil || took != min(patience, handshakeTime) || !isClosed(ours) {
				t.Errorf("it took %v, closed: %t, %v", took, isClosed(ours), err)
			}
		})
	}
}

// A server of HTTP/2 is left, and a body that is not sent is closed.
func TestWhatIsLeftIsClosed(t *testing.T) {
	t.Parallel()
	up := httptest.NewUnstartedServer(http.NotFoundHandler())
	up.EnableHTTP2 = true
	up.StartTLS()
	defer up.Close()
	d := &dialer{}
	c := New(d.dial, up.Client().Transport.(*http.Transport).TLSClientConfig, &elsewhere{})
	defer c.Close()
	if _, err := c.RoundTrip(newRequest(t.Context(), t, up.URL, "{}")); !errors.Is(err, errElsewhere) || !isClosed(d.conns[0]) {
		t.Errorf("%v; the connection is closed: %t", err, isClosed(d.conns[0]))
	}
	d = &dialer{}
	if _, err := dialing(t, d.dial).RoundTrip(newRequest(t.Context(), t, up.URL, "{}")); err == nil || !isClosed(d.conns[0]) {
		t.Errorf("nobody vouches for the server: %v; the connection is closed: %t", err, isClosed(d.conns[0]))
	}
	for name, fail := range map[string]func(*http.Request){
		"no connection": func(r *http.Request) { r.URL.Host = "127.0.0.1:0" },
		"no header":     func(r *http.Request) { r.Header["X A"] = []string{"b"} },
	} {
		addr, _ := echo(t)
		d := &dialer{}
		req := newRequest(t.Context(), t, "http://"+addr, "{}")
		b := &closing{ReadCloser: req.Body}
		req.Body = b
		fail(req)
		if _, err := dialing(t, d.dial).RoundTrip(req); err == nil || !b.closed {
			t.Errorf("%s: %v; the body is closed: %t", name, err, b.closed)
		}
		for _, cn := range d.conns {
			if !isClosed(cn) {
				t.Errorf("%s: the connection is open", name)
			}
		}
	}
}

type closing struct {
	io.ReadCloser
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return c.ReadCloser.Close()
}
