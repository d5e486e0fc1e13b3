package proxytest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/intercept"
)

// NewTLS is a gate before an upstream that speaks TLS, with HTTP/2.
func NewTLS(t *testing.T, upstream http.Handler, opts ...Option) (*Sidecar, string) {
	t.Helper()
	return NewTLSWith(t, Parts{}, upstream, opts...)
}

// NewTLSWith is [NewTLS] with something of the test's own in it.
func NewTLSWith(t *testing.T, p Parts, upstream http.Handler, opts ...Option) (*Sidecar, string) {
	t.Helper()
	up := httptest.NewUnstartedServer(upstream)
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	pool := x509.NewCertPool()
	pool.AddCert(up.Certificate())
	opts = append(opts, func(c *proxy.Config) { c.Network.RootCAs = pool })
	return NewWith(t, p, map[string]string{"test": up.URL}, nil, opts...), up.URL
}

// Tunnel opens a CONNECT and returns the connection and the proxy's answer.
func (g *Sidecar) Tunnel(host string) (net.Conn, *http.Response) {
	g.T.Helper()
	c, err := net.Dial("tcp", g.Addr)
	Must(g.T, err)
	g.T.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	Must(g.T, err)
	return c, resp
}

// InTunnel opens a CONNECT on a connection, sends a request inside it and
// returns the status of the answer: that of CONNECT where it is refused, 0 where
// the connection ends instead.
func InTunnel(c net.Conn, host, request string, conf *tls.Config) int {
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

// Trusting trusts the sidecar's CA.
func (g *Sidecar) Trusting(sni string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(g.CA.Leaf)
	return &tls.Config{RootCAs: pool, ServerName: sni}
}

// DenyAll is a policy that denies.
const DenyAll = "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"deny\", \"rule\": \"test.none\", \"reason\": \"no\"}\n"

// Redirect serves a transparent door whose connections were all to go to dst,
// or where that is empty to the door, and returns its address. What netfilter says of one is tested where there are
// rules of it: in cmd/holdgate/confine.
func (g *Sidecar) Redirect(dst string, names *intercept.Names) string {
	g.T.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	Must(g.T, err)
	g.original = func(c net.Conn) (netip.AddrPort, error) {
		if dst == "" {
			return netip.ParseAddrPort(c.LocalAddr().String())
		}
		return netip.ParseAddrPort(dst)
	}
	done := make(chan error, 1)
	go func() { done <- g.Server.ServeTransparent(ln, names) }()
	g.T.Cleanup(func() {
		_ = ln.Close()
		if err := <-done; err != nil {
			g.T.Errorf("serving the transparent door: %v", err)
		}
	})
	return ln.Addr().String()
}

// SayRaw sends raw bytes and returns the status of the answer, or 0 where the
// connection ends without one.
func SayRaw(t *testing.T, addr, text string, conf *tls.Config) int {
	t.Helper()
	var c net.Conn
	c, err := net.Dial("tcp", addr)
	Must(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(Patience))
	if conf != nil {
		c = tls.Client(c, conf)
	}
	if _, err := io.WriteString(c, text); err != nil {
		return 0
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// Unnamed returns a gate before an upstream that the configuration does not
// name as one of models, a client of its forward proxy, and the upstream's URL.
func Unnamed(t *testing.T, h http.Handler, opts ...Option) (*Sidecar, *http.Client, string) {
	t.Helper()
	up := NewUpstream(t, h)
	g := NewTo(t, nil, map[string]string{"other": up + "/other"}, opts...)
	return g, g.Proxied(), up
}
