package intercept

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/elazarl/goproxy"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// A Tunnel is the inside of a CONNECT, or a connection that was redirected to
// the transparent door: the client's connection, and where it leads.
type Tunnel struct {
	net.Conn
	Door   string
	Scheme string // "https" or "http", by what the client speaks inside

	who     *caller.Who // whose it is; nil: nobody's in particular
	host    string      // as CONNECT named it, with port
	unnamed bool        // host is an address that each plain request may name; see [Tunnel.HostFor]
	l       *tunnelListener

	passes bool // it is passed on as it comes
}

// Close implements [net.Conn].
func (t *Tunnel) Close() error {
	t.l.forget(t)
	return t.Conn.Close()
}

// ServeConnect takes a CONNECT that leads to another host: it is opened, or passed on.
func (i *Interceptor) ServeConnect(w http.ResponseWriter, r *http.Request) {
	if i.passes(r.URL.Host) {
		i.passTunnel(w, r)
		return
	}
	i.opening.begin() // before the server forgets the connection
	defer i.opening.end()
	i.connect.ServeHTTP(&readingOn{w}, r)
}

// connectProxy is goproxy for CONNECT alone. goproxy tunnels what no handler
// takes, reads proxies from the environment and signs with a CA whose key is
// public, so every CONNECT is taken here and its inside handed to an
// http.Server of ours, which notices clients that leave and survives a
// handler's panic.
func (i *Interceptor) connectProxy() *goproxy.ProxyHttpServer {
	p := goproxy.NewProxyHttpServer()
	p.Tr = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errNoDial }}
	p.ConnectDial = nil
	p.Logger = discardLogger{}
	p.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: func(r *http.Request, c net.Conn, _ *goproxy.ProxyCtx) {
			i.openTunnel(r.Context(), c, host)
		}}, host
	})
	return p
}

// errNoDial says that goproxy is here to take CONNECT, and to dial nothing.
var errNoDial = errors.New("nothing is dialled here")

type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// tlsHandshake is how TLS begins: ContentType handshake (RFC 8446 section 5.1).
const tlsHandshake = 0x16

// openTunnel answers a CONNECT and hands what is inside to the inner server.
func (i *Interceptor) openTunnel(ctx context.Context, c net.Conn, host string) {
	i.c.Running.Add(1)
	defer i.c.Running.Done()
	br := bufio.NewReaderSize(c, 4096)
	ahead := &upstream.Peeked{Conn: c, R: br}
	t := &Tunnel{Conn: ahead, Door: route.DoorForward, Scheme: "http", host: host, l: i.tunnels}
	if by, ok := caller.In(ctx); ok {
		t.who = &by
	}
	if !i.tunnels.track(t) {
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = t.Close()
		return
	}
	first, err := begin(ahead, br)
	if err != nil {
		_ = t.Close()
		return
	}
	if first != tlsHandshake {
		_ = c.SetDeadline(time.Time{})
		i.tunnels.hand(t)
		return
	}
	t.Scheme = "https"
	name := route.HostOnly(host)
	conf, err := i.leafConfig(name)
	if err != nil {
		i.c.Logger.WarnContext(ctx, "signing a certificate", "host", name, "err", err)
		_ = t.Close()
		return
	}
	conn := tls.Server(t, conf)
	if err := conn.Handshake(); err != nil {
		i.c.Logger.InfoContext(ctx, "the client refused the certificate or spoke no TLS", "host", name, "err", err)
		_ = t.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	if sni := conn.ConnectionState().ServerName; sni != "" && route.LowerHost(sni) != route.LowerHost(name) {
		at := route.Target{Door: route.DoorForward, Caller: i.c.Callers.In(t.context(i.c.Life), route.DoorForward)}
		i.c.Refused(at, http.MethodConnect+" "+host, holdgate.RuleAddress, "the tunnel leads to "+host+" and its TLS names "+holdgate.Visible(sni))
		_ = conn.Close()
		return
	}
	i.tunnels.hand(conn)
}

// begin waits for the first byte and returns it. What br has read is kept, and
// br, which is as large as a packet, is not.
func begin(p *upstream.Peeked, br *bufio.Reader) (byte, error) {
	if _, err := br.Peek(1); err != nil {
		return 0, err
	}
	read, err := br.Peek(br.Buffered())
	if err != nil {
		return 0, err
	}
	read = bytes.Clone(read)
	p.R = io.MultiReader(bytes.NewReader(read), p.Conn)
	return read[0], nil
}

// readingOn is a writer whose hijacked connection reads on where the server
// stopped: a client may send the first bytes of its tunnel in one packet with
// CONNECT, and goproxy drops the reader that has them.
type readingOn struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (w *readingOn) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements [http.Hijacker].
func (w *readingOn) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	ahead, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		_ = c.Close()
		return nil, nil, err
	}
	return &upstream.Peeked{Conn: c, R: io.MultiReader(bytes.NewReader(ahead), c)}, rw, nil
}

