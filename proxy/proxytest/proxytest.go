// Package proxytest is a sidecar for tests of the flows of package proxy, which stand in the flows' own folders: a
// server with everything real behind it, doors to ask at, and what people and upstreams answer.
package proxytest

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// Patience ends a test that hangs. It is long: a machine that is busy is no
// fault of the program.
const Patience = 3 * time.Minute

// A Sidecar is a Server of the package with everything real behind it.
type Sidecar struct {
	T      testing.TB
	Server *proxy.Server
	Config proxy.Config
	Queue  *approvals.Queue
	log    *audit.Log
	URL    string // of the agents' door
	Addr   string
	CA     *tls.Certificate
	Store  store.Store
	Client *http.Client
	Closed chan struct{} // gets one for each connection that the server has closed

	original func(net.Conn) (netip.AddrPort, error) // where a redirected connection was to go
}

// Option is a change to the configuration that a sidecar has otherwise.
type Option func(*proxy.Config)

// WithIdle has clients that wait hear of it so often.
func WithIdle(d time.Duration) Option { return func(c *proxy.Config) { c.Limits.Idle = d } }

// WithNames has agents' names resolved by a server of the test's own.
func WithNames(r *net.Resolver) Option { return func(c *proxy.Config) { c.Network.Resolver = r } }

// WithNotice has clients told that people are asked.
func WithNotice() Option { return func(c *proxy.Config) { c.Models.Notice = true } }

// New starts a sidecar before a model's upstream, called test. It ends with the test.
func New(t testing.TB, upstream http.Handler, opts ...Option) *Sidecar {
	t.Helper()
	return NewTo(t, map[string]string{"test": NewUpstream(t, upstream)}, nil, opts...)
}

// NewUpstream starts a server for the time of a test, and returns its URL.
func NewUpstream(t testing.TB, h http.Handler) string {
	t.Helper()
	up := httptest.NewServer(h)
	t.Cleanup(up.Close)
	return up.URL
}

// NewTo starts a sidecar before upstreams and MCP servers, by their names.
func NewTo(t testing.TB, upstreams, mcps map[string]string, opts ...Option) *Sidecar {
	t.Helper()
	return NewWith(t, Parts{}, upstreams, mcps, opts...)
}

// Parts puts something of a test's own before the store and the server.
type Parts struct {
	Store  func(store.Store) store.Store
	Server func(*proxy.Server) // before it serves
	Queue  func(*approvals.Config)
}

// NewWith starts a sidecar that has something of the test's own in it.
func NewWith(t testing.TB, p Parts, upstreams, mcps map[string]string, opts ...Option) *Sidecar {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	st := teststore.Open(t, filepath.Join(dir, "db"))
	if p.Store != nil {
		st = p.Store(st)
	}
	key := bytes.Repeat([]byte{7}, 32)
	log, err := audit.Open(ctx, st, key)
	Must(t, err)
	digester, err := holdgate.NewDigester(key)
	Must(t, err)
	var c proxy.Config
	qc := approvals.Config{Conceal: rego.Conceal, Store: st, Log: log, Digester: digester, SealKey: key, Redeem: time.Hour,
		OnEnded: func(e approvals.Ended) { gate.TraceHold(c.Tracer, e) }}
	if p.Queue != nil {
		p.Queue(&qc)
	}
	q, err := approvals.Open(ctx, qc)
	Must(t, err)
	ca, err := intercept.OpenCA(dir)
	Must(t, err)
	g := &Sidecar{T: t, Queue: q, log: log, CA: ca, Store: st, Client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	c = proxy.Config{Queue: q, Original: func(c net.Conn) (netip.AddrPort, error) { return g.original(c) }, Log: log, Digester: digester, CA: ca, Upstreams: map[string]*url.URL{}, MCP: map[string]*url.URL{}}
	for name, u := range upstreams {
		c.Upstreams[name] = ParseURL(t, u)
	}
	for name, u := range mcps {
		c.MCP[name] = ParseURL(t, u)
	}
	for _, o := range opts {
		o(&c)
	}
	if c.Engine == nil {
		c.Engine = Engine(t, Policy)
	}
	g.Config = c
	s, err := proxy.New(context.WithoutCancel(ctx), c)
	Must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	closed := make(chan struct{}, 1<<16)
	if p.Server != nil {
		p.Server(s)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&closings{ln, closed}) }()
	g.Server, g.URL, g.Addr, g.Closed = s, "http://"+ln.Addr().String(), ln.Addr().String(), closed
	t.Cleanup(func() {
		g.Client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
		_ = q.Close() // a test may have closed the store
		_ = st.Close()
	})
	return g
}

// Restarted is a gate as another process serves it, on what the first has left.
func (g *Sidecar) Restarted(opts ...Option) *Sidecar {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.T.Context()), Patience)
	defer cancel()
	Must(g.T, g.Server.Shutdown(ctx))
	Must(g.T, g.Queue.Close())
	c := g.Config
	q, err := approvals.Open(g.T.Context(), approvals.Config{Store: g.Store, Log: g.log, Digester: c.Digester, SealKey: []byte(strings.Repeat("\x07", 32)), Redeem: time.Hour,
		OnEnded: func(e approvals.Ended) { gate.TraceHold(g.Config.Tracer, e) }})
	Must(g.T, err)
	c.Queue = q
	for _, o := range opts {
		o(&c)
	}
	s, err := proxy.New(context.WithoutCancel(g.T.Context()), c)
	Must(g.T, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	Must(g.T, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	n := *g
	n.Server, n.Config, n.Queue, n.URL, n.Addr = s, c, q, "http://"+ln.Addr().String(), ln.Addr().String()
	g.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
		defer cancel()
		n.Client.CloseIdleConnections()
		if err := s.Shutdown(ctx); err != nil {
			n.T.Errorf("shutting down: %v", err)
		}
		if err := <-served; err != nil {
			n.T.Errorf("serving: %v", err)
		}
		_ = q.Close()
	})
	return &n
}

// Must fails the test where there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ParseURL fails the test where the text is none.
func ParseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	Must(t, err)
	return u
}
