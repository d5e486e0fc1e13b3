package intercept

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// A PassThrough is a host whose TLS is passed on as it comes, for clients that
// take no certificate but the one they know. Policy is asked about each
// connection; what is in it nobody sees.
type PassThrough struct {
	Host string // HOST or HOST:PORT, or *.DOMAIN for every host below; without a port it is 443
	// CallsUnseen passes the connections on even where the host serves models or
	// is an MCP server that the configuration names.
	CallsUnseen bool
}

// covers reports whether a HOST:PORT is one that is meant.
func (u PassThrough) covers(hostport string) bool {
	host, port, err := net.SplitHostPort(route.WithPort("https", hostport))
	wantHost, wantPort, err2 := net.SplitHostPort(route.WithPort("https", u.Host))
	if err != nil || err2 != nil || port != wantPort {
		return false
	}
	if domain, ok := strings.CutPrefix(wantHost, "*"); ok {
		return strings.HasPrefix(domain, ".") && strings.HasSuffix(host, domain) && len(host) > len(domain)
	}
	return host == wantHost
}

// passes reports whether connections to a HOST:PORT are passed on as they come.
func (i *Interceptor) passes(hostport string) bool {
	for _, u := range i.c.PassThrough {
		if u.covers(hostport) && (u.CallsUnseen || !i.carriesCalls(hostport)) {
			return true
		}
	}
	return false
}

// carriesCalls reports whether a host is one whose connections carry calls that
// Holdgate would see: of a model, or of an MCP server.
func (i *Interceptor) carriesCalls(hostport string) bool {
	return i.c.Table.MayServeModels(tlsTarget(route.DoorForward, hostport)) || i.c.Out.Names("https", hostport)
}

// check says which of the hosts that are to be passed on would carry calls past
// Holdgate.
func (i *Interceptor) check() error {
	var errs []error
	for _, u := range i.c.PassThrough {
		if !u.CallsUnseen && i.carriesCalls(strings.TrimPrefix(u.Host, "*.")) {
			errs = append(errs, fmt.Errorf("pass_through: %s serves models or is an MCP server, whose calls nobody would see or be asked about: take it out, or say calls_unseen: true beside it", u.Host))
		}
	}
	return errors.Join(errs...)
}

func tlsTarget(door, hostport string) route.Target {
	return route.Target{Door: door, URL: &url.URL{Scheme: "https", Host: route.TrimDefaultPort("https", hostport)}}
}

// unseenBytes is what the log says of a connection that is passed on.
const unseenBytes = "the connection is passed on as it comes (pass_through): what is in it is not seen"

// passOn asks policy about a connection to a HOST:PORT and passes it on.
// Where it may not pass, w has the answer; else open gives the client's side,
// from whose first byte on TLS is spoken. It returns when the connection has
// ended.
func (i *Interceptor) passOn(w http.ResponseWriter, r *http.Request, door, hostport string, open func() (net.Conn, error)) {
	i.c.Running.Add(1)
	defer i.c.Running.Done()
	r, end := trace.Begin(r, i.c.Tracer, http.Header{}, door)
	defer end()
	t := tlsTarget(door, hostport)
	t.Caller = i.c.Callers.Of(r, t.Door)
	i.c.Queue.Agents.Seen(t.Caller)
	e := i.c.Begin(w, r, t)
	e.Remark = unseenBytes
	q := &gate.Evaluation{Call: e.Complete(e.AsHTTP()), Remark: e.Remark}
	if !e.Admit() || !e.Permit(q, http.StatusForbidden, func() (holdgate.Digest, error) {
		return i.c.Digester.Fields("untouched", t.URL.String()), nil
	}) {
		return
	}
	ctx, done := e.Underway()
	defer done()
	up, err := i.c.Out.Dial(ctx, route.WithPort("https", hostport))
	if err != nil {
		e.Failed(err)
		return
	}
	defer up.Close()
	c, err := open()
	if err != nil {
		i.c.Logger.InfoContext(r.Context(), "a connection that was to be passed on ended early", "host", hostport, "err", err)
		return
	}
	defer c.Close()
	defer e.UntilEnded(func() { _ = c.Close(); _ = up.Close() })()
	hello, first, err := readHello(c)
	if err != nil || hello.ServerName != "" && route.LowerHost(hello.ServerName) != route.LowerHost(route.HostOnly(hostport)) {
		named := "it begins with no TLS"
		if err == nil {
			named = "its TLS names " + holdgate.Visible(hello.ServerName)
		}
		i.c.Refused(t, http.MethodConnect+" "+hostport, holdgate.RuleAddress, "the connection leads to "+hostport+" and "+named)
		return
	}
	join2ways(&upstream.Peeked{Conn: c, R: io.MultiReader(bytes.NewReader(first), c)}, up)
}

