package app_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/intercept"
)

// serveTLS starts a sidecar whose approvers' port shows this, and returns its address.
func serveTLS(t *testing.T, dir string, show config.ApproversTLS) (addr string) {
	t.Helper()
	c := config.Default(dir, "ada")
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0", ApproversTLS: show}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), c, app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup((&sidecar{t: t, app: a, dir: dir}).stop)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, l := range a.Listeners() {
		if l.TLS {
			return l.Addr
		}
	}
	t.Fatalf("no listener says that it speaks TLS: %v", a.Listeners())
	return ""
}

// shown is the certificate that a port shows to who asks for a name.
func shown(t *testing.T, addr, name string) *x509.Certificate {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

// With its own CA the port is for the names that are configured: API, page and links.
func TestTheApproversPortSpeaksTLSWithItsOwnCA(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	addr := serveTLS(t, dir, config.ApproversTLS{OwnCA: true, Names: []string{"holdgate.test", "127.0.0.1"}})
	c, err := client.New(client.Options{StateDir: dir, URL: "https://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if st, err := c.Status(t.Context()); err != nil || st.You != "ada" {
		t.Fatalf("the client that has the CA: %+v, %v", st, err)
	}
	l, err := c.Link(t.Context(), api.LinkTo{})
	_, port, _ := net.SplitHostPort(addr)
	code, ok := strings.CutPrefix(l.URL, "https://holdgate.test:"+port+"/open#")
	if err != nil || !ok {
		t.Fatalf("the link is %s, %v", l.URL, err)
	}

	ca, err := os.ReadFile(filepath.Join(dir, "page-ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if other, err := os.ReadFile(filepath.Join(dir, "ca.pem")); err != nil || bytes.Equal(ca, other) {
		t.Errorf("the page's CA is that of intercepted hosts: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "holdgate.test"}}}
	defer browser.CloseIdleConnections()
	ask := func(host, path string, form url.Values, cookie string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr+path, nil)
		if form != nil {
			req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+addr+path, strings.NewReader(form.Encode()))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		if cookie != "" {
			req.Header.Set("Cookie", cookie)
		}
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	in := ask("holdgate.test:"+port, "/open", url.Values{"code": {code}}, "")
	cookie := in.Header.Get("Set-Cookie")
	if in.StatusCode != http.StatusSeeOther || !strings.HasPrefix(cookie, "__Host-holdgate=") || !strings.Contains(cookie, "Secure") || !strings.Contains(cookie, "HttpOnly") {
		t.Fatalf("signing in: %s, cookie %q", in.Status, cookie)
	}
	value, _, _ := strings.Cut(cookie, ";")
	for _, tt := range []struct {
		host, path, cookie string
		want               int
	}{
		{"holdgate.test:" + port, "/", value, 200},
		{"holdgate.test:" + port, "/", "", 401},
		{"holdgate.test:" + port, "/healthz", "", 200},
		{"holdgate.test:" + port, "/v1/status", value, 401}, // the API takes no cookie
		{"evil.test:" + port, "/", value, 403},
		{"evil.test:" + port, "/v1/status", "", 403},
	} {
		if got := ask(tt.host, tt.path, nil, tt.cookie).StatusCode; got != tt.want {
			t.Errorf("GET %s of %s: %d, want %d", tt.path, tt.host, got, tt.want)
		}
	}

	resp, err := http.Get("http://" + addr + "/healthz")
	if err == nil {
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: %s %s", resp.Status, text)
		}
	}
}

// Who has no reason to trust the certificate sends no token.
func TestAClientTrustsNoOtherCertificate(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	addr := serveTLS(t, dir, config.ApproversTLS{OwnCA: true})
	if err := os.Rename(filepath.Join(dir, "page-ca.pem"), filepath.Join(elsewhere, "page-ca.pem")); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{StateDir: dir, URL: "https://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Status(t.Context()); !isUnproven(err) {
		t.Errorf("got %v", err)
	}
}

func isUnproven(err error) bool {
	_, ok := errors.AsType[*client.UnprovenError](err)
	return ok
}

// Certificates in files are taken up when they are renewed; a broken renewal is not.
func TestACertificateIsRenewed(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	ca, err := intercept.OpenCA(files)
	if err != nil {
		t.Fatal(err)
	}
	show := config.ApproversTLS{Cert: filepath.Join(files, "cert.pem"), Key: filepath.Join(files, "cert.key")}
	at := time.Now()
	write := func(cert []byte, key string) {
		t.Helper()
		at = at.Add(time.Minute)
		for file, text := range map[string]string{show.Cert: string(cert), show.Key: key} {
			if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	renew := func() (serial string) {
		t.Helper()
		leaf, err := intercept.SignLeaf(ca, time.Now(), "page.test")
		if err != nil {
			t.Fatal(err)
		}
		key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
		return leaf.Leaf.SerialNumber.String()
	}
	first := renew()
	addr := serveTLS(t, dir, show)
	if got := shown(t, addr, "page.test").SerialNumber.String(); got != first {
		t.Errorf("the port shows %s, want %s", got, first)
	}
	second := renew()
	if got := shown(t, addr, "page.test").SerialNumber.String(); got != second {
		t.Errorf("after a renewal the port shows %s, want %s", got, second)
	}
	write([]byte("broken"), "broken")
	if got := shown(t, addr, "page.test").SerialNumber.String(); got != second {
		t.Errorf("with a broken file the port shows %s, want %s", got, second)
	}

	c := config.Default(t.TempDir(), "ada")
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0", ApproversTLS: show}
	if _, err := app.New(t.Context(), c, app.Options{Version: "test"}); err == nil || !strings.Contains(err.Error(), "listen.approvers_tls") {
		t.Errorf("started with a broken certificate: %v", err)
	}
}
