package proxytest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/holdgate/holdgate/store/audit"
)

// AskAPI sends a request of session s1 to the agents' API.
func (g *Sidecar) AskAPI(method, path, body string, headers ...string) (int, string) {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), method, g.URL+path, strings.NewReader(body))
	Must(g.T, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-Session-Id", "s1")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := g.Client.Do(req)
	Must(g.T, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	Must(g.T, err)
	return resp.StatusCode, string(b)
}

// Read reads an answer of the agents' API.
func Read[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("reading %q: %v", text, err)
	}
	return v
}

// Send makes a POST with a client and reads the answer.
func (g *Sidecar) Send(client *http.Client, method, url, body string, header http.Header) (int, string) {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), method, url, strings.NewReader(body))
	Must(g.T, err)
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := client.Do(req)
	Must(g.T, err)
	defer resp.Body.Close()
	return resp.StatusCode, ReadAll(g.T, resp.Body)
}

// TypeJSON is the header of a body of JSON.
var TypeJSON = http.Header{"Content-Type": {"application/json"}}

// UTF16 is a text in UTF-16, little-endian, with its mark.
func UTF16(s string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// Gzipped is a text, compressed.
func Gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.String()
}

// SendRaw writes a request to the agents' door as it stands and returns the
// answer: clients of net/http would not send all of these.
func (g *Sidecar) SendRaw(request string) (*http.Response, string) {
	g.T.Helper()
	c, err := net.Dial("tcp", g.Addr)
	Must(g.T, err)
	defer c.Close()
	_, err = io.WriteString(c, request)
	Must(g.T, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	Must(g.T, err)
	defer resp.Body.Close()
	return resp, ReadAll(g.T, resp.Body)
}

// Port is that of the agents' door.
func (g *Sidecar) Port() string {
	_, port, err := net.SplitHostPort(g.Addr)
	Must(g.T, err)
	return port
}

// Refusals returns the rules of what was refused before it reached policy.
func (g *Sidecar) Refusals() []string {
	g.T.Helper()
	var rules []string
	for _, e := range g.Entries(audit.TypeRefused) {
		rules = append(rules, e.Decision.Rule)
	}
	return rules
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
