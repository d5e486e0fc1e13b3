package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/holdgate/holdgate/proxy/route"
)

// tunnelTime is how long a proxy may take to open a tunnel.
const tunnelTime = 30 * time.Second

// Dial connects to a host as requests to it would be, through a proxy
// where there is one.
func (n *Network) Dial(ctx context.Context, hostport string) (net.Conn, error) {
	guarded := !n.Names("https", hostport)
	proxy := n.ProxyFor(&url.URL{Scheme: "https", Host: hostport})
	if proxy == nil {
		return n.dialer(guarded).DialContext(ctx, "tcp", hostport)
	}
	if err := n.mayAskFor(ctx, hostport, guarded); err != nil {
		return nil, err
	}
	c, err := n.dialThrough(ctx, proxy, hostport)
	if _, ok := errors.AsType[*proxyError](err); err != nil && !ok {
		err = &proxyError{proxy, err.Error()}
	}
	return c, err
}

// dialThrough has a proxy open a tunnel.
func (n *Network) dialThrough(ctx context.Context, proxy *url.URL, hostport string) (net.Conn, error) {
	if proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, &proxyError{proxy, "connections that are passed on as they come go by proxies of http and https alone"}
	}
	c, err := n.dialer(false).DialContext(ctx, "tcp", route.WithPort(proxy.Scheme, proxy.Host))
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_ = c.SetDeadline(time.Now().Add(tunnelTime))
	if proxy.Scheme == "https" {
		conf := n.tls()
		conf.ServerName = proxy.Hostname()
		c = tls.Client(c, conf)
	}
	tunnel, err := askForTunnel(c, proxy, hostport)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return tunnel, c.SetDeadline(time.Time{})
}

// askForTunnel sends a CONNECT (RFC 9110 section 9.3.6).
func askForTunnel(c net.Conn, proxy *url.URL, hostport string) (net.Conn, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: hostport}, Host: hostport, Header: http.Header{}}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		login := &http.Request{Header: http.Header{}}
		login.SetBasicAuth(u.Username(), password)
		req.Header.Set("Proxy-Authorization", login.Header.Get("Authorization"))
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, req)
	if err != nil {
		return nil, err
	}
	if err := proxyRefused(proxy, resp); err != nil {
		return nil, err
	}
	return &Peeked{Conn: c, R: br}, nil
}

// A Peeked is a connection of which something was read already.
type Peeked struct {
	net.Conn
	R io.Reader // what was read, and then the connection
}

// Read implements [net.Conn].
func (p *Peeked) Read(b []byte) (int, error) { return p.R.Read(b) }
