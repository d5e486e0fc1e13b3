package upstream_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
)

// An authority signs certificates for a test's servers.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	proxytest.Must(t, err)
	return k
}

// newAuthority makes a CA that is signed by another, or by itself where by is nil.
func newAuthority(t testing.TB, name string, by *authority) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	if by == nil {
		by = &authority{tmpl, a.key}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, by.cert, a.key.Public(), by.key)
	proxytest.Must(t, err)
	a.cert, err = x509.ParseCertificate(der)
	proxytest.Must(t, err)
	return a
}

// leaf signs a certificate for localhost, as change says, with a key of its own
// or the one given.
func (a *authority) leaf(t testing.TB, key crypto.Signer, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	if key == nil {
		key = newKey(t)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if change != nil {
		change(tmpl)
	}
	signer, parent := a.key, a.cert
	if a.cert == nil {
		signer, parent = key, tmpl
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, key.Public(), signer)
	proxytest.Must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// An upstream that does not prove who it is gets nothing, by no door, and the
// agent's user reads why.
func TestAnUpstreamMustProveWhoItIs(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "Test Root", nil)
	between := newAuthority(t, "Test Intermediate", ca)
	chained := between.leaf(t, nil, nil)
	reversed := tls.Certificate{Certificate: append([][]byte{chained.Certificate[0], ca.cert.Raw}, between.cert.Raw), PrivateKey: chained.PrivateKey}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	proxytest.Must(t, err)
	tests := []struct {
		name string
		cert tls.Certificate
		max  uint16 // version of TLS; 0: any
		want string // empty: it is spoken to
	}{
		{name: "as it should be", cert: ca.leaf(t, nil, nil)},
		{name: "a chain in another order", cert: reversed},
		{name: "expired", cert: ca.leaf(t, nil, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), want: "ended on"},
		{name: "not yet valid", cert: ca.leaf(t, nil, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }), want: "begins on"},
		{name: "for another name", cert: ca.leaf(t, nil, func(c *x509.Certificate) { c.DNSNames = []string{"other.example"} }), want: "is for other.example and not for localhost"},
		{name: "the name in the common name alone", cert: ca.leaf(t, nil, func(c *x509.Certificate) { c.DNSNames = nil }), want: "common name alone"},
		{name: "self-signed", cert: (&authority{}).leaf(t, nil, nil), want: "signed by itself"},
		{name: "an unknown authority", cert: newAuthority(t, "Somebody Else", nil).leaf(t, nil, nil), want: "signed by CN=Somebody Else, who is not trusted here"},
		{name: "without its intermediate", cert: chained, want: "signed by CN=Test Intermediate"},
		{name: "for clients alone", cert: ca.leaf(t, nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), want: "its certificate is refused"},
		{name: "a short RSA key", cert: ca.leaf(t, short, nil), want: "has 1024 bits"},
		{name: "TLS 1.0 alone", cert: ca.leaf(t, nil, nil), max: tls.VersionTLS10, want: "no TLS later than 1.1"},
		{name: "TLS 1.1 alone", cert: ca.leaf(t, nil, nil), max: tls.VersionTLS11, want: "no TLS later than 1.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				seen.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, proxytest.EmptyMessage)
			}))
			up.TLS = &tls.Config{Certificates: []tls.Certificate{tt.cert}, MinVersion: tls.VersionTLS10, MaxVersion: tt.max}
			up.Config.ErrorLog = log.New(io.Discard, "", 0)
			up.StartTLS()
			defer up.Close()
			_, port, _ := net.SplitHostPort(up.Listener.Addr().String())
			origin := "https://localhost:" + port
			g := proxytest.NewTo(t, map[string]string{"test": origin}, map[string]string{"files": origin}, proxytest.WithPolicy(t, allowAllText), func(c *proxy.Config) { c.Network.RootCAs = ca.pool() })
			for door, ask := range doorsTo(g, origin, up.Listener.Addr().String()) {
				before := seen.Load()
				text := ask(t)
				refused := strings.Contains(text, "failed: ") || strings.Contains(text, "could not be reached: ")
				switch reached := seen.Load() > before; {
				case tt.want == "" && (refused || !reached):
					t.Errorf("%s: a server that proves who it is was not reached: %s", door, text)
				case tt.want != "" && reached:
					t.Errorf("%s: the request reached the server", door)
				case tt.want != "" && (!refused || !strings.Contains(text, tt.want) || !strings.Contains(text, "Nothing was sent to it")):
					t.Errorf("%s: want %q, got %s", door, tt.want, text)
				}
			}
		})
	}
}

const allowAllText = "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"allow\", \"rule\": \"test.all\"}\n"

// doorsTo are ways to ask one server by each door; each returns what the agent
// is told.
func doorsTo(g *proxytest.Sidecar, origin, addr string) map[string]func(testing.TB) string {
	body := func(t testing.TB, resp *http.Response, err error) string {
		t.Helper()
		proxytest.Must(t, err)
		defer resp.Body.Close()
		return proxytest.ReadAll(t, resp.Body)
	}
	post := func(path, text string) func(testing.TB) string {
		return func(t testing.TB) string {
			resp, err := g.Client.Post(g.URL+path, "application/json", strings.NewReader(text))
			return body(t, resp, err)
		}
	}
	transparent := g.Redirect(addr, nil)
	return map[string]func(testing.TB) string{
		"base URL":  post("/up/test/v1/messages", proxytest.AskPlain),
		"MCP":       post("/mcp/files", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`),
		"MCP, call": post("/mcp/files", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{}}}`),
		"forward": func(t testing.TB) string {
			resp, err := g.Proxied().Get(origin + "/x")
			return body(t, resp, err)
		},
		"transparent": func(t testing.TB) string {
			c, err := tls.Dial("tcp", transparent, g.Trusting(route.HostOnly(strings.TrimPrefix(origin, "https://"))))
			proxytest.Must(t, err)
			defer c.Close()
			_, err = fmt.Fprintf(c, "GET /x HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", strings.TrimPrefix(origin, "https://"))
			proxytest.Must(t, err)
			return proxytest.ReadAll(t, c)
		},
	}
}
