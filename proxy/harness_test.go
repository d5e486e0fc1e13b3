package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// testPolicy decides by words in the call, so that a test says in the call
// what becomes of it.
const testPolicy = `package holdgate

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

// patience ends a test that hangs. It is long: a machine that is busy is no
// fault of the program.
const patience = 3 * time.Minute

// A sidecar is a Server of the package with everything real behind it.
type sidecar struct {
	t      testing.TB
	s      *proxy.Server
	queue  *approvals.Queue
	log    *audit.Log
	url    string // of the agents' door
	addr   string
	ca     *tls.Certificate
	store  store.Store
	client *http.Client
	closed chan struct{} // gets one for each connection that the server has closed

	original func(net.Conn) (netip.AddrPort, error) // where a redirected connection was to go
}

type gateOption func(*proxy.Config)

func withIdle(d time.Duration) gateOption { return func(c *proxy.Config) { c.Limits.Idle = d } }

// withShippedPolicy decides by the pack that Holdgate ships.
func withShippedPolicy() gateOption {
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
	return rego.Open(context.Background(), rego.Options{Timeout: patience})
})

// withNames has agents' names resolved by a server of the test's own.
func withNames(r *net.Resolver) gateOption { return func(c *proxy.Config) { c.Network.Resolver = r } }

func withNotice() gateOption { return func(c *proxy.Config) { c.Models.Notice = true } }

// withPolicy decides by a policy of the test's own.
func withPolicy(t *testing.T, text string) gateOption {
	e := engine(t, text)
	return func(c *proxy.Config) { c.Engine = e }
}

// engine is one for all tests that decide by the same text: most of the time of many went into its compilation.
func engine(t testing.TB, text string) *rego.Engine {
	t.Helper()
	open, _ := engines.LoadOrStore(text, sync.OnceValues(func() (*rego.Engine, error) {
		path := filepath.Join(t.TempDir(), "policy.rego")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
		return rego.Open(context.WithoutCancel(t.Context()), rego.Options{Path: path, Timeout: patience})
	}))
	e, err := open.(func() (*rego.Engine, error))()
	must(t, err)
	return e
}

var engines sync.Map // of the text of a policy

func allowEverything(t *testing.T) *rego.Engine {
	return engine(t, "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"allow\", \"rule\": \"test.all\"}\n")
}

func newGate(t testing.TB, upstream http.Handler, opts ...gateOption) *sidecar {
	t.Helper()
	return newGateTo(t, map[string]string{"test": newUpstream(t, upstream)}, nil, opts...)
}

func newUpstream(t testing.TB, h http.Handler) string {
	t.Helper()
	up := httptest.NewServer(h)
	t.Cleanup(up.Close)
	return up.URL
}

func newGateTo(t testing.TB, upstreams, mcps map[string]string, opts ...gateOption) *sidecar {
	t.Helper()
	return newGateWith(t, parts{}, upstreams, mcps, opts...)
}

// parts puts something of a test's own before the store and the handlers.
type parts struct {
	store   func(store.Store) store.Store
	handler func(http.Handler) http.Handler
	queue   func(*approvals.Config)
}

func newGateWith(t testing.TB, p parts, upstreams, mcps map[string]string, opts ...gateOption) *sidecar {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	st := teststore.Open(t, filepath.Join(dir, "db"))
	if p.store != nil {
		st = p.store(st)
	}
	key := bytes.Repeat([]byte{7}, 32)
	log, err := audit.Open(ctx, st, key)
	must(t, err)
	digester, err := holdgate.NewDigester(key)
	must(t, err)
	qc := approvals.Config{Conceal: rego.Conceal, Store: st, Log: log, Digester: digester, SealKey: key, Redeem: time.Hour}
	if p.queue != nil {
		p.queue(&qc)
	}
	q, err := approvals.Open(ctx, qc)
	must(t, err)
	ca, err := intercept.OpenCA(dir)
	must(t, err)
	g := &sidecar{t: t, queue: q, log: log, ca: ca, store: st, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	c := proxy.Config{Queue: q, Original: func(c net.Conn) (netip.AddrPort, error) { return g.original(c) }, Log: log, Digester: digester, CA: ca, Upstreams: map[string]*url.URL{}, MCP: map[string]*url.URL{}}
	for name, u := range upstreams {
		c.Upstreams[name] = parseURL(t, u)
	}
	for name, u := range mcps {
		c.MCP[name] = parseURL(t, u)
	}
	for _, o := range opts {
		o(&c)
	}
	if c.Engine == nil {
		c.Engine = engine(t, testPolicy)
	}
	s, err := proxy.New(context.WithoutCancel(ctx), c)
	must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed := make(chan struct{}, 1<<16)
	for _, srv := range s.Servers() {
		if p.handler != nil {
			srv.Handler = p.handler(srv.Handler)
		}
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&closings{ln, closed}) }()
	g.s, g.url, g.addr, g.closed = s, "http://"+ln.Addr().String(), ln.Addr().String(), closed
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
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

// newGate has what comes be decided as by a sidecar that has started again.
func (g *sidecar) newGate() {
	g.s.Forget()
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	must(t, err)
	return u
}

// noticed waits until the server has let a connection go that its client left:
// the handler has returned then.
func (g *sidecar) noticed() {
	g.t.Helper()
	select {
	case <-g.closed:
	case <-time.After(patience):
		g.t.Fatal("the server did not notice that its client has gone")
	}
}

// post sends a model request through the base-URL door.
func (g *sidecar) post(ctx context.Context, path, body string) *http.Response {
	g.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, strings.NewReader(body))
	must(g.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(req)
	must(g.t, err)
	g.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	must(t, err)
	return string(b)
}

// pending waits until so many requests are pending, and returns them.
func (g *sidecar) pending(n int) []approvals.Request {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	var list []approvals.Request
	find := func() bool {
		var err error
		list, err = g.queue.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
		must(g.t, err)
		return len(list) == n
	}
	if find() {
		return list
	}
	done := errors.New("found")
	err := g.queue.Events(ctx, 0, func(approvals.Event) error {
		if find() {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) && !find() {
		g.t.Fatalf("%d requests are pending, want %d (%v)", len(list), n, err)
	}
	return list
}

func (g *sidecar) decide(r approvals.Request, a holdgate.Answer, text string) {
	g.t.Helper()
	v := approvals.Vote{Decision: a, By: "ann", Channel: "cli", Digest: r.Call.Digest}
	switch a {
	case holdgate.AnswerSteer:
		v.Instructions = text
	default:
		v.Reason = text
	}
	_, err := g.queue.Decide(g.t.Context(), r.ID, v)
	must(g.t, err)
}

// entries returns the audit entries of a type.
func (g *sidecar) entries(typ audit.Type) []audit.Entry {
	g.t.Helper()
	list, err := g.log.Query(g.t.Context(), audit.Query{Type: typ})
	must(g.t, err)
	return list
}

// verified fails the test where the audit log does not verify.
func (g *sidecar) verified() {
	g.t.Helper()
	var out bytes.Buffer
	must(g.t, g.log.Export(g.t.Context(), &out))
	rep, err := audit.Verify(&out, audit.VerifyOptions{})
	if err != nil {
		g.t.Fatalf("the audit log does not verify: %v (%+v)", err, rep)
	}
}

// A counter counts what reaches an upstream.
type counter struct {
	mu     sync.Mutex
	bodies []string
}

func (c *counter) saw(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, string(b))
	return string(b)
}

func (c *counter) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies)
}

// streamer answers with the events given, flushed one by one.
func streamer(seen *counter, events ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.saw(r)
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			_ = rc.Flush()
		}
	})
}

func plainly(seen *counter, status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.saw(r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// The events of a message of the Messages API.
func msgStart() string {
	return sse("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`)
}

