package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/elazarl/goproxy"
)

// Peer is the process of a peer: "upstream" or "goproxy". It prints its
// addresses as one line of JSON and serves until stdin closes. An MCP server
// ("stdio") serves on the two.
func Peer(ctx context.Context, role string, stdin io.Reader, stdout io.Writer) error {
	if role == "stdio" {
		return serveLines(stdin, stdout)
	}
	if role == "dial" {
		f, ok := stdin.(*os.File)
		if !ok {
			return fmt.Errorf("the standard input is %T, no file", stdin)
		}
		return serveDial(ctx, f)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the process at the latest: stdin is its life line
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	switch role {
	case "upstream":
		return serveUpstream(ctx, stdout)
	case "goproxy":
		return serveGoproxy(ctx, stdout)
	}
	return fmt.Errorf("unknown role %q", role)
}

// peerAddrs is what a peer prints.
type peerAddrs struct {
	HTTP string `json:"http,omitempty"`
	TLS  string `json:"tls,omitempty"` // that speaks HTTP/1.1
	H2   string `json:"h2,omitempty"`  // TLS that speaks HTTP/2
	CA   string `json:"ca,omitempty"`  // PEM
}

func serveUpstream(ctx context.Context, stdout io.Writer) error {
	ca, err := newCA()
	if err != nil {
		return err
	}
	cert, err := ca.leaf("localhost")
	if err != nil {
		return err
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var listeners []net.Listener
	for _, proto := range []string{"http/1.1", "h2"} {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		listeners = append(listeners, tls.NewListener(inner, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{proto}}))
	}
	srv := &http.Server{Handler: newUpstream(), ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer srv.Close()
	for _, ln := range append(listeners, plain) {
		wg.Go(func() { _ = srv.Serve(ln) })
	}
	if err := json.NewEncoder(stdout).Encode(peerAddrs{HTTP: plain.Addr().String(), TLS: listeners[0].Addr().String(), H2: listeners[1].Addr().String(), CA: string(ca.pem)}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// serveGoproxy is goproxy as a user would set it up who knows its manual: all
// CONNECTs intercepted with an ECDSA CA and cached leaves, and a transport
// that keeps enough idle connections. It speaks HTTP/2 with who offers it.
func serveGoproxy(ctx context.Context, stdout io.Writer) error {
	ca, err := newCA()
	if err != nil {
		return err
	}
	p := goproxy.NewProxyHttpServer()
	p.AllowHTTP2 = true
	p.CertStore = &certs{m: map[string]*tls.Certificate{}}
	p.Tr = &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 128, DisableCompression: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: rootsFrom(os.Getenv("SSL_CERT_FILE"))}}
	mitm := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(&ca.cert)}
	p.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) { return mitm, host })
	p.OnRequest(goproxy.ReqConditionFunc(holdsHere)).DoFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		_, _ = io.Copy(io.Discard, r.Body) // a client that has gone ends the wait
		<-r.Context().Done()
		return r, nil
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := json.NewEncoder(stdout).Encode(peerAddrs{HTTP: ln.Addr().String(), CA: string(ca.pem)}); err != nil {
		return err
	}
	_ = srv.Serve(ln)
	return nil
}

// holdsHere reports whether goproxy itself is to hold a request.
func holdsHere(r *http.Request, _ *goproxy.ProxyCtx) bool { return r.URL.RawQuery == "hold" }

func rootsFrom(file string) *x509.CertPool {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b)
	return pool
}

type certs struct {
	mu sync.Mutex
	m  map[string]*tls.Certificate
}

func (c *certs) Fetch(host string, gen func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cert := c.m[host]; cert != nil {
		return cert, nil
	}
	cert, err := gen()
	if err == nil {
		c.m[host] = cert
	}
	return cert, err
}

// authority is a CA for the length of a run.
type authority struct {
	cert tls.Certificate
	pem  []byte
}

func newCA() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

func (a *authority) leaf(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert.Leaf, &key.PublicKey, a.cert.PrivateKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// upstream answers requests in every format: whole, or as a stream of some 200
// events.
type upstream struct {
	byPath map[string]format
	held   string
}

func newUpstream() *upstream {
	u := &upstream{byPath: make(map[string]format), held: heldStream()}
	for _, f := range append(formats(), mcpFormat()) {
		for _, target := range []string{f.path, f.streamPath} {
			path, _, _ := strings.Cut(target, "?")
			u.byPath[path] = f
		}
	}
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	f, ok := u.byPath[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.URL.RawQuery == "held" {
		w.Header().Set("Content-Type", f.StreamType)
		_, _ = io.WriteString(w, u.held)
		return
	}
	if r.URL.RawQuery == "" {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(f.Plain)))
		_, _ = io.WriteString(w, f.Plain)
		return
	}
	w.Header().Set("Content-Type", f.StreamType)
	rc := http.NewResponseController(w)
	for _, e := range f.Events {
		if _, err := io.WriteString(w, e); err != nil {
			return
		}
		_ = rc.Flush()
	}
}
