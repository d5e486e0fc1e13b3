// Package api is the approvers' door: the HTTP API through which people, and
// the programs that act for them, see what is held and decide it.
//
// A [Server] is an [http.Handler] for /v1/..., /healthz and /readyz. Every request
// passes the same gate before its endpoint sees it, in this order:
//
//  1. It must come from no web page of another site: Host is one of the
//     listener's own names, Origin and Sec-Fetch-Site are not foreign. A page
//     in the approver's browser can send requests to loopback; these checks,
//     with the token and the JSON content type, leave it nothing to do.
//  2. It carries the token of a person (RFC 6750). Only /healthz, /readyz and
//     /v1/prove need none.
//  3. Its body is at most [MaxBody] bytes of strict JSON: no duplicate or
//     unknown members.
//
// A POST with an idempotency key ([IdempotencyHeader]) can be sent again.
//
// Lists are bare JSON arrays. One that was cut names what follows in a Link
// header (RFC 8288); the cursor in it means nothing to the caller.
//
// What goes wrong is told as a problem document (RFC 9457, [Problem]). An
// error without a meaning for the caller is logged and told as "internal",
// without its text.
//
// The token is never proof of the listener: a process that binds the port
// after a crash would be sent it. So the listener proves itself first, at
// POST /v1/prove, by an HMAC over the caller's nonce and the address that the
// connection reached ([Proof]). The address is in it so that nobody can pass
// the question on to the real sidecar. The key is the token's hash, for the
// sidecar knows people's tokens by their hashes alone; whoever can read the
// hashes can therefore pass for the sidecar, but not for a person.
//
// The name under which something is done comes from the credential
// ([Credential]), never from what is sent.
//
// The routes are described in openapi.json, served at /v1/openapi.json; a
// test holds the two together.
package api

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// MaxBody bounds a request's body, in bytes. The arguments of an edit must fit.
const MaxBody = 320 << 10

// Config is what a Server needs. All fields but Policy, Configs, Roster, Plugins, Runs, Links, OwnHost, Metrics,
// Report, Level, Signer, KeyApart and Logger must be set.
type Config struct {
	Queue    *approvals.Queue
	Log      *audit.Log
	Store    store.Store // for the answers to requests with an idempotency key
	Digester *holdgate.Digester
	// Credentials say whose each token is. A person may have several; no two
	// people share one. It is asked for each request, as they may be replaced (see
	// [CheckCredentials]).
	Credentials func() []Credential
	// Status tells how the sidecar is. It is called for each request of
	// /v1/status and /readyz, concurrently, and must be quick.
	Status func(context.Context) Status
	// Stalled tells which loops of the sidecar stand still, for /healthz; where nil
	// nobody looks. It is called as Status is, and must touch nothing that can stall.
	Stalled func() []Trouble
	// Members lists the sidecars that share the store; where nil there are none.
	Members func(context.Context) ([]Member, error)
	Policy  Policies       // where nil, nothing is at /v1/policy
	Configs Configs        // where nil, nothing is at /v1/config
	Roster  Roster         // where nil, nothing is at /v1/people
	Plugins Plugins        // the channels; where nil there are none
	Runs    Runs           // agents that other processes start; where nil none are taken up
	Links   Links          // the page; where nil nothing is at /v1/links
	Metrics http.Handler   // where nil nothing is at /metrics
	Level   *slog.LevelVar // of the log; where nil nothing is at /v1/log
	// Report makes the files of a report that strangers may read, by their names; where
	// nil nothing is at /v1/report.
	Report func(context.Context) map[string]string
	// OwnHost reports whether a Host names this listener besides loopback's names and
	// the address that was reached: those of its certificate. Where nil there are none.
	OwnHost func(host string) bool
	// Signer signs the audit log's checkpoints and proofs; where nil there are
	// none. KeyApart says that the agent is kept from its key.
	Signer   *audit.Signer
	KeyApart bool
	Logger   *slog.Logger
}

// Status is the answer of /v1/status.
type Status struct {
	Version   string      `json:"version"`
	Health    string      `json:"health"`             // [Healthy], or what is wrong in a few words
	Troubles  []Trouble   `json:"troubles,omitempty"` // why no call can be decided now
	StartedAt time.Time   `json:"started_at"`
	Listeners []Listener  `json:"listeners"`
	Policy    Policy      `json:"policy"`
	Pending   int         `json:"pending"`
	Unreached []Unreached `json:"unreached,omitempty"` // hosts that gave the latest request to them no answer
	Agent     string      `json:"agent"`               // as whom every call counts
	You       string      `json:"you,omitempty"`       // as whom the caller answers
}

