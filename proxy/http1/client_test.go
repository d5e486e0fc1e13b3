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
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// The bytes of a request are those that net/http would send.
func TestRequestsAreThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	s := newServer(t, func(_ int, c net.Conn, _ *bufio.Reader) {
		b := make([]byte, 64<<10)
		n := 0
		for !strings.Contains(string(b[:n]), "the end") {
			m, err := c.Read(b[n:])
			if err != nil {
				return
			}
			n += m
		}
		got <- string(b[:n])
		_, _ = io.WriteString(c, okAnswer)
	})
	tr := &http.Transport{DisableCompression: true}
	defer tr.CloseIdleConnections()
	var sent []string
	for _, rt := range []http.RoundTripper{tr, newClient(t, nil)} {
		req := newRequest(t.Context(), t, "http://"+s.Addr().String()+"/a%2fb/ü?q=%20+#f", strings.Repeat("x", 20<<10)+"the end")
		req.Host = "other.example:80"
		req.Header = http.Header{"Accept": {"a", "b"}, "mcp-lower": {"\tx "}, "User-Agent": nil, "Authorization": {"Bearer s"}}
		resp, err := rt.RoundTrip(req)
		must(t, err)
		resp.Body.Close()
		sent = append(sent, <-got)
	}
	if sent[0] != sent[1] || !strings.Contains(sent[1], "Host: other.example:80\r\n") {
		t.Errorf("net/http sends\n%.300q\nand this client\n%.300q", sent[0], sent[1])
	}
}

// What cannot be a header is not sent.
func TestHeadersThatAreNone(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, _ net.Conn, r *bufio.Reader) {
		if _, err := r.ReadByte(); err == nil {
			t.Error("something was sent")
		}
	})
	for _, h := range []http.Header{{"X-A": {"b\r\nX-C: d"}}, {"X-A\r\nX-B": {"c"}}, {"X A": {"b"}}, {"": {"b"}}, {"X-A": {"\x00"}}} {
		req := newRequest(t.Context(), t, "http://"+s.Addr().String(), "{}")
		req.Header = h
		if _, err := newClient(t, nil).RoundTrip(req); err == nil {
			t.Errorf("%q was sent", h)
		}
	}
}

// A server that drops a connection that was kept has perhaps run the call.
func TestWhatWasSentIsNotSentAgain(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
		for {
			body, err := request(r)
			if err != nil || body == "drop" {
				seen.Store(body, true)
				return
			}
			if _, again := seen.LoadOrStore(body, true); again {
				t.Errorf("%s was sent twice", body)
			}
			_, _ = io.WriteString(c, okAnswer)
		}
	})
	c := newClient(t, nil)
	for _, body := range []string{"1", "2"} {
		if got, err := c.say(t.Context(), t, s.Addr().String(), body); err != nil || got != "ok" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if len(s.conns) != 1 || c.kept() != 1 {
		t.Fatalf("%d connections were made, %d are kept", len(s.conns), c.kept())
	}
	if got, err := c.say(t.Context(), t, s.Addr().String(), "drop"); err == nil {
		t.Errorf("a call that was dropped is answered with %q", got)
	}
	if len(s.conns) != 1 {
		t.Error("it was sent again")
	}
	if got, err := c.say(t.Context(), t, s.Addr().String(), "3"); err != nil || got != "ok" {
		t.Errorf("%q, %v", got, err)
	}
}

// A connection that the server has closed, or on which it says something unasked,
// is not used again, and the request goes out on another.
func TestConnectionsThatHaveGone(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		for what, after := range map[string]string{"closed": "", "an answer unasked": "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				up := httptest.NewTLSServer(http.NotFoundHandler())
				conf := up.TLS.Clone()
				roots := up.Client().Transport.(*http.Transport).TLSClientConfig
				up.Close()
				conf.NextProtos = nil
				next := make(chan struct{})
				s := newServer(t, func(n int, c net.Conn, r *bufio.Reader) {
					if secure {
						c = tls.Server(c, conf)
						r = bufio.NewReader(c)
					}
					if _, err := request(r); err != nil {
						t.Error(err)
						return
					}
					_, _ = io.WriteString(c, okAnswer)
					<-next
					_, _ = io.WriteString(c, after)
					if after == "" {
						_ = c.Close()
						return
					}
					if body, err := request(r); err == nil {
						t.Errorf("%s came on connection %d", body, n)
					}
				})
				c := newClient(t, roots)
				url := map[bool]string{false: "http://", true: "https://"}[secure] + s.Addr().String()
				for i := range 2 {
					resp, err := c.RoundTrip(newRequest(t.Context(), t, url, "{}"))
					must(t, err)
					b, _ := io.ReadAll(resp.Body)
					if string(b) != "ok" || c.kept() != 1 {
						t.Fatalf("request %d: %q, %d connections are kept", i, b, c.kept())
					}
					cn := c.idle.conns[place{url[:strings.Index(url, ":")], s.Addr().String()}][0]
					next <- struct{}{}
					waitFor(t, func() bool { return !cn.isWaiting() })
				}
				if len(s.conns) != 2 {
					t.Errorf("%d connections were made", len(s.conns))
				}
			})
		}
	}
}

