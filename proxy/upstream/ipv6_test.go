package upstream_test

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
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

// on6 serves at an address of IP version 6 alone, plainly or with TLS and HTTP/2.
func on6(t *testing.T, secure bool) (origin string, roots *x509.CertPool) {
	t.Helper()
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("SKIPPED: no IPv6 here: %v", err)
	}
	ca := newAuthority(t, "Test Root", nil)
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto+" "+r.Host+r.URL.Path) }))
	proxytest.Must(t, up.Listener.Close())
	up.Listener = ln
	t.Cleanup(up.Close)
	if !secure {
		up.Start()
		return "http://" + ln.Addr().String(), ca.pool()
	}
	up.EnableHTTP2 = true
	up.TLS = &tls.Config{Certificates: []tls.Certificate{ca.leaf(t, nil, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, []net.IP{net.IPv6loopback} })}}
	up.StartTLS()
	return "https://" + ln.Addr().String(), ca.pool()
}

// Each door leads to addresses of IP version 6, written in brackets, on any
// port, and is itself served at one.
func TestIPv6FromEndToEnd(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			origin, roots := on6(t, secure)
			_, host, _ := strings.Cut(origin, "://")
			g := proxytest.NewTo(t, map[string]string{"test": origin}, nil, proxytest.WithPolicy(t, allowAllText), func(c *proxy.Config) { c.Network.RootCAs = roots })
			at6, err := net.Listen("tcp6", "[::1]:0")
			proxytest.Must(t, err)
			done := make(chan error, 1)
			go func() { done <- g.Server.Serve(at6) }()
			t.Cleanup(func() {
				_ = at6.Close()
				<-done // closing it is an end like another
			})
			door := "http://" + at6.Addr().String()
			proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[secure] // as the upstream offers it
			for name, ask := range map[string]func() (*http.Response, error){
				"base URL": func() (*http.Response, error) { return g.Client.Get(door + "/up/test/x") },
				"forward": func() (*http.Response, error) {
					client := g.Proxied()
					client.Transport.(*http.Transport).Proxy = http.ProxyURL(proxytest.ParseURL(t, door))
					return client.Get(origin + "/x")
				},
				"CONNECT without TLS inside": func() (*http.Response, error) {
					if secure {
						return g.Client.Get(door + "/up/test/x")
					}
					c, _ := g.Tunnel(host)
					_, err := fmt.Fprintf(c, "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", host)
					proxytest.Must(t, err)
					return http.ReadResponse(bufio.NewReader(c), nil)
				},
				"transparent": func() (*http.Response, error) {
					addr := g.Redirect(host, nil)
					client := g.Proxied()
					tr := client.Transport.(*http.Transport)
					tr.Proxy = nil
					tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
						return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
					}
					return client.Get(origin + "/x")
				},
			} {
				resp, err := ask()
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if want := proto + " " + host + "/x"; err != nil || string(body) != want {
					t.Errorf("%s: status %d: %s, want %s", name, resp.StatusCode, body, want)
				}
			}
			for _, e := range g.Entries(audit.TypeDecision) {
				if e.Call.HTTP != "GET "+host+"/x" {
					t.Errorf("policy saw %s", e.Call.HTTP)
				}
			}
		})
	}
}

// An address of version 6 that no configuration names is refused however it is
// written.
func TestIPv6AddressesOfOurOwnAreRefused(t *testing.T) {
	t.Parallel()
	origin, _ := on6(t, false)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(origin, "http://"))
	proxytest.Must(t, err)
	g := proxytest.NewTo(t, nil, nil, proxytest.WithPolicy(t, allowAllText))
	for _, host := range []string{"[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::ffff:127.0.0.1]", "[::]", "[::127.0.0.1]", "[64:ff9b::7f00:1]"} {
		resp, err := g.Proxied().Get("http://" + host + ":" + port + "/x")
		proxytest.Must(t, err)
		if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 403 {
			t.Errorf("%s: status %d: %s", host, resp.StatusCode, body)
		}
		resp.Body.Close()
	}
}