// Unreached is a host that gave an agent's latest request to it no answer.
type Unreached struct {
	Host     string    `json:"host"`               // as the request names it
	Upstream string    `json:"upstream,omitempty"` // its name in the configuration, as "anthropic" or "mcp/files"
	Agent    string    `json:"agent"`
	Times    int       `json:"times"` // requests without an answer, one after the other
	Since    time.Time `json:"since"` // the first of them
	At       time.Time `json:"at"`    // the last of them
	Why      string    `json:"why"`
	Hint     string    `json:"hint,omitempty"` // what a person can do
}

// A Trouble is one reason why no call can be decided.
type Trouble struct {
	Name string `json:"name"` // policy, store, disk, timers, queue, audit
	Why  string `json:"why"`  // what is wrong, and after ": " the details
}

// Healthy is the health of a sidecar that works.
const Healthy = "ok"

// Listener names a listener as `serve` prints it.
type Listener struct {
	Name string `json:"listening"` // "agents" or "approvers"
	Addr string `json:"addr"`      // "127.0.0.1:7300", or the path of a unix socket
	TLS  bool   `json:"tls,omitempty"`
}

// Policy says which policy is in force.
type Policy struct {
	Revision string `json:"revision"`
	Path     string `json:"path,omitempty"` // empty: the shipped pack alone
	Mode     string `json:"mode"`           // "enforce" or "observe"
	// Refused says why the policy as it is now is not in force: it does not load, and
	// the one before stays.
	Refused string `json:"refused,omitempty"`
}

// A Server is the approvers' API. It is safe for concurrent use.
type Server struct {
	c           Config
	mux         *http.ServeMux
	idempotency *idempotency
	decoy       TokenHash     // proves to callers whom nobody knows
	failures    *rate.Limiter // of authentication
	open        open
	closed      chan struct{}
	closing     sync.Once
}

// New returns a Server.
func New(c Config) (*Server, error) {
	switch {
	case c.Queue == nil, c.Log == nil, c.Store == nil, c.Digester == nil, c.Status == nil:
		return nil, errors.New("api: queue, log, store, digester and status must all be set")
	}
	if c.Credentials == nil {
		return nil, errors.New("api: credentials must be set")
	}
	if err := CheckCredentials(c.Credentials()); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{c: c, mux: http.NewServeMux(), idempotency: newIdempotency(c.Store, c.Digester), failures: rate.NewLimiter(2, 10), closed: make(chan struct{})}
	_, _ = rand.Read(s.decoy[:]) // never fails: see its documentation
	for _, r := range s.routes() {
		s.mux.Handle(r.pattern, s.guarded(r))
	}
	return s, nil
}

// Close ends the event streams, which [http.Server.Shutdown] would wait for:
// register it with [http.Server.RegisterOnShutdown]. Other requests go on to
// their end.
func (s *Server) Close() { s.closing.Do(func() { close(s.closed) }) }

// A route is one endpoint: a pattern of [http.ServeMux] and what serves it.
type route struct {
	pattern string
	open    bool // needs no token
	handler handler
}

