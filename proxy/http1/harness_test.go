package http1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 3 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A server speaks in its own words: serve is told how many connections came before.
type server struct {
	net.Listener
	conns chan net.Conn // as they come
}

func newServer(t *testing.T, serve func(n int, c net.Conn, r *bufio.Reader)) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &server{Listener: ln, conns: make(chan net.Conn, 1000)}
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.conns <- c
			running.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				serve(n, c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		for len(s.conns) > 0 {
			_ = (<-s.conns).Close()
		}
		running.Wait()
	})
	return s
}

// request reads a request whole and returns its body.
func request(r *bufio.Reader) (string, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(req.Body)
	return string(b), err
}

// elsewhere stands for the transport.
type elsewhere struct {
	mu   sync.Mutex
	seen int
}

var errElsewhere = errors.New("not done here")

func (e *elsewhere) RoundTrip(req *http.Request) (*http.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen++
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, errElsewhere
}

func newClient(t *testing.T, conf *tls.Config) *Client {
	t.Helper()
	if conf == nil {
		conf = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c := New((&net.Dialer{}).DialContext, conf, &elsewhere{})
	t.Cleanup(c.Close)
	return c
}

func newRequest(ctx context.Context, t *testing.T, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	must(t, err)
	return req
}

// say sends a body and returns the answer's.
func (c *Client) say(ctx context.Context, t *testing.T, addr, body string) (string, error) {
	t.Helper()
	resp, err := c.RoundTrip(newRequest(ctx, t, "http://"+addr+"/mcp", body))
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return string(b), err
}

// kept is how many connections are idle.
func (c *Client) kept() int {
	c.idle.mu.Lock()
	defer c.idle.mu.Unlock()
	return c.idle.n
}