// waitFor waits until a condition that nobody reports holds.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	end := time.After(patience)
	for tick := time.NewTicker(time.Millisecond); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it does not come")
		}
	}
}

// Who gives up closes the connection: before the answer, in its head, in its body.
func TestCancelling(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"", "HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"} {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
			_, _ = request(r)
			_, _ = io.WriteString(c, part)
			if !strings.HasSuffix(part, "ok") && !strings.HasSuffix(part, "ok\r\n") {
				cancel()
			}
			_, err := r.ReadByte()
			gone <- err
		})
		c := newClient(t, nil)
		resp, err := c.RoundTrip(newRequest(ctx, t, "http://"+s.Addr().String(), "{}"))
		if err == nil {
			b := make([]byte, 2)
			_, err = io.ReadFull(resp.Body, b)
			must(t, err)
			cancel()
			_, err = resp.Body.Read(b)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %q: %v", part, err)
		}
		if err := <-gone; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %q the server still has its client: %v", part, err)
		}
		if c.kept() != 0 {
			t.Errorf("after %q the connection is kept", part)
		}
		if _, err := c.RoundTrip(newRequest(ctx, t, "http://"+s.Addr().String(), "{}")); !errors.Is(err, context.Canceled) {
			t.Errorf("who has given up is served: %v", err)
		}
		cancel()
	}
}

// A body that is closed before its end takes its connection with it.
func TestABodyThatIsLeft(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
		_, _ = request(r)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		_, _ = r.ReadByte()
		close(gone)
	})
	c := newClient(t, nil)
	resp, err := c.RoundTrip(newRequest(t.Context(), t, "http://"+s.Addr().String(), "{}"))
	must(t, err)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || line != "data: 1\n" { // as it comes, before the answer's end
		t.Fatalf("%q, %v", line, err)
	}
	_ = resp.Body.Close()
	<-gone
	if c.kept() != 0 {
		t.Error("the connection is kept")
	}
}

// A server may answer before it has read what it is sent.
func TestAnEarlyAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		_, _ = request(r)
	})
	c := newClient(t, nil)
	got, err := c.say(t.Context(), t, s.Addr().String(), strings.Repeat("x", maxBody))
	if err != nil || got != "no" || c.kept() != 0 {
		t.Errorf("%q, %v, %d connections are kept", got, err, c.kept())
	}
}

// Servers that speak HTTP/2 are left to the transport, and asked once what they speak.
func TestTLS(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
		conns := 0
		up.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns++
			}
		}
		up.EnableHTTP2 = http2
		up.StartTLS()
		c := newClient(t, up.Client().Transport.(*http.Transport).TLSClientConfig)
		for range 3 {
			resp, err := c.RoundTrip(newRequest(t.Context(), t, up.URL, "{}"))
			if http2 != errors.Is(err, errElsewhere) {
				t.Fatal(err)
			}
			if !http2 {
				if b, _ := io.ReadAll(resp.Body); string(b) != "HTTP/1.1" {
					t.Errorf("%s", b)
				}
			}
		}
		if _, err := newClient(t, nil).RoundTrip(newRequest(t.Context(), t, up.URL, "{}")); err == nil || errors.Is(err, errElsewhere) {
			t.Error("a server that nobody vouches for was spoken to")
		}
		c.Close()
		up.Close()
		if conns != 2 {
			t.Errorf("%d connections were made, want one, and the one that was refused", conns)
		}
	}
}

