// Package authzen answers policy enforcement points, such as gateways, which ask whether
// somebody may do something. It speaks three documents of the OpenID AuthZEN working
// group:
//
//   - Authorization API 1.0 (final, January 2026): one evaluation or several at a time,
//     and metadata. The searches are not served.
//   - Access Request and Approval Profile, draft 1 (June 2026): a denial that can be
//     requested, a task, an approval, an evaluation anew. Bundles of items, callbacks and
//     cancelling by the client are not served.
//   - COAZ binding for MCP, draft 1 (February 2026): an evaluation of tools/call is a call
//     of that tool.
//
// Only an agent that the configuration names as a client may ask, by its credential. An
// evaluation is a call that this agent makes. It takes the way of every call through
// [gate.Exchange]: people are asked at most once, and what they approve is used once. The
// approval belongs to the client, subject, action, resource and context of that
// evaluation, whatever reference to it is shown.
//
// What cannot be read, decided or stored is never answered with a permit.
package authzen

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Door is this way in, as policy and the log name it.
const Door = "authzen"

// Prefix begins the paths that are served, besides [MetadataPath].
const Prefix = "/access/v1/"

// MetadataPath is where clients find out what is served.
const MetadataPath = "/.well-known/authzen-configuration"

// Bounds of what a client sends.
const (
	MaxBody        = 512 << 10 // bytes
	MaxEvaluations = 100       // in one request
	maxText        = 1 << 10   // bytes of a type, an id or a name
	maxMembers     = 64        // of a context
	maxKeys        = 4096      // idempotency keys that are remembered
)

//go:embed openapi.json
var document []byte

// A Client is an agent that may ask for decisions.
type Client struct {
	// Trusted takes its word for the subject; else that can only narrow.
	Trusted bool
	// Wait is how long an evaluation waits for people, who are asked at once. 0: they
	// are asked once the client requests access.
	Wait time.Duration
}

// Options are what the configuration says of this door.
type Options struct {
	// Clients says which agents are clients, and how. It is asked for each request; nil:
	// there are none.
	Clients func(agent string) (Client, bool)
	// URL is the address under which clients reach the door, without a path; empty: the
	// one that they use.
	URL string
	// Redeem is how long an approval can be used; 0: [approvals.DefaultRedeem].
	Redeem time.Duration
}

// Config is what a [Server] needs. All fields must be set.
type Config struct {
	Options

	Gate     func() *gate.Gate
	Queue    *approvals.Queue
	Digester *holdgate.Digester
	Logger   *slog.Logger
	// Caller says who makes a request, at [Door].
	Caller func(*http.Request) approvals.Caller
	// Waiting bounds the time in which people are waited for.
	Waiting func(context.Context) (waiting context.Context, end func())
}

// A Server answers policy enforcement points. It is safe for concurrent use.
type Server struct {
	c    Config
	mux  *http.ServeMux
	seen *lru.Cache[string, holdgate.Digest] // what was submitted, by client and idempotency key
}

// New returns a Server.
func New(c Config) *Server {
	if c.Redeem <= 0 {
		c.Redeem = approvals.DefaultRedeem
	}
	s := &Server{c: c, mux: http.NewServeMux()}
	s.seen, _ = lru.New[string, holdgate.Digest](maxKeys) // it fails for a size of 0 alone
	for _, r := range s.routes() {
		s.mux.HandleFunc(r.pattern, r.serve)
	}
	return s
}

// Serves reports whether a path is one of this door's.
func Serves(path string) bool { return strings.HasPrefix(path, Prefix) || path == MetadataPath }

type route struct {
	pattern string
	serve   http.HandlerFunc
}

// routes is the table of all endpoints.
func (s *Server) routes() []route {
	return []route{
		{"POST " + Prefix + "evaluation", s.asked(s.evaluation)},
		{"POST " + Prefix + "evaluations", s.asked(s.evaluations)},
		{"POST " + Prefix + "requests", s.asked(s.request)},
		{"GET " + Prefix + "requests/{id}", s.asked(s.task)},
		{"GET " + MetadataPath, s.metadata},
		{"GET " + Prefix + "openapi.json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(document) // a client that has gone needs no answer
		}},
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if id := r.Header.Get("X-Request-Id"); id != "" {
		w.Header().Set("X-Request-Id", id)
	}
	s.mux.ServeHTTP(w, r)
}

