package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// The transparent door takes TCP connections that the kernel led to it whatever
// address the client asked for. Where one leads is found out in this order: the
// name for which [Names] gave out the address, the server name in TLS, the Host
// of each plain request, and last the address itself. That host is what policy
// sees and what is dialled, by its real address; two names that differ are a
// refusal. What speaks neither TLS nor HTTP is refused.

// helloFor is how long a redirected connection may take to show what it speaks.
const helloFor = 30 * time.Second

// ServeTransparent serves connections that a firewall redirected to ln, until
// Shutdown; it returns nil after one. names are those that were given out inside
// the network that is redirected; nil where names are resolved as everywhere.
func (s *Server) ServeTransparent(ln net.Listener, names *Names) error {
	return s.serveRedirected(ln, names, nil)
}

// ServeRunTransparent is ServeTransparent for a network that the agent alone is
// in, which works in the folder dir. It also ends where ln is closed.
func (s *Server) ServeRunTransparent(ln net.Listener, names *Names, agent holdgate.Agent, dir string) error {
	return s.serveRedirected(ln, names, &who{agent, dir})
}

func (s *Server) serveRedirected(ln net.Listener, names *Names, by *who) error {
	s.out.Own(ln.Addr(), false)
	s.serveTunnels()
	defer ln.Close()
	stop := make(chan struct{})
	defer close(stop)
	s.running.Go(func() {
		select {
		case <-s.waits.Done():
			_ = ln.Close()
		case <-stop:
		}
	})
	for {
		c, err := ln.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			select { // connections that end make room
			case <-time.After(50 * time.Millisecond):
			case <-s.waits.Done():
			}
			continue
		}
		if err != nil {
			return served(err)
		}
		s.running.Go(func() { s.redirected(c, names, by) })
	}
}

// redirected finds out where a connection leads and hands it on.
func (s *Server) redirected(c net.Conn, names *Names, by *who) {
	br := bufio.NewReaderSize(c, 4096)
	t := &tunnel{Conn: &upstream.Peeked{Conn: c, R: br}, door: route.DoorTransparent, who: by, scheme: "http", l: s.tunnels}
	if !s.tunnels.track(t) {
		_ = c.Close()
		return
	}
	conn, err := s.unwrap(t, br, names)
	if err != nil {
		_ = t.Close()
		if why, ok := errors.AsType[*redirectError](err); ok {
			at := route.Target{Door: route.DoorTransparent, Caller: s.callerIn(t.context(s.life), route.DoorTransparent)}
			s.refused(s.life, at, http.MethodConnect+" "+why.host, why.rule, why.text)
			return
		}
		s.c.Logger.Info("a redirected connection ended early", "host", t.host, "err", err)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if t.untouched {
		s.passRedirected(t)
		return
	}
	s.tunnels.hand(conn)
}

// A redirectError says why a redirected connection is refused.
type redirectError struct{ host, rule, text string }

func (e *redirectError) Error() string { return e.text }

// unwrap fills in where the tunnel leads, and takes its TLS off.
func (s *Server) unwrap(t *tunnel, br *bufio.Reader, names *Names) (net.Conn, error) {
	_ = t.SetDeadline(time.Now().Add(helloFor))
	dst, err := s.original(t.Conn.(*upstream.Peeked).Conn)
	if err != nil {
		return nil, fmt.Errorf("finding out where the connection was to go: %w", err)
	}
	port := strconv.Itoa(int(dst.Port()))
	name, err := names.nameOf(dst.Addr())
	if err != nil {
		return nil, &redirectError{dst.String(), holdgate.RuleAddress, err.Error()}
	}
	t.host, t.unnamed = dst.String(), name == ""
	if name != "" {
		t.host = net.JoinHostPort(name, port)
	}
	if local, err := netip.ParseAddrPort(t.LocalAddr().String()); err != nil || dst == netip.AddrPortFrom(local.Addr().Unmap(), local.Port()) {
		return nil, &redirectError{t.host, holdgate.RuleAddress, "the transparent door takes what was redirected to it, and this connection was made to it"}
	}
	first, err := br.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == tlsHandshake {
		t.scheme = "https"
		if t.untouched, err = s.leadsToUntouched(t, name, port); t.untouched || err != nil {
			return t, err
		}
		return s.unwrapTLS(t, name, port)
	}
	if !startsHTTP(br) {
		return nil, &redirectError{t.host, holdgate.RuleUnsupported, "what goes to " + t.host + " is neither TLS nor HTTP, which is all that Holdgate reads"}
	}
	return t, nil
}

// leadsToUntouched reports whether the connection is for a host whose
// connections are passed on, and fills in which. What it reads is read again.
func (s *Server) leadsToUntouched(t *tunnel, name, port string) (bool, error) {
	if len(s.c.Untouched) == 0 {
		return false, nil
	}
	ahead := t.Conn.(*upstream.Peeked)
	hello, read, err := readHello(ahead)
	if err != nil {
		return false, err
	}
	ahead.R = io.MultiReader(bytes.NewReader(read), ahead.R)
	host, err := serverName(hello, name)
	if err != nil || host == "" {
		return false, nil // unwrapTLS says what is wrong, or takes the address
	}
	if hostport := net.JoinHostPort(host, port); s.untouched(hostport) && route.LowerHost(hello.ServerName) == route.LowerHost(host) {
		t.host, t.unnamed = hostport, false
		return true, nil
	}
	return false, nil
}

// unwrapTLS shakes hands in the name of the host that the client means.
func (s *Server) unwrapTLS(t *tunnel, name, port string) (net.Conn, error) {
	conn := tls.Server(t, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		host, err := serverName(hello, name)
		if err != nil {
			return nil, &redirectError{t.host, holdgate.RuleAddress, err.Error()}
		}
		if host != "" {
			t.host, t.unnamed = net.JoinHostPort(host, port), false
		}
		return s.leafConfig(route.HostOnly(t.host))
	}})
	if err := conn.Handshake(); err != nil {
		return nil, err
	}
	t.unnamed = false // what a certificate was shown for is what requests must be for
	return conn, nil
}