// What is no short POST goes to the transport.
func TestWhatIsDoneElsewhere(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	for name, change := range map[string]func(*http.Request){
		"GET":                  func(r *http.Request) { r.Method = http.MethodGet },
		"no body":              func(r *http.Request) { r.Body, r.ContentLength = nil, 0 },
		"of unknown length":    func(r *http.Request) { r.ContentLength = -1 },
		"a long body":          func(r *http.Request) { r.ContentLength = maxBody + 1 },
		"an upgrade":           func(r *http.Request) { r.Header.Set("Upgrade", "websocket") },
		"trailers":             func(r *http.Request) { r.Trailer = http.Header{"X": nil} },
		"a transfer coding":    func(r *http.Request) { r.TransferEncoding = []string{"chunked"} },
		"an expectation":       func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"a connection's word":  func(r *http.Request) { r.Header.Set("Connection", "close") },
		"codings it takes":     func(r *http.Request) { r.Header.Set("Te", "trailers") },
		"another scheme":       func(r *http.Request) { r.URL.Scheme = "ftp" },
		"the last of its kind": func(r *http.Request) { r.Close = true },
	} {
		req := newRequest(t.Context(), t, "http://127.0.0.1:1", "{}")
		change(req)
		if _, err := c.RoundTrip(req); !errors.Is(err, errElsewhere) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is kept is bounded, ends after a time, and is closed in the end.
func TestConnectionsThatAreKept(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ int, c net.Conn, r *bufio.Reader) {
		for {
			if _, err := request(r); err != nil {
				return
			}
			_, _ = io.WriteString(c, okAnswer)
		}
	})
	c := newClient(t, nil)
	var bodies []io.Reader
	for range maxIdleAt + 2 { // at once: each has a connection of its own
		resp, err := c.RoundTrip(newRequest(t.Context(), t, "http://"+s.Addr().String(), "{}"))
		must(t, err)
		bodies = append(bodies, resp.Body)
	}
	for _, b := range bodies {
		if _, err := io.Copy(io.Discard, b); err != nil {
			t.Fatal(err)
		}
	}
	if c.kept() != maxIdleAt {
		t.Fatalf("%d connections are kept", c.kept())
	}
	at := place{"http", s.Addr().String()}
	c.idle.mu.Lock()
	for _, cn := range c.idle.conns[at][1:] {
		cn.since = cn.since.Add(-idleTime)
	}
	c.idle.mu.Unlock()
	c.idle.sweep()
	if c.kept() != 1 || c.idle.timer == nil {
		t.Errorf("%d connections are kept", c.kept())
	}
	resp, err := c.RoundTrip(newRequest(t.Context(), t, "http://"+s.Addr().String(), "{}"))
	must(t, err)
	c.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "ok" || c.kept() != 0 {
		t.Errorf("an answer that was under way: %q, %v; %d connections are kept", b, err, c.kept())
	}
}

// Answers find those who asked, whoever gives up in between.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	}))
	defer up.Close()
	c := newClient(t, nil)
	addr := up.Listener.Addr().String()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 100 {
				body := strings.Repeat(string(rune('a'+i)), 1+n*37)
				ctx, cancel := context.WithCancel(t.Context())
				if n%7 == 3 {
					go cancel()
				}
				got, err := c.say(ctx, t, addr, body)
				if err == nil && got != body || err != nil && n%7 != 3 {
					t.Errorf("%.20q of %d is answered with %.20q of %d, %v", body, len(body), got, len(got), err)
				}
				cancel()
			}
		})
	}
	all.Wait()
}

// FuzzAnswer: whatever a server writes, its answer is what net/http reads, or an
// error, and nothing is left over for the next one.
func FuzzAnswer(f *testing.F) {
	for _, a := range answers {
		if len(a.raw) < 1000 {
			f.Add([]byte(a.raw))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.Copy(io.Discard, io.LimitReader(theirs, 1))
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_, _ = theirs.Write(raw)
			_ = theirs.Close()
		}()
		p := &pool{}
		defer p.close()
		c := newConn(p, place{"http", "a"}, ours, nil)
		req := newRequest(t.Context(), t, "http://a/", "{}")
		resp, _, err := c.exchange(req, []byte("x"))
		if err != nil {
			return
		}
		got, err := io.ReadAll(resp.Body)
		if (err != nil || c.r.Buffered() > 0) && p.n > 0 {
			t.Fatal("a connection is kept on which something is left")
		}
		in := bufio.NewReader(bytes.NewReader(raw))
		want, wantErr := http.ReadResponse(in, req)
		for wantErr == nil && want.StatusCode < 200 {
			want, wantErr = http.ReadResponse(in, req)
		}
		if wantErr != nil {
			t.Fatalf("net/http reads no answer: %v", wantErr)
		}
		body, bodyErr := io.ReadAll(want.Body)
		if resp.StatusCode != want.StatusCode || !bytes.Equal(got, body) || (err == nil) != (bodyErr == nil) {
			t.Fatalf("%d %q %v, and net/http reads %d %q %v", resp.StatusCode, got, err, want.StatusCode, body, bodyErr)
		}
	})
}
