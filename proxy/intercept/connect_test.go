package intercept_test

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

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/elazarl/goproxy"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

func TestInterceptedTrafficIsGated(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			var seen proxytest.Counter
			g, up := proxytest.NewTLS(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
			client := g.Proxied()
			client.Transport.(*http.Transport).ForceAttemptHTTP2 = proto == "HTTP/2.0"
			got := make(chan string, 1)
			go func() {
				resp, err := client.Post(up+"/v1/messages", "application/json", strings.NewReader(proxytest.AskStream))
				if err != nil {
					got <- err.Error()
					return
				}
				defer resp.Body.Close()
				b, _ := io.ReadAll(resp.Body)
				got <- resp.Proto + "\n" + string(b)
			}()
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			if body := <-got; !strings.HasPrefix(body, proto) || !strings.Contains(body, proxytest.MessageTool("1", "toolu_1", "gated")) {
				t.Errorf("got:\n%s", body)
			}
		})
	}
}

func TestTheInsideOfATunnelIsForItsOwnHost(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`))
	host := g.Config.Upstreams["test"].Host
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
			before := len(seen.All())
			c, resp := g.Tunnel(host)
			if resp.StatusCode != 200 {
				t.Fatalf("CONNECT: status %d", resp.StatusCode)
			}
			_, err := io.WriteString(c, tt.request)
			proxytest.Must(t, err)
			inner, err := http.ReadResponse(bufio.NewReader(c), nil)
			proxytest.Must(t, err)
			if inner.StatusCode != tt.status {
				t.Errorf("status %d, want %d", inner.StatusCode, tt.status)
			}
			if reached := len(seen.All()) > before; reached != (tt.status == 200) {
				t.Errorf("reached the upstream: %t", reached)
			}
		})
	}
}

// A tunnel that is being opened when a shutdown begins is served once.
func TestAShutdownWaitsForATunnelThatIsBeingOpened(t *testing.T) {
	t.Parallel()
	g, up := proxytest.NewTLS(t, proxytest.Answer(new(proxytest.Counter), 200, `{}`))
	host := strings.TrimPrefix(up, "https://")
	c, err := net.Dial("tcp", g.Addr)
	proxytest.Must(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host)
	proxytest.Must(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(c, int64(len("HTTP/1.1 200 Connection established\r\n\r\n")))), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %v, %v", resp, err)
	}
	over := make(chan error, 1)
	go func() { over <- g.Server.Shutdown(context.WithoutCancel(t.Context())) }()
	for refused := false; !refused; { // it has begun once nobody listens
		other, err := net.Dial("tcp", g.Addr)
		if refused = err != nil; !refused {
			_ = other.Close()
		}
	}
	pool := g.Proxied().Transport.(*http.Transport).TLSClientConfig.RootCAs
	inside := tls.Client(c, &tls.Config{RootCAs: pool, ServerName: route.HostOnly(host)})
	_, err = fmt.Fprintf(inside, "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", host)
	proxytest.Must(t, err)
	resp, err = http.ReadResponse(bufio.NewReader(inside), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the request inside: %v, %v", resp, err)
	}
	proxytest.Must(t, <-over)
}

// Some clients do not wait for the answer to CONNECT.
func TestWhatComesTogetherWithConnectIsRead(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`))
	host := g.Config.Upstreams["test"].Host
	c, err := net.Dial("tcp", g.Addr)
	proxytest.Must(t, err)
	defer c.Close()
	proxytest.Must(t, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	_, err = fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\nGET /x HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host)
	proxytest.Must(t, err)
	br := bufio.NewReader(c)
	for _, method := range []string{http.MethodConnect, http.MethodGet} {
		resp, err := http.ReadResponse(br, &http.Request{Method: method})
		proxytest.Must(t, err)
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d", method, resp.StatusCode)
		}
	}
}

func TestATunnelWhoseTLSNamesAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.NotFoundHandler())
	c, _ := g.Tunnel("a.example:443")
	conf := g.Trusting("b.example")
	conf.InsecureSkipVerify = true // what matters is what the proxy does
	tc := tls.Client(c, conf)
	if err := tc.Handshake(); err == nil {
		if _, err := tc.Read(make([]byte, 1)); err == nil {
			t.Fatal("the tunnel stayed open")
		}
	}
	if rules := g.Refusals(); len(rules) != 1 || rules[0] != holdgate.RuleAddress {
		t.Errorf("logged: %v", rules)
	}
}

// A client that leaves a held call inside CONNECT is noticed, so that the same
// call again attaches to what is held.
func TestAClientThatLeavesATunnelIsNoticed(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g, up := proxytest.NewTLS(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, up+"/v1/messages", strings.NewReader(proxytest.AskStream))
	proxytest.Must(t, err)
	resp, err := g.Proxied().Do(req)
	proxytest.Must(t, err)
	proxytest.Until(t, bufio.NewReader(resp.Body), "before")
	first := g.Pending(1)[0]
	leave()
	resp.Body.Close()
	g.Noticed()
	got := make(chan string, 1)
	go func() {
		resp, err := g.Proxied().Post(up+"/v1/messages", "application/json", strings.NewReader(proxytest.AskStream))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	g.Decide(first, holdgate.AnswerApprove, "")
	if body := <-got; !strings.Contains(body, "toolu_1") || len(seen.All()) != 1 {
		t.Errorf("the model was asked %d times, and the retry got:\n%s", len(seen.All()), body)
	}
}

func TestLeavesAreOfTheOwnCAAndSignedOnce(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.NotFoundHandler())
	var serials []string
	for range 3 {
		c, _ := g.Tunnel("a.example:443")
		tc := tls.Client(c, g.Trusting("a.example"))
		proxytest.Must(t, tc.Handshake())
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
	g := proxytest.New(t, proxytest.Answer(&proxytest.Counter{}, 200, `{}`))
	_ = proxytest.ReadAll(t, g.Post(t.Context(), "/up/test/x", "{}").Body)
	if c, resp := g.Tunnel("203.0.113.1:80"); resp.StatusCode == 200 {
		_ = c.Close()
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests went through a proxy that the environment names", n)
	}
}

func TestUpstreamConnectionsAreReused(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	up := httptest.NewUnstartedServer(proxytest.Answer(&proxytest.Counter{}, 200, `{}`))
	up.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			opened.Add(1)
		}
	}
	up.Start()
	t.Cleanup(up.Close)
	g := proxytest.NewTo(t, map[string]string{"test": up.URL}, nil)
	const clients, each = 16, 20
	var wg sync.WaitGroup
	for range clients {
		client := g.Proxied()
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
		var seen proxytest.Counter
		g, up := proxytest.NewTLS(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
		g.Tunnel("a.example:443") // says nothing
		idle := g.Proxied()       // keeps its tunnel
		resp, err := idle.Head(up + "/x")
		proxytest.Must(t, err)
		resp.Body.Close()
		cut := make(chan error, 1)
		go func() {
			resp, err := g.Proxied().Post(up+"/v1/messages", "application/json", strings.NewReader(proxytest.AskStream))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			cut <- err
		}()
		g.Pending(1)
		ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
		defer cancel()
		if err := g.Server.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-cut; err == nil {
			t.Error("a held stream ended as if it were whole")
		}
		if n := len(g.Entries(audit.TypeOutcome)); n != 0 {
			t.Error("shutting down ended what was pending")
		}
	})
	proxytest.Await(t, "the end of its goroutines", func() (bool, any) {
		n := runtime.NumGoroutine()
		return n <= before, fmt.Sprintf("%d before, %d after", before, n)
	})
}
