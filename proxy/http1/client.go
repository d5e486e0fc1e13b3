// Package http1 is a client of HTTP/1.1 that writes a request and reads its answer
// on the calling goroutine.
//
// net/http's transport hands each request to one goroutine that writes and to
// another that reads, and both wake up the caller again. Before a tool server on
// the same machine that is a tenth of all that a call costs. What is done here is the
// case that makes up MCP's traffic, a POST whose body is short and in memory;
// everything else, and servers that speak HTTP/2, go to the transport.
//
// Framing is read as net/http reads it, and more strictly: see readHead.
package http1

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// maxBody is how long a body is at most, in bytes. A whole request then fits into
// what two kernels keep for a connection, so that writing ends, and the answer is
// read, even if the server reads nothing of it.
const maxBody = 32 << 10

// handshakeTime bounds a TLS handshake.
const handshakeTime = 10 * time.Second

// errHTTP2 says that a server speaks HTTP/2.
var errHTTP2 = errors.New("the server speaks HTTP/2")

// A Client is an [http.RoundTripper]. It is safe for concurrent use.
type Client struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	tls  *tls.Config
	rest http.RoundTripper
	idle pool
}

// New returns a client that dials with dial and speaks TLS as conf says. What it
// does not do itself, rest does. Close ends it.
func New(dial func(ctx context.Context, network, addr string) (net.Conn, error), conf *tls.Config, rest http.RoundTripper) *Client {
	conf = conf.Clone()
	conf.NextProtos = []string{"h2", "http/1.1"}
	return &Client{dial: dial, tls: conf, rest: rest}
}

// Close closes the connections that are idle, and each other one when its answer
// has been read.
func (c *Client) Close() { c.idle.close() }

// messages are buffers for requests.
var messages = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// RoundTrip implements [http.RoundTripper]. A request goes out once: it is sent
// again only where nothing of it was, because the connection kept for it had gone.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	at := place{req.URL.Scheme, hostport(req.URL)}
	if !takes(req) || c.idle.speaksHTTP2(at) {
		return c.rest.RoundTrip(req)
	}
	cn, err := c.conn(req.Context(), at, req.URL.Hostname())
	if errors.Is(err, errHTTP2) {
		return c.rest.RoundTrip(req)
	}
	if err != nil {
		_ = req.Body.Close()
		return nil, err
	}
	msg := messages.Get().(*bytes.Buffer)
	defer messages.Put(msg)
	msg.Reset()
	if err := write(msg, req); err != nil {
		cn.close()
		return nil, err
	}
	for {
		resp, sent, err := cn.exchange(req, msg.Bytes())
		if err == nil || sent || !cn.used || req.Context().Err() != nil {
			return resp, err
		}
		if cn, err = c.conn(req.Context(), at, req.URL.Hostname()); err != nil {
			return nil, err
		}
	}
}

// takes reports whether a request is of the kind that is done here.
func takes(req *http.Request) bool {
	if !canPeek || req.Method != http.MethodPost || req.Close || len(req.TransferEncoding)+len(req.Trailer) > 0 {
		return false
	}
	if req.Body == nil || req.ContentLength <= 0 || req.ContentLength > maxBody {
		return false
	}
	for _, name := range []string{"Upgrade", "Expect", "Connection", "Te"} {
		if _, ok := req.Header[name]; ok {
			return false
		}
	}
	return req.URL.Host != "" && (req.URL.Scheme == "http" || req.URL.Scheme == "https")
}

// write writes a request out. Its body is closed.
func write(msg *bytes.Buffer, req *http.Request) error {
	for name, values := range req.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			_ = req.Body.Close()
			return fmt.Errorf("the header name %q cannot be sent", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				_ = req.Body.Close()
				return fmt.Errorf("the value of the header %s cannot be sent", name)
			}
		}
	}
	return req.Write(msg)
}

// A place is where connections lead: they are kept by it.
type place struct{ scheme, addr string }

func hostport(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// conn returns a connection to a place: one that is kept, or a new one.
func (c *Client) conn(ctx context.Context, at place, host string) (*conn, error) {
	if cn := c.idle.get(at); cn != nil {
		return cn, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	raw, err := c.dial(ctx, "tcp", at.addr)
	if err != nil || at.scheme == "http" {
		return newConn(&c.idle, at, raw, nil), err
	}
	conf := c.tls.Clone()
	conf.ServerName = host
	secure := tls.Client(raw, conf)
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		_ = raw.Close()
		c.idle.setHTTP2(at)
		return nil, errHTTP2
	}
	return newConn(&c.idle, at, raw, secure), nil
}
