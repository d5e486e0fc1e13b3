// Package api is the approvers' door: the HTTP API through which people, and
// the programs that act for them, see what is held and decide it.
//
// A [Server] is an [http.Handler] for /v1/... and /healthz. Every request
// passes the same gate before its endpoint sees it, in this order:
//
//  1. It must come from no web page of another site: Host is one of the
//     listener's own names, Origin and Sec-Fetch-Site are not foreign. A page
//     in the approver's browser can send requests to loopback; these checks,
//     with the token and the JSON content type, leave it nothing to do.
//  2. It carries the approver's token (RFC 6750). Only /healthz and /v1/prove
//     need none.
//  3. Its body is at most [MaxBody] bytes of strict JSON: no duplicate or
//     unknown members.
//
// What goes wrong is told as a problem document (RFC 9457, [Problem]). An
// error without a meaning for the caller is logged and told as "internal",
// without its text.
//
// The token is never proof of the listener: a process that binds the port
// after a crash would be sent it. So the listener proves itself first, at
// POST /v1/prove, by an HMAC over the caller's nonce and the address that the
// connection reached ([Proof]). The address is in it so that nobody can pass
// the question on to the real sidecar.
//
// A vote's name comes from the credential. There is one token, and its name
// is [Config.Approver].
//
// The routes are described in openapi.json, served at /v1/openapi.json; a
// test holds the two together.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

// MaxBody bounds a request's body, in bytes.
const MaxBody = 64 << 10

// Config is what a Server needs. All fields but Logger must be set.
type Config struct {
	Queue *approvals.Queue
	Log   *audit.Log
	// Token is the approver's credential: at least [MinToken] characters from
	// a secure source of randomness.
	Token string
	// Approver is the name under which the token's votes are recorded.
	Approver string
	// Status tells how the sidecar is. It is called for each request of
	// /v1/status and /healthz, concurrently, and must be quick.
	Status func(context.Context) Status
	Logger *slog.Logger
}

// MinToken is the least length of a token, in characters: 128 bits in hex.
const MinToken = 32

// Status is the answer of /v1/status.
type Status struct {
	Version   string     `json:"version"`
	Health    string     `json:"health"` // [Healthy], or what is wrong in a few words
	StartedAt time.Time  `json:"started_at"`
	Listeners []Listener `json:"listeners"`
	Policy    Policy     `json:"policy"`
	Pending   int        `json:"pending"`
}

// Healthy is the health of a sidecar that works.
const Healthy = "ok"

// Listener names a listener as `serve` prints it.
type Listener struct {
	Name string `json:"listening"` // "agents" or "approvers"
	Addr string `json:"addr"`      // "127.0.0.1:7300", or the path of a unix socket
}

// Policy says which policy is in force.
type Policy struct {
	Revision string `json:"revision"`
	Path     string `json:"path,omitempty"` // empty: the shipped pack alone
	Mode     string `json:"mode"`           // "enforce" or "observe"
}

// A Server is the approvers' API. It is safe for concurrent use.
type Server struct {
	c        Config
	mux      *http.ServeMux
	open     map[string]bool // patterns that need no token
	failures *rate.Limiter   // of authentication
	closed   chan struct{}
	once     sync.Once
}

// New returns a Server.
func New(c Config) (*Server, error) {
	switch {
	case c.Queue == nil, c.Log == nil, c.Status == nil:
		return nil, errors.New("api: queue, log and status must all be set")
	case len(c.Token) < MinToken:
		return nil, errors.New("api: the token is too short to be a secret")
	case c.Approver == "":
		return nil, errors.New("api: the approver must have a name")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{c: c, mux: http.NewServeMux(), open: map[string]bool{}, failures: rate.NewLimiter(2, 10), closed: make(chan struct{})}
	for _, r := range s.routes() {
		s.mux.Handle(r.pattern, r.handler)
		s.open[r.pattern] = r.open
	}
	return s, nil
}

// Close ends the event streams, which [http.Server.Shutdown] would wait for:
// register it with [http.Server.RegisterOnShutdown]. Other requests go on to
// their end.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// A route is one endpoint: a pattern of [http.ServeMux] and what serves it.
type route struct {
	pattern string
	open    bool // needs no token
	handler http.Handler
}

// routes is the table of all endpoints.
func (s *Server) routes() []route {
	return []route{
		{"GET /v1/approvals", false, answer(s, s.listApprovals)},
		{"GET /v1/approvals/{id}", false, answer(s, s.showApproval)},
		{"POST /v1/approvals/{id}/decision", false, answerBody(s, s.decide)},
		{"GET /v1/audit", false, answer(s, s.queryAudit)},
		{"GET /v1/audit/head", false, answer(s, s.auditHead)},
		{"GET /v1/audit/export", false, stream(s, s.exportAudit)},
		{"GET /v1/events", false, stream(s, s.events)},
		{"GET /v1/openapi.json", false, stream(s, s.openAPI)},
		{"GET /v1/status", false, answer(s, s.status)},
		{"POST /v1/prove", true, answerBody(s, s.prove)},
		{"GET /healthz", true, stream(s, s.healthz)},
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := checkSite(r); err != nil {
		s.fail(w, r, err)
		return
	}
	_, pattern := s.mux.Handler(r)
	if !s.open[pattern] {
		if err := s.authenticate(r); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if pattern == "" {
		s.fail(w, r, s.unrouted(w, r))
		return
	}
	s.mux.ServeHTTP(w, r)
}
