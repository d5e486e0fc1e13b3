package upstream_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// A middleman is a proxy on the way to upstreams. Whatever it is asked for it
// finds at one address.
type middleman struct {
	*httptest.Server
	status int // of each answer; 0: it does as it is asked

	mu    sync.Mutex
	asked []string // "METHOD HOST" or "METHOD URL", and who asks
}

func newMiddleman(t *testing.T, leadsTo string) *middleman {
	t.Helper()
	m := &middleman{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		login := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
		user, password, _ := login.BasicAuth()
		m.mu.Lock()
		m.asked = append(m.asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+user+" "+password))
		m.mu.Unlock()
		if m.status != 0 {
			w.WriteHeader(m.status)
			return
		}
		up, err := net.Dial("tcp", leadsTo)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer up.Close()
		if r.Method != http.MethodConnect {
			r.Header.Del("Proxy-Authorization")
			if err := r.Write(up); err != nil {
				return
			}
			_ = up.(*net.TCPConn).CloseWrite()
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.Copy(c, up)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(up, c)
			_ = up.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(c, up)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *middleman) was() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// through sends everything through a proxy, with a user and password.
func through(t testing.TB, middle string, lookup bool) proxytest.Option {
	u := proxytest.ParseURL(t, middle)
	u.User = url.UserPassword("ann", "pa:ss")
	return func(c *proxy.Config) {
		c.Network.ProxyFor, c.Network.ProxyLooksUp = func(*url.URL) *url.URL { return u }, !lookup
	}
}

// exampleServer speaks TLS for api.example and everything below it.
func exampleServer(t *testing.T, h http.Handler) (addr string, roots *x509.CertPool) {
	t.Helper()
	ca := newAuthority(t, "Test Root", nil)
	up := httptest.NewUnstartedServer(h)
	up.EnableHTTP2 = true
	up.Config.ErrorLog = log.New(io.Discard, "", 0)
	up.TLS = &tls.Config{Certificates: []tls.Certificate{ca.leaf(t, nil, func(c *x509.Certificate) { c.DNSNames = []string{"api.example", "*.api.example"} })}}
	up.StartTLS()
	t.Cleanup(up.Close)
	return up.Listener.Addr().String(), ca.pool()
}

func TestUpstreamsAreReachedThroughAProxy(t *testing.T) {
	t.Parallel()
	addr, roots := exampleServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.Host+r.URL.Path) }))
	m := newMiddleman(t, addr)
	g := proxytest.NewTo(t, map[string]string{"test": "https://api.example"}, nil, through(t, m.URL, false), proxytest.WithPolicy(t, allowAllText), func(c *proxy.Config) { c.Network.RootCAs = roots })
	resp := g.Post(t.Context(), "/up/test/x", "{}")
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 200 || body != "HTTP/2.0 api.example/x" {
		t.Errorf("base URL: status %d: %s", resp.StatusCode, body)
	}
	resp, err := g.Proxied().Get("https://other.api.example/y")
	proxytest.Must(t, err)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 200 || body != "HTTP/2.0 other.api.example/y" {
		t.Errorf("forward proxy: status %d: %s", resp.StatusCode, body)
	}
	if want := []string{"CONNECT api.example:443 ann pa:ss", "CONNECT other.api.example:443 ann pa:ss"}; !slices.Equal(m.was(), want) {
		t.Errorf("the proxy was asked for %q, want %q", m.was(), want)
	}
	if n := len(g.Entries(audit.TypeDecision)); n != 2 {
		t.Errorf("%d decisions are logged, want 2", n)
	}
}

func TestPlainRequestsGoThroughAProxy(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+r.URL.Path+r.Header.Get("Proxy-Authorization"))
	}))
	defer up.Close()
	m := newMiddleman(t, up.Listener.Addr().String())
	g := proxytest.NewTo(t, nil, nil, through(t, m.URL, false), proxytest.WithPolicy(t, allowAllText))
	resp, err := g.Proxied().Get("http://api.example/x")
	proxytest.Must(t, err)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 200 || body != "api.example/x" {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if want := []string{"GET http://api.example/x ann pa:ss"}; !slices.Equal(m.was(), want) {
		t.Errorf("the proxy was asked for %q, want %q", m.was(), want)
	}
}