// passTunnel serves a CONNECT to a host whose connections are passed on.
func (i *Interceptor) passTunnel(w http.ResponseWriter, r *http.Request) {
	i.passOn(w, r, route.DoorForward, r.URL.Host, func() (net.Conn, error) {
		c, _, err := (&readingOn{w}).Hijack()
		if err != nil {
			return nil, err
		}
		_ = c.SetDeadline(time.Now().Add(helloFor))
		if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			_ = c.Close()
			return nil, err
		}
		return c, nil
	})
}

// passRedirected serves a redirected connection to such a host. There is no
// request whose answer could say why it is refused: the log does.
func (i *Interceptor) passRedirected(t *Tunnel) {
	ctx, cancel := context.WithCancel(i.c.Life)
	defer cancel()
	defer t.Close()
	r := &http.Request{Method: http.MethodConnect, Host: t.host, URL: &url.URL{Host: t.host}, Header: http.Header{}}
	i.passOn(unanswered{}, r.WithContext(ctx), route.DoorTransparent, t.host, func() (net.Conn, error) { return t, nil })
}

// An unanswered is the answer to a client that asked for none.
type unanswered struct{}

func (unanswered) Header() http.Header         { return http.Header{} }
func (unanswered) Write(b []byte) (int, error) { return len(b), nil }
func (unanswered) WriteHeader(int)             {}

// maxHello bounds what is read of a connection to see where it leads.
const maxHello = 64 << 10

var errHelloRead = errors.New("the hello has been read")

// readHello reads how a client begins TLS, and returns besides what it says
// every byte that was read.
func readHello(c net.Conn) (hello *tls.ClientHelloInfo, read []byte, err error) {
	o := &overhearing{Conn: c, r: io.LimitReader(c, maxHello)}
	err = tls.Server(o, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello = h
		return nil, errHelloRead
	}}).Handshake()
	if hello == nil {
		return nil, nil, fmt.Errorf("reading how TLS begins: %w", err)
	}
	return hello, o.read.Bytes(), nil
}

// An overhearing keeps what is read and writes nothing.
type overhearing struct {
	net.Conn
	r    io.Reader
	read bytes.Buffer
}

func (o *overhearing) Read(b []byte) (int, error) {
	n, err := o.r.Read(b)
	o.read.Write(b[:n])
	return n, err
}

func (o *overhearing) Write(b []byte) (int, error) { return len(b), nil }

// join2ways copies both ways until both sides have ended, or one broke.
func join2ways(c, up net.Conn) {
	_ = c.SetDeadline(time.Time{})
	var sending sync.WaitGroup
	sending.Go(func() { carryOver(up, c) })
	carryOver(c, up)
	sending.Wait()
}

// carryOver copies what src sends, and tells dst of its end.
func carryOver(dst, src net.Conn) {
	if _, err := io.Copy(dst, src); err == nil {
		if half, ok := underneath(dst).(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			return
		}
	}
	_, _ = dst.Close(), src.Close() // a side that broke ends the other
}

// underneath is the connection without what was read ahead of it.
func underneath(c net.Conn) net.Conn {
	for {
		switch of := c.(type) {
		case *upstream.Peeked:
			c = of.Conn
		case *Tunnel:
			c = of.Conn
		default:
			return c
		}
	}
}
