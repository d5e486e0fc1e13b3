// Package proxytest is a sidecar for tests of the flows of package proxy, which stand in the flows' own folders: a
// server with everything real behind it, doors to ask at, and what people and upstreams answer.
package proxytest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// Policy decides by words in the call, so that a test says in the call
// what becomes of it.
const Policy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

text := sprintf("%v %v %v", [
	object.get(input, ["tool", "arguments"], ""),
	object.get(input, ["model", "name"], ""),
	object.get(input, ["http", "path"], ""),
])

decision := {"action": "deny", "rule": "test.deny", "reason": "it says forbidden"} if {
	contains(text, "forbidden")
} else := {"action": "hold", "rule": "test.hold", "reason": "it says gated"} if {
	contains(text, "gated")
}
`

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

// WithShippedPolicy decides by the pack that Holdgate ships.
func WithShippedPolicy() Option {
	return func(c *proxy.Config) {
		e, err := shippedPolicy()
		if err != nil {
			panic(err)
		}
		c.Engine = e
	}
}

// shippedPolicy is one engine for all tests: to load the pack takes longer than most of them.
var shippedPolicy = sync.OnceValues(func() (*rego.Engine, error) {
	return rego.Open(context.Background(), rego.Options{Timeout: Patience})
})

// WithNames has agents' names resolved by a server of the test's own.
func WithNames(r *net.Resolver) Option { return func(c *proxy.Config) { c.Network.Resolver = r } }

// WithNotice has clients told that people are asked.
func WithNotice() Option { return func(c *proxy.Config) { c.Models.Notice = true } }

// WithPolicy decides by a policy of the test's own.
func WithPolicy(t *testing.T, text string) Option {
	e := Engine(t, text)
	return func(c *proxy.Config) { c.Engine = e }
}

// Engine is one for all tests that decide by the same text: most of the time of many went into its compilation.
func Engine(t testing.TB, text string) *rego.Engine {
	t.Helper()
	open, _ := engines.LoadOrStore(text, sync.OnceValues(func() (*rego.Engine, error) {
		path := filepath.Join(t.TempDir(), "policy.rego")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
		return rego.Open(context.WithoutCancel(t.Context()), rego.Options{Path: path, Timeout: Patience})
	}))
	e, err := open.(func() (*rego.Engine, error))()
	Must(t, err)
	return e
}

// engines are the policies that were compiled, by their text.
var engines sync.Map // of the text of a policy

// WithSettings lays settings, and rules where there are some, over the shipped
// pack. Tests that say the same share an engine: to compile the pack takes
// longer than most of them.
func WithSettings(t *testing.T, settings string, rules ...string) Option {
	t.Helper()
	open, _ := opened.LoadOrStore(settings+strings.Join(rules, ""), sync.OnceValues(func() (*rego.Engine, error) {
		dir := t.TempDir()
		Must(t, os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte("settings:\n"+settings), 0o600))
		for i, text := range rules {
			Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("rules%d.rego", i)), []byte(text), 0o600))
		}
		return rego.Open(context.WithoutCancel(t.Context()), rego.Options{Path: dir, Timeout: Patience})
	}))
	e, err := open.(func() (*rego.Engine, error))()
	Must(t, err)
	return func(c *proxy.Config) { c.Engine = e }
}

var opened sync.Map // of the text of settings and rules

// AllowEverything is a policy that does.
func AllowEverything(t *testing.T) *rego.Engine {
	return Engine(t, "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"allow\", \"rule\": \"test.all\"}\n")
}

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
	qc := approvals.Config{Conceal: rego.Conceal, Store: st, Log: log, Digester: digester, SealKey: key, Redeem: time.Hour}
	if p.Queue != nil {
		p.Queue(&qc)
	}
	q, err := approvals.Open(ctx, qc)
	Must(t, err)
	ca, err := intercept.OpenCA(dir)
	Must(t, err)
	g := &Sidecar{T: t, Queue: q, log: log, CA: ca, Store: st, Client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	c := proxy.Config{Queue: q, Original: func(c net.Conn) (netip.AddrPort, error) { return g.original(c) }, Log: log, Digester: digester, CA: ca, Upstreams: map[string]*url.URL{}, MCP: map[string]*url.URL{}}
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
	q, err := approvals.Open(g.T.Context(), approvals.Config{Store: g.Store, Log: g.log, Digester: c.Digester, SealKey: []byte(strings.Repeat("\x07", 32)), Redeem: time.Hour})
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

// closings tells of each accepted connection that is closed.
type closings struct {
	net.Listener
	closed chan<- struct{}
}

func (l *closings) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &closing{Conn: c, closed: l.closed}, nil
}

type closing struct {
	net.Conn
	once   sync.Once
	closed chan<- struct{}
}

func (c *closing) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.closed <- struct{}{} })
	return err
}

func (c *closing) CloseWrite() error {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		return t.CloseWrite()
	}
	return errors.ErrUnsupported
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

// Noticed waits until the server has let a connection go that its client left:
// the handler has returned then.
func (g *Sidecar) Noticed() {
	g.T.Helper()
	select {
	case <-g.Closed:
	case <-time.After(Patience):
		g.T.Fatal("the server did not notice that its client has gone")
	}
}

// Post sends a model request through the base-URL door.
func (g *Sidecar) Post(ctx context.Context, path, body string) *http.Response {
	g.T.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+path, strings.NewReader(body))
	Must(g.T, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.Client.Do(req)
	Must(g.T, err)
	g.T.Cleanup(func() { resp.Body.Close() })
	return resp
}

// ReadAll reads to the end.
func ReadAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	Must(t, err)
	return string(b)
}

// Pending waits until so many requests are pending, and returns them.
func (g *Sidecar) Pending(n int) []approvals.Request {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), Patience)
	defer cancel()
	var list []approvals.Request
	find := func() bool {
		var err error
		list, err = g.Queue.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
		Must(g.T, err)
		return len(list) == n
	}
	if find() {
		return list
	}
	done := errors.New("found")
	err := g.Queue.Events(ctx, 0, func(approvals.Event) error {
		if find() {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) && !find() {
		g.T.Fatalf("%d requests are pending, want %d (%v)", len(list), n, err)
	}
	return list
}

// Decide answers a request in ann's name.
func (g *Sidecar) Decide(r approvals.Request, a holdgate.Answer, text string) {
	g.T.Helper()
	v := approvals.Vote{Decision: a, By: "ann", Channel: "cli", Digest: r.Call.Digest}
	switch a {
	case holdgate.AnswerSteer:
		v.Instructions = text
	default:
		v.Reason = text
	}
	_, err := g.Queue.Decide(g.T.Context(), r.ID, v)
	Must(g.T, err)
}

// Entries returns the audit entries of a type.
func (g *Sidecar) Entries(typ audit.Type) []audit.Entry {
	g.T.Helper()
	list, err := g.log.Query(g.T.Context(), audit.Query{Type: typ})
	Must(g.T, err)
	return list
}

// Eventually waits until the log has so many entries of a type.
func (g *Sidecar) Eventually(typ audit.Type, n int) []audit.Entry {
	g.T.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if list := g.Entries(typ); len(list) >= n {
			return list
		}
		select {
		case <-tick.C:
		case <-deadline:
			g.T.Fatalf("the log has %d entries of type %s, want %d", len(g.Entries(typ)), typ, n)
		}
	}
}

// Verified fails the test where the audit log does not verify.
func (g *Sidecar) Verified() {
	g.T.Helper()
	var out bytes.Buffer
	Must(g.T, g.log.Export(g.T.Context(), &out))
	rep, err := audit.Verify(&out, audit.VerifyOptions{})
	if err != nil {
		g.T.Fatalf("the audit log does not verify: %v (%+v)", err, rep)
	}
}

// A Counter counts what reaches an upstream.
type Counter struct {
	Mu     sync.Mutex
	Bodies []string
}

// Saw reads and keeps the body of a request, and returns it.
func (c *Counter) Saw(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Bodies = append(c.Bodies, string(b))
	return string(b)
}

// All returns the bodies that have come so far.
func (c *Counter) All() []string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.Clone(c.Bodies)
}

// Until reads a stream until what was read contains the words.
func Until(t testing.TB, r *bufio.Reader, words string) string {
	t.Helper()
	var b strings.Builder
	for !strings.Contains(b.String(), words) {
		line, err := r.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			t.Fatalf("the stream ended before %q: %v\n%s", words, err, b.String())
		}
	}
	return b.String()
}

// Proxied returns a client that goes through the forward proxy and trusts the
// gate's CA.
func (g *Sidecar) Proxied() *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(g.CA.Leaf)
	tr := &http.Transport{Proxy: http.ProxyURL(ParseURL(g.T, g.URL)), TLSClientConfig: &tls.Config{RootCAs: pool}, DisableCompression: true}
	g.T.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