// tunnelListener is the inner server's listener: what it accepts are the
// insides of tunnels. It knows all of them, for they are hijacked connections
// that http.Server.Shutdown of the outer server does not see.
type tunnelListener struct {
	*handed
	mu   sync.Mutex
	open map[*Tunnel]struct{}
}

func newTunnelListener() *tunnelListener {
	return &tunnelListener{handed: newHanded(), open: map[*Tunnel]struct{}{}}
}

// track takes a tunnel up before anything is read from it. It reports false
// once tunnels are being closed.
func (l *tunnelListener) track(t *Tunnel) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return false
	}
	l.open[t] = struct{}{}
	return true
}

func (l *tunnelListener) forget(t *Tunnel) {
	l.mu.Lock()
	delete(l.open, t)
	l.mu.Unlock()
}

func (l *tunnelListener) closeConns() {
	l.mu.Lock()
	open := make([]*Tunnel, 0, len(l.open))
	for t := range l.open {
		open = append(open, t)
	}
	l.open = nil
	l.mu.Unlock()
	for _, t := range open {
		_ = t.Close()
	}
}

// An opening counts connections that are on their way to the inner server.
type opening struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // of who waits; nil: nobody
}

func (o *opening) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n++
}

func (o *opening) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n--; o.n == 0 && o.none != nil {
		close(o.none)
		o.none = nil
	}
}

// wait waits until there is none, or ctx ends.
func (o *opening) wait(ctx context.Context) {
	o.mu.Lock()
	if o.n == 0 {
		o.mu.Unlock()
		return
	}
	if o.none == nil {
		o.none = make(chan struct{})
	}
	none := o.none
	o.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

// A handed is a listener that accepts what it is handed.
type handed struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newHanded() *handed {
	return &handed{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// hand waits until the connection is accepted, or closes it.
func (l *handed) hand(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.closed:
		_ = c.Close()
	}
}

// Accept implements [net.Listener].
func (l *handed) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *handed) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *handed) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

type tunnelKey struct{}

// TunnelOf is the tunnel that a request came out of, or nil.
func TunnelOf(ctx context.Context) *Tunnel {
	t, _ := ctx.Value(tunnelKey{}).(*Tunnel)
	return t
}

// TunnelContext keeps where the tunnel leads for the requests inside it: the
// one thing that http.Server can carry from a connection to its requests.
func TunnelContext(ctx context.Context, c net.Conn) context.Context {
	switch c := c.(type) {
	case *kept:
		return TunnelContext(ctx, c.Conn)
	case *Tunnel:
		return c.context(ctx)
	case *tls.Conn:
		if t, ok := c.NetConn().(*Tunnel); ok {
			return t.context(ctx)
		}
	}
	return ctx
}

// context is ctx for what comes out of the tunnel.
func (t *Tunnel) context(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, tunnelKey{}, t)
	if t.who != nil {
		ctx = caller.With(ctx, *t.who)
	}
	return ctx
}
