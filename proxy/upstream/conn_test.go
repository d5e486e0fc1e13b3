package upstream

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Bodies of all lengths arrive as they are, whatever of them the transport has
// buffered with the headers, on connections that are used again.
func TestUpstreamGetsBodiesOfAnyLength(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer, "TLS": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan []byte, 1)
			up := start(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got <- b
			}))
			defer up.Close()
			tr := New(Config{}).transport(false)
			tr.TLSClientConfig = up.Client().Transport.(*http.Transport).TLSClientConfig
			defer tr.CloseIdleConnections()
			for _, n := range []int{0, 1, 4 << 10, 16<<10 - 200, 16 << 10, 64<<10 + 1, 3 << 20} {
				body := make([]byte, n)
				for i := range body {
					body[i] = byte(i * 31 >> 3)
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, up.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				Carry(req, body)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if !bytes.Equal(<-got, body) {
					t.Errorf("a body of %d bytes arrived as another", n)
				}
			}
		})
	}
}

// writes counts how often a connection is written to.
type writes struct {
	net.Conn
	n atomic.Int32
}

func (c *writes) Write(b []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(b)
}

// A small body goes out in one write with its headers.
func TestSmallBodiesAreOneWrite(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer up.Close()
	tr := New(Config{}).transport(false)
	defer tr.CloseIdleConnections()
	dial := tr.DialContext
	conns := make(chan *writes, 1)
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &writes{Conn: c}
		conns <- w
		return w, nil
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, up.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	Carry(req, make([]byte, smallBody))
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := (<-conns).n.Load(); n != 1 {
		t.Errorf("a small body took %d writes, want 1", n)
	}
}

// No more goes out than was announced, and what is no body of ours goes as ever.
func TestUpstreamConnReadFrom(t *testing.T) {
	t.Parallel()
	text := []byte("what was judged is what goes")
	for name, tt := range map[string]struct {
		src  io.Reader
		want string
	}{
		"a body":             {io.LimitReader(newRequestBody(text), int64(len(text))), string(text)},
		"a shorter length":   {io.LimitReader(newRequestBody(text), 4), "what"},
		"a longer length":    {io.LimitReader(newRequestBody(text), 1000), string(text)},
		"of something else":  {io.LimitReader(bytes.NewReader(text), 4), "what"},
		"without any length": {bytes.NewReader(text), string(text)},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			c, err := dialUpstream(&net.Dialer{})(context.Background(), "tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			server, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			n, err := c.(io.ReaderFrom).ReadFrom(tt.src)
			if err != nil || n != int64(len(tt.want)) {
				t.Errorf("got %d, %v", n, err)
			}
			c.Close()
			if got, err := io.ReadAll(server); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v", got, err)
			}
			if l, ok := tt.src.(*io.LimitedReader); ok {
				if _, body := l.R.(*requestBody); body && name == "a body" && l.N != 0 {
					t.Errorf("%d bytes are said to be left", l.N)
				}
			}
		})
	}
}
