package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elazarl/goproxy"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// newTLSGate is a gate before an upstream that speaks TLS, with HTTP/2.
func newTLSGate(t *testing.T, upstream http.Handler, opts ...gateOption) (*sidecar, string) {
	t.Helper()
	return newTLSGateWith(t, parts{}, upstream, opts...)
}

func newTLSGateWith(t *testing.T, p parts, upstream http.Handler, opts ...gateOption) (*sidecar, string) {
	t.Helper()
	up := httptest.NewUnstartedServer(upstream)
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	pool := x509.NewCertPool()
	pool.AddCert(up.Certificate())
	opts = append(opts, func(c *proxy.Config) { c.Network.RootCAs = pool })
	return newGateWith(t, p, map[string]string{"test": up.URL}, nil, opts...), up.URL
}

// tunnel opens a CONNECT and returns the connection and the proxy's answer.
func (g *sidecar) tunnel(host string) (net.Conn, *http.Response) {
	g.t.Helper()
	c, err := net.Dial("tcp", g.addr)
	must(g.t, err)
	g.t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	must(g.t, err)
	return c, resp
}

// tunnelled opens a CONNECT on a connection, sends a request inside it and
// returns the status of the answer: that of CONNECT where it is refused, 0 where
// the connection ends instead.
func tunnelled(c net.Conn, host, request string, conf *tls.Config) int {
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, "a.example:443")
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return 0
	case resp.StatusCode != http.StatusOK:
		return resp.StatusCode
	}
	if conf != nil {
		c = tls.Client(c, conf)
		br.Reset(c)
	}
	if _, err := io.WriteString(c, request); err != nil {
		return 0
	}
	inner, err := http.ReadResponse(br, nil)
	if err != nil {
		return 0
	}
	defer inner.Body.Close()
	return inner.StatusCode
}

func (g *sidecar) trusting(sni string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(g.ca.Leaf)
	return &tls.Config{RootCAs: pool, ServerName: sni}
}

func TestInterceptedTrafficIsGated(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			var seen counter
			g, up := newTLSGate(t, streamer(&seen, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated"), msgEnd("tool_use")))
			client := g.proxied()
			client.Transport.(*http.Transport).ForceAttemptHTTP2 = proto == "HTTP/2.0"
			got := make(chan string, 1)
			go func() {
				resp, err := client.Post(up+"/v1/messages", "application/json", strings.NewReader(askStream))
				if err != nil {
					got <- err.Error()
					return
				}
				defer resp.Body.Close()
				b, _ := io.ReadAll(resp.Body)
				got <- resp.Proto + "\n" + string(b)
			}()
			g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
			if body := <-got; !strings.HasPrefix(body, proto) || !strings.Contains(body, msgTool("1", "toolu_1", "gated")) {
				t.Errorf("got:\n%s", body)
			}
		})
	}
}

func TestTheInsideOfATunnelIsForItsOwnHost(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, plainly(&seen, 200, `{}`))
	host := g.s.Config().Upstreams["test"].Host
	tests := []struct {
		name, request string
		status        int
	}{
		{"its own host", "GET /x HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 200},
		{"its own host in absolute form", "GET http://" + host + "/x HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 200},
		{"another host", "GET /x HTTP/1.1\r\nHost: other.example\r\n\r\n", 421},
		{"another port", "GET /x HTTP/1.1\r\nHost: " + route.HostOnly(host) + ":1\r\n\r\n", 421},
		{"another host in absolute form", "GET http://other.example/x HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 400},
		{"a tunnel in the tunnel", "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n", 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(seen.all())
			c, resp := g.tunnel(host)
			if resp.StatusCode != 200 {
				t.Fatalf("CONNECT: status %d", resp.StatusCode)
			}
			_, err := io.WriteString(c, tt.request)
			must(t, err)
			inner, err := http.ReadResponse(bufio.NewReader(c), nil)
			must(t, err)
			if inner.StatusCode != tt.status {
				t.Errorf("status %d, want %d", inner.StatusCode, tt.status)
			}
			if reached := len(seen.all()) > before; reached != (tt.status == 200) {
				t.Errorf("reached the upstream: %t", reached)
			}
		})
	}
}

// Some clients do not wait for the answer to CONNECT.
func TestWhatComesTogetherWithConnectIsRead(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, plainly(&seen, 200, `{}`))
	host := g.s.Config().Upstreams["test"].Host
	c, err := net.Dial("tcp", g.addr)
	must(t, err)
	defer c.Close()
	must(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\nGET /x HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host)
	must(t, err)
	br := bufio.NewReader(c)
	for _, method := range []string{http.MethodConnect, http.MethodGet} {
		resp, err := http.ReadResponse(br, &http.Request{Method: method})
		must(t, err)
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d", method, resp.StatusCode)
		}
	}
}

func TestATunnelWhoseTLSNamesAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	g := newGate(t, http.NotFoundHandler())
	c, _ := g.tunnel("a.example:443")
	conf := g.trusting("b.example")
	conf.InsecureSkipVerify = true // what matters is what the proxy does
	tc := tls.Client(c, conf)
	if err := tc.Handshake(); err == nil {
		if _, err := tc.Read(make([]byte, 1)); err == nil {
			t.Fatal("the tunnel stayed open")
		}
	}
	if rules := g.refusals(); len(rules) != 1 || rules[0] != holdgate.RuleAddress {
		t.Errorf("logged: %v", rules)
	}
}

// A client that leaves a held call inside CONNECT is noticed, so that the same
// call again attaches to what is held.
func TestAClientThatLeavesATunnelIsNoticed(t *testing.T) {
	t.Parallel()
	var seen counter
	g, up := newTLSGate(t, streamer(&seen, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated"), msgEnd("tool_use")))
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, up+"/v1/messages", strings.NewReader(askStream))
	must(t, err)
	resp, err := g.proxied().Do(req)
	must(t, err)
	until(t, bufio.NewReader(resp.Body), "before")
	first := g.pending(1)[0]
	leave()
	resp.Body.Close()
	g.noticed()
	got := make(chan string, 1)
	go func() {
		resp, err := g.proxied().Post(up+"/v1/messages", "application/json", strings.NewReader(askStream))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	g.decide(first, holdgate.AnswerApprove, "")
	if body := <-got; !strings.Contains(body, "toolu_1") || len(seen.all()) != 1 {
		t.Errorf("the model was asked %d times, and the retry got:\n%s", len(seen.all()), body)
	}
}

func TestLeavesAreOfTheOwnCAAndSignedOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t, http.NotFoundHandler())
	var serials []string
	for range 3 {
		c, _ := g.tunnel("a.example:443")
		tc := tls.Client(c, g.trusting("a.example"))
		must(t, tc.Handshake())
		leaf := tc.ConnectionState().PeerCertificates[0]
		serials = append(serials, leaf.SerialNumber.String())
		public := x509.NewCertPool()
		public.AddCert(goproxy.GoproxyCa.Leaf)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: public, DNSName: "a.example"}); err == nil {
			t.Error("the leaf is signed by the CA whose key is public")
		}
	}
	if serials[0] != serials[1] || serials[1] != serials[2] {
		t.Errorf("one host has leaves %v", serials)
	}
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	var strayed atomic.Int64
	stray := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer stray.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, stray.URL)
	}
	g := newGate(t, plainly(&counter{}, 200, `{}`))
	_ = readAll(t, g.post(t.Context(), "/up/test/x", "{}").Body)
	if c, resp := g.tunnel("203.0.113.1:80"); resp.StatusCode == 200 {
		_ = c.Close()
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests went through a proxy that the environment names", n)
	}
}

func TestAPanicCostsOneRequest(t *testing.T) {
	t.Parallel()
	var seen counter
	g, up := newTLSGateWith(t, parts{handler: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/broken" {
				w = &spy{w, func([]byte) error { panic("a mistake of ours") }}
			}
			h.ServeHTTP(w, r)
		})
	}}, plainly(&seen, 200, `{}`))
	for _, h2 := range []bool{false, true} {
		client := g.proxied()
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = h2
		if resp, err := client.Get(up + "/broken"); err == nil {
			resp.Body.Close()
			t.Errorf("HTTP/2 %t: a request that failed inside was answered with %d", h2, resp.StatusCode)
		}
		resp, err := client.Get(up + "/x")
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("HTTP/2 %t: status %d after a panic", h2, resp.StatusCode)
		}
	}
}

func TestUpstreamConnectionsAreReused(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	up := httptest.NewUnstartedServer(plainly(&counter{}, 200, `{}`))
	up.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			opened.Add(1)
		}
	}
	up.Start()
	t.Cleanup(up.Close)
	g := newGateTo(t, map[string]string{"test": up.URL}, nil)
	const clients, each = 16, 20
	var wg sync.WaitGroup
	for range clients {
		client := g.proxied()
		wg.Go(func() {
			for range each {
				resp, err := client.Get(up.URL + "/x")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n > 2*clients {
		t.Errorf("%d requests of %d clients opened %d upstream connections", clients*each, clients, n)
	}
}

func TestShutdownEndsTunnelsAndGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("a gate in use", func(t *testing.T) {
		var seen counter
		g, up := newTLSGate(t, streamer(&seen, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated"), msgEnd("tool_use")))
		g.tunnel("a.example:443") // says nothing
		idle := g.proxied()       // keeps its tunnel
		resp, err := idle.Head(up + "/x")
		must(t, err)
		resp.Body.Close()
		cut := make(chan error, 1)
		go func() {
			resp, err := g.proxied().Post(up+"/v1/messages", "application/json", strings.NewReader(askStream))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			cut <- err
		}()
		g.pending(1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := g.s.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-cut; err == nil {
			t.Error("a held stream ended as if it were whole")
		}
		if n := len(g.entries(audit.TypeOutcome)); n != 0 {
			t.Error("shutting down ended what was pending")
		}
	})
	deadline := time.After(patience)
	for runtime.NumGoroutine() > before {
		select {
		case <-deadline:
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		default:
			runtime.Gosched()
		}
	}
}
