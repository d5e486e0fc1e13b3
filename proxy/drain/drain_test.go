package drain_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/holdgate/holdgate/proxy/drain"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A connection that was accepted is answered, though it asks when a shutdown has begun;
// one between two requests is closed.
func TestWhoWasAcceptedIsAnswered(t *testing.T) {
	t.Parallel()
	accepted := make(chan struct{}, 2)
	s := drain.New(&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { accepted <- struct{}{}; return ctx }})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", ln.Addr().String())
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		<-accepted
		return c, bufio.NewReader(c)
	}
	ask := func(c net.Conn, r *bufio.Reader) error {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return errors.Join(err, resp.Body.Close())
	}
	idle, fromIdle := dial()
	must(t, ask(idle, fromIdle))
	fresh, fromFresh := dial()
	over := make(chan error, 1)
	go func() { over <- s.Shutdown(context.WithoutCancel(t.Context())) }()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) { // so nothing is accepted any more
		t.Errorf("serving ended in %v", err)
	}
	if err := ask(fresh, fromFresh); err != nil {
		t.Errorf("who was accepted got %v", err)
	}
	must(t, <-over)
	if err := ask(idle, fromIdle); err == nil {
		t.Error("a connection goes on after the shutdown")
	}
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("serving after the shutdown ended in %v", err)
	}
}