// What policy refuses never comes to the proxy, and a proxy is no way to
// addresses that would be refused without it.
func TestAProxyIsNoWayAround(t *testing.T) {
	t.Parallel()
	m := newMiddleman(t, "127.0.0.1:1")
	far := proxytest.NewTo(t, nil, nil, through(t, m.URL, false), proxytest.WithPolicy(t, allowAllText))
	near := proxytest.NewTo(t, nil, nil, through(t, m.URL, true), proxytest.WithPolicy(t, allowAllText))
	denying := proxytest.NewTo(t, nil, nil, through(t, m.URL, false), proxytest.WithPolicy(t, proxytest.DenyAll))
	tests := []struct {
		name string
		g    *proxytest.Sidecar
		url  string
		want string
	}{
		{"policy", denying, "http://api.example/x", "no"},
		{"loopback", far, "http://127.0.0.1:9/", "it is a loopback address"},
		{"loopback, version 6", far, "http://[::1]:9/", "it is a loopback address"},
		{"mapped", far, "http://[::ffff:127.0.0.1]:9/", "it is a loopback address"},
		{"metadata", far, "http://169.254.169.254/latest", "metadata"},
		{"private", far, "http://10.0.0.1/", "it is a private address"},
		{"decimal", far, "http://2130706433/", "an address to some programs"},
		{"hexadecimal", far, "http://0x7f.0x1/", "an address to some programs"},
		{"octal", far, "http://0177.0.0.01/", "an address to some programs"},
		{"short", far, "http://127.1/", "an address to some programs"},
		{"localhost", far, "http://LOCALHOST:9/", "names without a dot"},
		{"localhost with a dot", far, "http://localhost.:9/", "names without a dot"},
		{"a name of the cloud's", far, "http://metadata.google.internal/", "names without a dot and those under"},
		{"a name of the house", far, "http://printer.local./", "names without a dot and those under"},
		{"our own port by a name", far, "http://rebound.example:" + far.Port() + "/", "Holdgate itself listens at that port"},
		{"a name that is private, looked up here", near, "http://localhost:9/", "it is a loopback address"},
		{"a name that nobody knows here", near, "http://nowhere.invalid/", "upstream_proxy.lookup: proxy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := tt.g.Proxied().Get(tt.url)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 403 || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, want 403 and %q: %s", resp.StatusCode, tt.want, body)
			}
		})
	}
	if asked := m.was(); len(asked) != 0 {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

func TestWhichProxyFailedIsSaid(t *testing.T) {
	t.Parallel()
	const gone = "127.0.0.1:1" // a port that was closed is soon another test's
	refusing := func(status int) string {
		m := newMiddleman(t, gone)
		m.status = status
		return m.URL
	}
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	for _, tt := range []struct{ name, proxy, want string }{
		{"nobody listens", "http://" + gone, "connection refused"},
		{"it wants a login", refusing(407), "upstream_proxy.credentials_file"},
		{"it refuses", refusing(403), "does not let this host through"},
		{"it is broken", refusing(502), "502"},
		{"nobody knows its certificate", tls.URL, "signed by itself"},
		{"SOCKS, nobody listens", "socks5://" + gone, "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := proxytest.NewTo(t, map[string]string{"test": "https://api.example"}, nil, through(t, tt.proxy, false), proxytest.WithPolicy(t, allowAllText),
				func(c *proxy.Config) { c.PassThrough = []intercept.PassThrough{{Host: "pinned.example"}} })
			resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain)
			body := proxytest.ReadAll(t, resp.Body)
			if resp.StatusCode != 502 || !strings.Contains(body, "the upstream proxy "+tt.proxy+" failed") || !strings.Contains(body, tt.want) || strings.Contains(body, "pa:ss") {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			if strings.HasPrefix(tt.proxy, "socks") {
				return
			}
			_, answer := g.Tunnel("pinned.example:443")
			if body := proxytest.ReadAll(t, answer.Body); answer.StatusCode != 502 || !strings.Contains(body, "the upstream proxy "+tt.proxy+" failed") {
				t.Errorf("passing on: status %d: %s", answer.StatusCode, body)
			}
		})
	}
	g := proxytest.NewTo(t, nil, nil, through(t, refusing(407), false), proxytest.WithPolicy(t, allowAllText))
	resp, err := g.Proxied().Get("http://api.example/x")
	proxytest.Must(t, err)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 502 || !strings.Contains(body, "upstream_proxy.credentials_file") {
		t.Errorf("a plain request: status %d: %s", resp.StatusCode, body)
	}
}

