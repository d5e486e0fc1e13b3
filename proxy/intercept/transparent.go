package intercept

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
	"sync"
	"syscall"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/caller"
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

// ServeTransparent serves connections that a firewall redirected to ln, until the
// shutdown begins or ln is closed; it returns nil after either. names are those that
// were given out inside the network that is redirected; nil where names are resolved as
// everywhere. by is the agent that alone is in that network, or nil.
func (i *Interceptor) ServeTransparent(ln net.Listener, names *Names, by *caller.Who) error {
	i.c.Out.Own(ln.Addr(), false)
	defer ln.Close()
	stop := make(chan struct{})
	defer close(stop)
	i.c.Running.Go(func() {
		select {
		case <-i.c.Waits.Done():
			_ = ln.Close()
		case <-stop:
		}
	})
	for {
		c, err := ln.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			select { // connections that end make room
			case <-time.After(50 * time.Millisecond):
			case <-i.c.Waits.Done():
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		i.opening.begin()
		i.c.Running.Go(func() { i.redirected(c, names, by) })
	}
}

// redirected finds out where a connection leads and hands it on.
func (i *Interceptor) redirected(c net.Conn, names *Names, by *caller.Who) {
	opened := sync.OnceFunc(i.opening.end)
	defer opened()
	br := bufio.NewReaderSize(c, 4096)
	t := &Tunnel{Conn: &upstream.Peeked{Conn: c, R: br}, Door: route.DoorTransparent, who: by, Scheme: "http", l: i.tunnels}
	if !i.tunnels.track(t) {
		_ = c.Close()
		return
	}
	conn, err := i.unwrap(t, br, names)
	if err != nil {
		_ = t.Close()
		if why, ok := errors.AsType[*redirectError](err); ok {
			at := route.Target{Door: route.DoorTransparent, Caller: i.c.Callers.In(t.context(i.c.Life), route.DoorTransparent)}
			i.c.Refused(at, http.MethodConnect+" "+why.host, why.rule, why.text)
			return
		}
		i.c.Logger.Info("a redirected connection ended early", "host", t.host, "err", err)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if t.passes {
		opened()
		i.passRedirected(t)
		return
	}
	i.tunnels.hand(conn)
}

// A redirectError says why a redirected connection is refused.
type redirectError struct{ host, rule, text string }

func (e *redirectError) Error() string { return e.text }

// unwrap fills in where the tunnel leads, and takes its TLS off.
func (i *Interceptor) unwrap(t *Tunnel, br *bufio.Reader, names *Names) (net.Conn, error) {
	_ = t.SetDeadline(time.Now().Add(helloFor))
	dst, err := i.c.Original(t.Conn.(*upstream.Peeked).Conn)
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
		t.Scheme = "https"
		if t.passes, err = i.leadsToPassThrough(t, name, port); t.passes || err != nil {
			return t, err
		}
		return i.unwrapTLS(t, name, port)
	}
	if !startsHTTP(br) {
		return nil, &redirectError{t.host, holdgate.RuleUnsupported, "what goes to " + t.host + " is neither TLS nor HTTP, which is all that Holdgate reads"}
	}
	return t, nil
}

// leadsToPassThrough reports whether the connection is for a host whose
// connections are passed on, and fills in which. What it reads is read again.
func (i *Interceptor) leadsToPassThrough(t *Tunnel, name, port string) (bool, error) {
	if len(i.c.PassThrough) == 0 {
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
	if hostport := net.JoinHostPort(host, port); i.passes(hostport) && route.LowerHost(hello.ServerName) == route.LowerHost(host) {
		t.host, t.unnamed = hostport, false
		return true, nil
	}
	return false, nil
}

// unwrapTLS shakes hands in the name of the host that the client means.
func (i *Interceptor) unwrapTLS(t *Tunnel, name, port string) (net.Conn, error) {
	conn := tls.Server(t, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		host, err := serverName(hello, name)
		if err != nil {
			return nil, &redirectError{t.host, holdgate.RuleAddress, err.Error()}
		}
		if host != "" {
			t.host, t.unnamed = net.JoinHostPort(host, port), false
		}
		return i.leafConfig(route.HostOnly(t.host))
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
func (i *Interceptor) leafConfig(host string) (*tls.Config, error) {
	cert, err := i.leaves.Fetch(route.LowerHost(host), func() (*tls.Certificate, error) { return SignLeaf(i.c.CA, time.Now(), route.LowerHost(host)) })
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

// HostFor is the host that a request inside may be for. A plain connection to
// an address that was given out under no name leads to the host that the
// request names, on the same port.
func (t *Tunnel) HostFor(r *http.Request) string {
	if !t.unnamed || r.Host == "" {
		return t.host
	}
	_, port, err := net.SplitHostPort(route.WithPort(t.Scheme, r.Host))
	_, want, err2 := net.SplitHostPort(t.host)
	if err != nil || err2 != nil || port != want {
		return t.host
	}
	return route.WithPort(t.Scheme, r.Host)
}