func msgText(i, text string) string {
	return sse("content_block_start", `{"type":"content_block_start","index":`+i+`,"content_block":{"type":"text","text":""}}`) +
		sse("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"text_delta","text":"`+text+`"}}`) +
		sse("content_block_stop", `{"type":"content_block_stop","index":`+i+`}`)
}

func msgTool(i, id, command string) string {
	return sse("content_block_start", `{"type":"content_block_start","index":`+i+`,"content_block":{"type":"tool_use","id":"`+id+`","name":"Bash","input":{}}}`) +
		sse("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"input_json_delta","partial_json":"{\"command\": "}}`) +
		sse("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"input_json_delta","partial_json":"\"`+command+`\"}"}}`) +
		sse("content_block_stop", `{"type":"content_block_stop","index":`+i+`}`)
}

func msgEnd(reason string) string {
	return sse("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":9}}`) +
		sse("message_stop", `{"type":"message_stop"}`)
}

func sse(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

const (
	messages   = "/up/test/v1/messages"
	askStream  = `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"go"}]}`
	askPlain   = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}]}`
	noticeWord = "[holdgate]"
)

// until reads a stream until what was read contains the words.
func until(t testing.TB, r *bufio.Reader, words string) string {
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

// proxied returns a client that goes through the forward proxy and trusts the
// gate's CA.
func (g *sidecar) proxied() *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(g.ca.Leaf)
	tr := &http.Transport{Proxy: http.ProxyURL(parseURL(g.t, g.url)), TLSClientConfig: &tls.Config{RootCAs: pool}, DisableCompression: true}
	g.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func itoa(n int) string { return strconv.Itoa(n) }