// HTTPS_PROXY may name this very sidecar where it was meant for agents.
func TestHoldgateIsNoProxyOfItsOwn(t *testing.T) {
	t.Parallel()
	var own *url.URL
	g := proxytest.NewTo(t, map[string]string{"test": "https://api.example"}, nil, proxytest.WithPolicy(t, allowAllText),
		func(c *proxy.Config) { c.Network.ProxyFor = func(*url.URL) *url.URL { return own } })
	own = proxytest.ParseURL(t, g.URL)
	resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 502 || !strings.Contains(body, "Holdgate itself listens there") {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
}

// A connection to a host that is passed on is the client's own TLS with the
// server: policy is asked, and the log says that nobody looked.
func TestAPassThroughHostIsNotRead(t *testing.T) {
	t.Parallel()
	addr, roots := exampleServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pinned") }))
	m := newMiddleman(t, addr)
	conf := &tls.Config{RootCAs: roots, ServerName: "api.example"}
	for door, dial := range map[string]func(*proxytest.Sidecar) net.Conn{
		"forward": func(g *proxytest.Sidecar) net.Conn {
			c, resp := g.Tunnel("api.example:443")
			if resp.StatusCode != 200 {
				t.Errorf("CONNECT: status %d", resp.StatusCode)
			}
			return c
		},
		"transparent": func(g *proxytest.Sidecar) net.Conn {
			c, err := net.Dial("tcp", g.Redirect("203.0.113.9:443", nil))
			proxytest.Must(t, err)
			return c
		},
	} {
		t.Run(door, func(t *testing.T) {
			g := proxytest.NewTo(t, nil, nil, through(t, m.URL, false), proxytest.WithPolicy(t, allowAllText), func(c *proxy.Config) { c.PassThrough = []intercept.PassThrough{{Host: "api.example"}} })
			raw := dial(g)
			defer raw.Close()
			c := tls.Client(raw, conf)
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n")
			proxytest.Must(t, err)
			if body := proxytest.ReadAll(t, c); !strings.HasSuffix(body, "pinned") {
				t.Errorf("got %q", body)
			}
			e := g.Eventually(audit.TypeDecision, 1)[0]
			if e.Door != door || e.Call.HTTP != "CONNECT api.example" || !strings.Contains(e.Note, "is not seen") || e.Decision.Action != holdgate.Allow {
				t.Errorf("logged by the door %s: %s, %s, %s", e.Door, e.Call.HTTP, e.Note, e.Decision.Action)
			}
		})
	}
}

func TestWhatIsNotPassedOn(t *testing.T) {
	t.Parallel()
	addr, _ := exampleServer(t, http.NotFoundHandler())
	m := newMiddleman(t, addr)
	pass := func(c *proxy.Config) { c.PassThrough = []intercept.PassThrough{{Host: "*.api.example"}} }
	t.Run("what policy refuses", func(t *testing.T) {
		g := proxytest.NewTo(t, nil, nil, through(t, m.URL, false), proxytest.WithPolicy(t, proxytest.DenyAll), pass)
		if _, resp := g.Tunnel("a.api.example:443"); resp.StatusCode != 403 {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
	t.Run("a private address", func(t *testing.T) {
		g := proxytest.NewTo(t, nil, nil, proxytest.WithPolicy(t, allowAllText), func(c *proxy.Config) { c.PassThrough = []intercept.PassThrough{{Host: "localhost:9"}} })
		if _, resp := g.Tunnel("localhost:9"); resp.StatusCode != 403 {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
	for name, first := range map[string]func(net.Conn){
		"the TLS of another host": func(c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "b.api.example", InsecureSkipVerify: true}).Handshake()
		},
		"no TLS": func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			g := proxytest.NewTo(t, nil, nil, through(t, m.URL, false), proxytest.WithPolicy(t, allowAllText), pass)
			c, resp := g.Tunnel("a.api.example:443")
			if resp.StatusCode != 200 {
				t.Fatalf("status %d", resp.StatusCode)
			}
			first(c)
			if e := g.Eventually(audit.TypeRefused, 1)[0]; !strings.Contains(e.Note, "the connection leads to a.api.example:443 and ") {
				t.Errorf("refused: %s", e.Note)
			}
		})
	}
}

// Hosts whose connections carry calls are passed on only where that is said
// twice.
func TestModelsAreNotPassedOn(t *testing.T) {
	t.Parallel()
	c := proxytest.NewTo(t, map[string]string{"test": "https://llm.example"}, map[string]string{"files": "https://mcp.example"}).Config
	c.Formats = []route.Format{{Host: "gateway.example", Path: "/llm", Name: "openai"}}
	for _, host := range []string{"api.anthropic.com", "API.openai.com.:443", "llm.example", "mcp.example:443", "gateway.example"} {
		c.PassThrough = []intercept.PassThrough{{Host: host}}
		if _, err := proxy.New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "calls_unseen") {
			t.Errorf("%s: %v", host, err)
		}
	}
	c.PassThrough = []intercept.PassThrough{{Host: "*.anthropic.com"}, {Host: "api.openai.com", CallsUnseen: true}}
	if _, err := proxy.New(t.Context(), c); err != nil {
		t.Error(err)
	}
}
