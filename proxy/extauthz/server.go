// Package extauthz answers Envoy's ext_authz filter, and every gateway that speaks its
// protocol (gRPC, envoy.service.auth.v3): it reads what a filter says of a request, and
// says what was decided. A [Check] decides.
//
// A request is decided as it would come in at a door: by its method, address, headers and
// whole body. Whatever may not be all of it is refused. So is what the filter sends in two
// ways at a time.
package extauthz

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/holdgate/holdgate"
)

// Door is this way in, as policy and the log name it.
const Door = "ext_authz"

// envelope is what a message may have besides a request's body, in bytes.
const envelope = 1 << 20

// A Question is a request about which a filter asks.
type Question struct {
	Request *http.Request // with its whole body
	Token   string        // that the filter shows; empty: none
	// Until is when the filter is to be answered; zero: it waits for as long as it
	// takes.
	Until time.Time
	// Waits is to be called when people are waited for: others are read meanwhile.
	Waits func()
}

// A Check decides. What it writes is the answer to a request that it refuses, which must
// have a status of 400 or more.
type Check func(http.ResponseWriter, Question) (allowed bool)

// Bounds of what is read of requests that nobody has judged: in bytes, and in their number.
const (
	maxUnjudged             = 512 << 20
	leastAtOnce, mostAtOnce = 4, 64
)

// window is how many bytes of a request come before it is read: the least that gRPC takes.
const window = 64 << 10

// readTimeout is how long a filter may take to send a request, whose body it has already.
const readTimeout = 10 * time.Second

// A Server answers filters.
type Server struct {
	check   Check
	body    int64
	log     *slog.Logger
	grpc    *grpc.Server
	room    chan struct{}  // one for each request that is read or judged
	timeout time.Duration  // [readTimeout]
	readers sync.WaitGroup // of messages; each ends with its stream
}

// New returns a Server. body bounds a request's body, in bytes.
func New(check Check, body int64, log *slog.Logger) *Server {
	atOnce := min(max(maxUnjudged/(body+envelope), leastAtOnce), mostAtOnce)
	s := &Server{check: check, body: body, log: log, room: make(chan struct{}, atOnce), timeout: readTimeout}
	s.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(int(min(body+envelope, math.MaxInt32))), grpc.MaxConcurrentStreams(1000), grpc.ConnectionTimeout(10*time.Second),
		grpc.InitialWindowSize(window))
	// As a stream of one message: gRPC reads that of a unary call before anybody is asked.
	s.grpc.RegisterService(&grpc.ServiceDesc{ServiceName: authv3.Authorization_ServiceDesc.ServiceName, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: authv3.Authorization_ServiceDesc.Methods[0].MethodName, Handler: s.take}}}, s)
	return s
}

// Serve serves filters on ln until Stop.
func (s *Server) Serve(ln net.Listener) error { return s.grpc.Serve(ln) }

// Stop stops listening, and waits for what is being answered until ctx ends. Nothing reads
// any longer once it returns.
func (s *Server) Stop(ctx context.Context) error {
	defer s.readers.Wait()
	done := make(chan struct{})
	go func() { s.grpc.GracefulStop(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
		return nil
	}
}

// take reads a filter's request once there is room, and answers it. An error has the filter
// refuse the request.
func (s *Server) take(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	select {
	case s.room <- struct{}{}:
	case <-ctx.Done():
		return grpcstatus.FromContextError(ctx.Err()).Err()
	}
	leave := sync.OnceFunc(func() { <-s.room })
	defer leave()
	in := &authv3.CheckRequest{}
	if err := s.receive(stream, in); err != nil {
		return err
	}
	out, err := s.decide(ctx, in, leave)
	if err != nil {
		return err
	}
	return stream.SendMsg(out)
}

// receive reads a message that comes in time. The end of the stream ends the reading.
func (s *Server) receive(stream grpc.ServerStream, in *authv3.CheckRequest) error {
	read := make(chan error, 1)
	s.readers.Go(func() { read <- stream.RecvMsg(in) })
	late := time.NewTimer(s.timeout)
	defer late.Stop()
	select {
	case err := <-read:
		return err
	case <-late.C:
		return grpcstatus.Errorf(codes.DeadlineExceeded, "the request did not come within %v", s.timeout)
	}
}

// decide answers a request. waits is called once people are waited for.
func (s *Server) decide(ctx context.Context, in *authv3.CheckRequest, waits func()) (out *authv3.CheckResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "a request of a filter failed inside Holdgate and was refused", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out, err = denied(http.StatusInternalServerError, nil, "[holdgate] The request could not be decided."), nil
		}
	}()
	r, refused := read(in, s.body)
	if refused != nil {
		return denied(refused.status, nil, "[holdgate] "+holdgate.Visible(refused.why)), nil
	}
	until := time.Time{}
	if end, ok := ctx.Deadline(); ok {
		until = end.Add(-margin(time.Until(end)))
	}
	// What is held must be answered before the filter gives up, not be cut off then.
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	w := &recorder{header: http.Header{}, status: http.StatusForbidden}
	if s.check(w, Question{Request: r.WithContext(kept), Token: token(ctx), Until: until, Waits: waits}) {
		return &authv3.CheckResponse{Status: &status.Status{Code: int32(codes.OK)}, HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{}}}, nil
	}
	return denied(w.status, w.header, string(w.body)), nil
}

// margin is what remains of a filter's patience for the answer's way back.
func margin(patience time.Duration) time.Duration { return min(time.Second, patience/5) }

// token is what a filter shows: grpc_service.initial_metadata has it as authorization.
func token(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if all := md.Get("authorization"); len(all) == 1 {
		return all[0]
	} else if len(all) > 1 {
		return "several" // none is it
	}
	return ""
}

// denied is an answer that the filter gives in the place of the upstream's.
func denied(code int, h http.Header, body string) *authv3.CheckResponse {
	if code < http.StatusBadRequest || code > 599 {
		code = http.StatusForbidden
	}
	d := &authv3.DeniedHttpResponse{Status: &typev3.HttpStatus{Code: typev3.StatusCode(code)}, Body: body}
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if v := h.Get(name); v != "" {
			d.Headers = append(d.Headers, &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, Value: v}})
		}
	}
	return &authv3.CheckResponse{Status: &status.Status{Code: int32(codes.PermissionDenied)}, HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: d}}
}

// A recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   []byte
}

// Header implements [http.ResponseWriter].
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements [http.ResponseWriter].
func (w *recorder) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}
