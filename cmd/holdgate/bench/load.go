package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// A target is one way to the upstream.
type target struct {
	name    string
	dial    func(ctx context.Context) (net.Conn, error)
	request []byte // the whole request, written at once
	cpu     func() time.Duration
	lines   bool       // JSON-RPC messages by the line, in place of HTTP
	h2      *h2Request // the request over HTTP/2, in place of the other
}

// A client asks over one connection, one request at a time.
type client interface {
	// exchange sends a request, reads the answer to its end, and returns when the
	// first byte of its body was there, and how long the body was.
	exchange() (first time.Time, size int, err error)
}

func (t target) client(nc net.Conn, n int) (client, error) {
	if t.h2 != nil {
		return newH2Conn(nc, t, n)
	}
	return newConn(nc, t, n), nil
}

// A run is what one target did under load for a while.
type run struct {
	size   int // of the body of an answer, in bytes
	took   time.Duration
	cpu    time.Duration
	totals []time.Duration // sorted
	firsts []time.Duration // sorted
}

func (r run) rps() float64 { return float64(len(r.totals)) / r.took.Seconds() }

func (r run) cpuPerRequest() float64 { return ms(r.cpu) / float64(max(len(r.totals), 1)) }

func (r run) total(q float64) time.Duration { return quantile(r.totals, q) }

func (r run) firstByte(q float64) time.Duration { return quantile(r.firsts, q) }

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// load sends requests over n connections, the next one on each as soon as the
// answer before it is whole, for about d.
func (t target) load(ctx context.Context, n int, d time.Duration) (run, error) {
	totals, firsts := make([][]time.Duration, n), make([][]time.Duration, n)
	conns := make([]client, n)
	size := 0
	for i := range conns {
		nc, err := t.dial(ctx)
		if err != nil {
			return run{}, err
		}
		defer nc.Close()
		if conns[i], err = t.client(nc, i); err != nil {
			return run{}, err
		}
		if _, size, err = conns[i].exchange(); err != nil {
			return run{}, err
		}
	}
	cpu := t.cpu()
	begin := time.Now()
	end := begin.Add(d)
	var g errgroup.Group
	for i := range conns {
		g.Go(func() error {
			for time.Now().Before(end) && ctx.Err() == nil {
				start := time.Now()
				first, _, err := conns[i].exchange()
				if err != nil {
					return err
				}
				totals[i] = append(totals[i], time.Since(start))
				firsts[i] = append(firsts[i], first.Sub(start))
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return run{}, err
	}
	r := run{size: size, took: time.Since(begin), cpu: t.cpu() - cpu, totals: slices.Concat(totals...), firsts: slices.Concat(firsts...)}
	slices.Sort(r.totals)
	slices.Sort(r.firsts)
	return r, nil
}

// A conn is a lean client, of HTTP/1.1 or of lines: what is measured is the
// proxy, so the generator must cost little.
type conn struct {
	net.Conn
	r       *bufio.Reader
	request counted
	lines   bool
}

// counterStart stands in a request where the number is that makes each one
// another. Its first digit says which connection it is of.
const counterStart = "1000000000"

// A counted is a text with such a number.
type counted struct {
	text   []byte
	number []byte // in text; nil where all are the same
}

func newCounted(text []byte, n int) counted {
	c := counted{text: bytes.Clone(text)}
	if at := bytes.Index(c.text, []byte(counterStart)); at >= 0 {
		c.number = c.text[at : at+len(counterStart)]
		c.number[0], c.number[1] = byte('1'+n/10%9), byte('0'+n%10)
	}
	return c
}

// count makes the next request another one than the last.
func (c counted) count() {
	for i := len(c.number) - 1; i > 1; i-- {
		if c.number[i]++; c.number[i] <= '9' {
			return
		}
		c.number[i] = '0'
	}
}

func newConn(nc net.Conn, t target, n int) *conn {
	return &conn{Conn: nc, r: bufio.NewReaderSize(nc, 32<<10), request: newCounted(t.request, n), lines: t.lines}
}

// exchange implements [client].
func (c *conn) exchange() (first time.Time, size int, err error) {
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	c.request.count()
	if _, err := c.Write(c.request.text); err != nil {
		return first, 0, err
	}
	if c.lines {
		if _, err := c.r.Peek(1); err != nil {
			return first, 0, err
		}
		first = time.Now()
		line, err := c.line()
		return first, len(line), err
	}
	length, chunked, err := c.head()
	if err != nil {
		return first, 0, err
	}
	if _, err := c.r.Peek(1); err != nil {
		return first, 0, err
	}
	first = time.Now()
	if !chunked {
		_, err := c.r.Discard(length)
		return first, length, err
	}
	for {
		line, err := c.line()
		if err != nil {
			return first, size, err
		}
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return first, size, fmt.Errorf("reading a chunk's size: %w", err)
		}
		if _, err := c.r.Discard(int(n) + 2); err != nil {
			return first, size, err
		}
		size += int(n)
		if n == 0 {
			return first, size, nil
		}
	}
}

func (c *conn) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

// head reads the status line and the headers.
func (c *conn) head() (length int, chunked bool, err error) {
	line, err := c.line()
	if err != nil {
		return 0, false, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		rest, _ := io.ReadAll(io.LimitReader(c.r, 400))
		return 0, false, fmt.Errorf("the answer is %q %q", line, rest)
	}
	for {
		line, err := c.line()
		if err != nil {
			return 0, false, err
		}
		if len(line) == 0 {
			return length, chunked, nil
		}
		name, value, _ := strings.Cut(string(line), ":")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, false, err
			}
		case "transfer-encoding":
			chunked = strings.TrimSpace(value) == "chunked"
		}
	}
}

func dialTCP(addr string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
}

// dialTLS dials, through a proxy's CONNECT where one is named, and shakes hands.
func dialTLS(addr, proxy string, conf *tls.Config) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		to := addr
		if proxy != "" {
			to = proxy
		}
		c, err := dialTCP(to)(ctx)
		if err != nil {
			return nil, err
		}
		if proxy != "" {
			if err := connect(c, addr); err != nil {
				return nil, errors.Join(err, c.Close())
			}
		}
		t := tls.Client(c, conf)
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return t, nil
	}
}

func connect(c net.Conn, addr string) error {
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", addr, addr); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(onlyReader{c}, 1), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("CONNECT was answered %s", resp.Status)
	}
	return nil
}

// onlyReader reads byte by byte, so that nothing behind the answer to CONNECT
// is read ahead.
type onlyReader struct{ r io.Reader }

func (o onlyReader) Read(b []byte) (int, error) { return o.r.Read(b[:min(len(b), 1)]) }