// extensionECH is encrypted_client_hello (RFC 9849).
const extensionECH = 0xfe0d

// serverName is the host that a TLS client means, or "" where only its address
// says. With encrypted_client_hello the name outside may be that of a provider
// which serves many: the name that was asked for counts.
func serverName(hello *tls.ClientHelloInfo, name string) (string, error) {
	sni := route.LowerHost(hello.ServerName)
	switch {
	case sni == "":
		return name, nil
	case name == "" || route.LowerHost(name) == sni:
		return sni, nil
	case slices.Contains(hello.Extensions, extensionECH):
		return name, nil
	}
	return "", fmt.Errorf("the connection leads to %s and its TLS names %s", name, holdgate.Visible(sni))
}

// leafConfig is how to speak TLS in a host's name.
func (s *Server) leafConfig(host string) (*tls.Config, error) {
	cert, err := s.leaves.Fetch(route.LowerHost(host), func() (*tls.Certificate, error) { return signLeaf(s.c.CA, route.LowerHost(host), time.Now()) })
	if err != nil {
		return nil, fmt.Errorf("signing a certificate for %s: %w", host, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}, nil
}

// startsHTTP reports whether the connection begins with a method and a blank
// (RFC 9112 section 3). Nothing is taken from the reader.
func startsHTTP(br *bufio.Reader) bool {
	const longest = 32
	for n := 1; n <= longest; n++ {
		b, err := br.Peek(n)
		if err != nil {
			return false
		}
		switch c := b[n-1]; {
		case c == ' ':
			return n > 1
		case !isToken(c):
			return false
		case bytes.Equal(b, []byte("SSH-")):
			return false // a method could be called so, and none is
		}
	}
	return false
}

// isToken reports whether a byte may be part of a method (RFC 9110 section
// 5.6.2).
func isToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// hostFor is the host that a request inside may be for. A plain connection to
// an address that was given out under no name leads to the host that the
// request names, on the same port.
func (t *tunnel) hostFor(r *http.Request) string {
	if !t.unnamed || r.Host == "" {
		return t.host
	}
	_, port, err := net.SplitHostPort(route.WithPort(t.scheme, r.Host))
	_, want, err2 := net.SplitHostPort(t.host)
	if err != nil || err2 != nil || port != want {
		return t.host
	}
	return route.WithPort(t.scheme, r.Host)
}