// An asker is a client that asks for something.
type asker struct {
	Client

	who approvals.Caller
	url string // of the door, for this client
}

// A Fault is why a request has no answer, with the status that says so.
type Fault struct {
	Status int
	Type   string // of a problem (RFC 9457); empty: the text is all that there is to tell
	Text   string
}

// Error implements error.
func (f *Fault) Error() string { return f.Text }

func malformed(format string, args ...any) *Fault {
	return &Fault{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// An answer is what a client is told.
type answer struct {
	status int
	body   any
	header http.Header
}

// asked serves an endpoint for clients alone.
func (s *Server) asked(serve func(*http.Request, asker) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := s.client(r)
		var a answer
		if err == nil {
			a, err = serve(r, c)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		for name, values := range a.header {
			w.Header()[name] = values
		}
		write(w, a.status, "application/json", a.body)
	}
}

// client is who asks, where it may.
func (s *Server) client(r *http.Request) (asker, error) {
	who := s.c.Caller(r)
	var f *Fault
	switch {
	case s.c.Clients == nil || !who.Agent.Proven:
		f = &Fault{Status: http.StatusUnauthorized, Text: "send the token of an agent that may ask here, as Authorization: Bearer hgt_... (agents.NAME.authzen in the configuration)"}
	default:
		if c, ok := s.c.Clients(who.Agent.ID); ok {
			return asker{Client: c, who: who, url: s.url(r)}, nil
		}
		f = &Fault{Status: http.StatusForbidden, Text: "the agent " + who.Agent.ID + " may not ask here: its configuration has no authzen"}
	}
	s.c.Gate().Refused(r.Context(), who, r.Method+" "+r.URL.Path, holdgate.RuleIdentity, f.Text)
	return asker{}, f
}

// url is how clients reach the door.
func (s *Server) url(r *http.Request) string {
	if s.c.URL != "" {
		return strings.TrimSuffix(s.c.URL, "/")
	}
	return "http://" + r.Host
}

// metadata says what is served. There is nothing secret in it.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	at := s.url(r)
	write(w, http.StatusOK, "application/json", Metadata{
		Point: at, Evaluation: at + Prefix + "evaluation", Evaluations: at + Prefix + "evaluations", Requests: at + Prefix + "requests",
		Capabilities: []string{"urn:openid:authzen:capability:access-request"},
	})
}

// body reads what a client sends: one JSON object that every parser reads alike.
func body(r *http.Request) ([]byte, error) {
	if typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || typ != "application/json" {
		return nil, malformed("the body must be application/json")
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, MaxBody))
	if err != nil {
		if _, over := errors.AsType[*http.MaxBytesError](err); over {
			return nil, &Fault{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("the body is over %d bytes", MaxBody)}
		}
		return nil, malformed("the body broke off")
	}
	if err := wire.Strict(b); err != nil {
		return nil, malformed("the body cannot be read: %v", err)
	}
	return b, nil
}

// fail says why there is no answer. What means nothing to a client is logged, and told
// without its text.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f, ok := errors.AsType[*Fault](err)
	switch {
	case ok:
	case errors.Is(err, context.Canceled):
		f = &Fault{Status: http.StatusServiceUnavailable, Text: "the sidecar ends: ask again"}
	default:
		s.c.Logger.ErrorContext(r.Context(), "answering a policy enforcement point", "err", err)
		f = &Fault{Status: http.StatusInternalServerError, Text: "the sidecar could not decide this; its log says why"}
	}
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("Www-Authenticate", `Bearer realm="holdgate"`)
	}
	text := holdgate.Visible(f.Text)
	if f.Type == "" {
		write(w, f.Status, "application/json", text)
		return
	}
	write(w, f.Status, "application/problem+json", Problem{Type: f.Type, Title: strings.ReplaceAll(f.Type[strings.LastIndexByte(f.Type, ':')+1:], "_", " "), Status: f.Status, Detail: text})
}

func write(w http.ResponseWriter, status int, typ string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "writing the answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", typ)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a client that has gone needs no answer
}