// routes is the table of all endpoints.
func (s *Server) routes() []route {
	return []route{
		{"GET /v1/agents", false, answer(s, s.listAgents)},
		{"GET /v1/agents/{id}/standing", false, answer(s, s.agentStatus)},
		{"POST /v1/agents/{id}/interventions", false, answerBody(s, s.intervene)},
		{"GET /v1/interventions", false, answer(s, s.everybody)},
		{"POST /v1/interventions", false, answerBody(s, s.interveneAll)},
		{"GET /v1/approvals", false, answerPage(s, s.listApprovals)},
		{"GET /v1/approvals/{id}", false, answer(s, s.showApproval)},
		{"POST /v1/approvals/{id}/decision", false, answerBody(s, s.decide)},
		{"POST /v1/approvals/{id}/claim", false, answerBody(s, s.claim)},
		{"DELETE /v1/approvals/{id}/claim", false, answer(s, s.unclaim)},
		{"PUT /v1/approvals/{id}/shown", false, answer(s, s.onScreen)},
		{"POST /v1/approvals/{id}/check", false, answerBody(s, s.check)},
		{"POST /v1/approvals/{id}/preview", false, answerBody(s, s.preview)},
		{"POST /v1/approvals/{id}/defer", false, answerBody(s, s.putOff)},
		{"POST /v1/approvals/{id}/delegate", false, answerBody(s, s.delegate)},
		{"POST /v1/decisions", false, answerBody(s, s.decideGroup)},
		{"GET /v1/audit", false, answerPage(s, s.queryAudit)},
		{"GET /v1/audit/head", false, answer(s, s.auditHead)},
		{"GET /v1/audit/checkpoint", false, answer(s, s.auditCheckpoint)},
		{"GET /v1/audit/proof", false, answer(s, s.auditInclusion)},
		{"GET /v1/audit/proof/consistency", false, answer(s, s.auditConsistency)},
		{"GET /v1/audit/export", false, stream(s, s.exportAudit)},
		{"GET /v1/config", false, answer(s, s.config)},
		{"POST /v1/config/accept", false, answerBody(s, s.acceptConfig)},
		{"GET /v1/log", false, answer(s, s.logLevel)},
		{"PUT /v1/log", false, answerBody(s, s.setLogLevel)},
		{"GET /v1/events", false, stream(s, s.events)},
		{"GET /v1/grants", false, answer(s, s.listGrants)},
		{"DELETE /v1/grants/{id}", false, answer(s, s.revokeGrant)},
		{"POST /v1/links", false, answerBody(s, s.link)},
		{"GET /v1/members", false, answer(s, s.members)},
		{"GET /v1/openapi.json", false, stream(s, s.openAPI)},
		{"GET /v1/people", false, answer(s, s.people)},
		{"PUT /v1/people/{name}", false, answerBody(s, s.putPerson)},
		{"DELETE /v1/people/{name}", false, answer(s, s.removePerson)},
		{"POST /v1/people/{name}/restore", false, answerBody(s, s.restorePerson)},
		{"GET /v1/plugins", false, answer(s, s.listPlugins)},
		{"POST /v1/plugins/{name}/test", false, answerBody(s, s.testPlugin)},
		{"GET /v1/policy", false, answer(s, s.policy)},
		{"PUT /v1/policy", false, s.pushable("GET, HEAD", answerLarge(s, MaxPolicyBody, s.pushPolicy))},
		{"POST /v1/policy/rollback", false, s.pushable("", answerBody(s, s.rollBackPolicy))},
		{"POST /v1/policy/draft", false, answerBody(s, s.draftPolicy)},
		{"POST /v1/policy/review", false, s.pushable("", answerLarge(s, MaxPolicyBody, s.reviewPolicy))},
		{"GET /v1/policy/suggestions", false, answer(s, s.suggestPolicy)},
		{"POST /v1/policy/eval", false, answerLarge(s, MaxPolicyBody, s.evalPolicy)},
		{"POST /v1/runs", false, stream(s, s.takeRun)},
		{"GET /v1/report", false, answer(s, s.report)},
		{"GET /v1/sessions", false, answer(s, s.listSessions)},
		{"GET /v1/sessions/{id}", false, answer(s, s.showSession)},
		{"PUT /v1/sessions/{id}", false, answerBody(s, s.setMode)},
		{"GET /v1/sessions/{id}/messages", false, answer(s, s.sessionMessages)},
		{"POST /v1/sessions/{id}/messages", false, answerBody(s, s.tellSession)},
		{"POST /v1/agents/{id}/messages", false, answerBody(s, s.tellAgent)},
		{"GET /v1/stats", false, answer(s, s.stats)},
		{"GET /v1/status", false, answer(s, s.status)},
		{"POST /v1/prove", true, answerBody(s, s.prove)},
		{"POST /v1/undo", false, answerBody(s, s.undo)},
		{"GET /metrics", false, stream(s, s.metrics)},
		{"GET /healthz", true, stream(s, s.healthz)},
		{"GET /readyz", true, stream(s, s.readyz)},
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := checkSite(r, s.c.OwnHost); err != nil {
		s.fail(w, r, err)
		return
	}
	s.serve(w, r)
}

// serve serves a request whose site was checked.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "" {
		if _, _, err := s.authenticate(r); err != nil {
			s.fail(w, r, err)
			return
		}
		s.fail(w, r, s.unrouted(w, r))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// guarded serves a route to those who may use it.
func (s *Server) guarded(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &request{Request: r}
		if !rt.open {
			var err error
			if req.by, req.token, err = s.authenticate(r); err != nil {
				s.fail(w, r, err)
				return
			}
			defer s.enter(req)()
		}
		rt.handler(w, req)
	})
}
