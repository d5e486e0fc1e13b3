package extauthz

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// serve serves filters with a check until the test ends, and returns a filter's connection. It has
// places for [leastAtOnce] requests.
func serve(t *testing.T, timeout time.Duration, check Check) *grpc.ClientConn {
	t.Helper()
	s := New(check, maxUnjudged, slog.New(slog.DiscardHandler)) // of so large bodies the least are read at once
	s.timeout = timeout
	if n := cap(s.room); n != leastAtOnce {
		t.Fatalf("there are places for %d requests that may be as large as all that is read, want %d", n, leastAtOnce)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func described() *authv3.CheckRequest {
	r := &authv3.AttributeContext_HttpRequest{Method: "GET", Path: "/", Host: "x.example", Scheme: "https"}
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{Http: r}}}
}

// patience is when a test gives up.
const patience = 2 * time.Minute

// askAll has a filter ask about so many requests at the same time.
func askAll(t *testing.T, conn *grpc.ClientConn, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var asked sync.WaitGroup
	for range n {
		asked.Go(func() {
			if _, err := authv3.NewAuthorizationClient(conn).Check(ctx, described()); err != nil {
				t.Error(err)
			}
		})
	}
	asked.Wait()
}

// What nobody has judged takes memory, so it is read only as far as there is room.
func TestFewRequestsAreReadAtATime(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	conn := serve(t, time.Hour, func(http.ResponseWriter, Question) bool {
		n := now.Add(1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		for range 1000 {
			runtime.Gosched()
		}
		now.Add(-1)
		return true
	})
	askAll(t, conn, 50*leastAtOnce)
	if n := most.Load(); n > leastAtOnce {
		t.Errorf("%d requests were judged at a time, %d may be", n, leastAtOnce)
	}
}

// Those for which people are waited for keep nobody out.
func TestRequestsThatWaitForPeopleTakeNoRoom(t *testing.T) {
	t.Parallel()
	const n = 3 * leastAtOnce
	var here atomic.Int64
	all := make(chan struct{})
	conn := serve(t, time.Hour, func(_ http.ResponseWriter, q Question) bool {
		q.Waits()
		if here.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
			return true
		case <-q.Request.Context().Done():
			return false
		}
	})
	askAll(t, conn, n)
}

// A filter that begins a request and does not send it holds its place for a time.
func TestARequestThatDoesNotComeIsGivenUp(t *testing.T) {
	t.Parallel()
	conn := serve(t, time.Millisecond, func(http.ResponseWriter, Question) bool { return true })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 3 * leastAtOnce {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, authv3.Authorization_Check_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&authv3.CheckResponse{}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("it ended with %v", err)
		}
	}
}

// A filter that waits for so long is answered a little before; one that says nothing, whenever.
func TestAFilterIsAnsweredBeforeItGivesUp(t *testing.T) {
	t.Parallel()
	var until time.Time
	conn := serve(t, time.Hour, func(_ http.ResponseWriter, q Question) bool { until = q.Until; return true })
	for _, patience := range []time.Duration{0, time.Hour} {
		ctx, want := t.Context(), time.Time{}
		if patience > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, patience)
			defer cancel()
			want, _ = ctx.Deadline()
			want = want.Add(-time.Second)
		}
		if _, err := authv3.NewAuthorizationClient(conn).Check(ctx, described()); err != nil {
			t.Fatal(err)
		}
		// The deadline goes over the wire as what is left of it: the server's is a little later.
		if patience == 0 && !until.IsZero() || patience > 0 && (until.Before(want.Add(-time.Second)) || until.After(want.Add(time.Minute))) {
			t.Errorf("a filter that waits for %v is to be answered by %v, want %v", patience, until, want)
		}
	}
}
