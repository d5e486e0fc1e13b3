// Package agentapi is what agents can ask of Holdgate themselves, over HTTP at
// the agents' door: gates, reports of confidence, messages, and where their
// session stands. A [Service] does it; this package reads what comes, strictly,
// and writes answers.
//
// What is wrong is told as a problem document (RFC 9457) whose field member names
// what of the body is. An agent only sees what is its own: of requests what they
// are about and how they ended, and not who may answer them.
//
// The door has checked that no web page asks. The routes are described in
// openapi.json, served at /v1/openapi.json; a test holds the two together.
package agentapi

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// MaxBody bounds a request's body, in bytes.
const MaxBody = 512 << 10

// MaxWait bounds how long an answer is waited for.
const MaxWait = 5 * time.Minute

// Title is that of the document at /v1/openapi.json, by which the door is known.
const Title = "Holdgate: the agents' API"

//go:embed openapi.json
var document []byte

// A Server serves the agents' API. It is safe for concurrent use.
type Server struct {
	service Service
	hooks   Hooks
	hookKey []byte
	caller  func(*http.Request) approvals.Caller
	log     *slog.Logger
	mux     *http.ServeMux
}

// New returns a Server. caller says who makes a request, and hookKey signs what hooks are
// told: see package hookproof.
func New(s Service, hooks Hooks, hookKey []byte, caller func(*http.Request) approvals.Caller, log *slog.Logger) *Server {
	a := &Server{service: s, hooks: hooks, hookKey: hookKey, caller: caller, log: log, mux: http.NewServeMux()}
	for _, r := range a.routes() {
		a.mux.HandleFunc(r.pattern, r.serve)
	}
	return a
}

type route struct {
	pattern string
	serve   http.HandlerFunc
}

// routes is the table of all endpoints.
func (s *Server) routes() []route {
	return []route{
		{"POST /v1/gates", serveJSON(s, http.StatusCreated, s.passGate)},
		{"GET /v1/gates/{id}", give(s, s.gate)},
		{"POST /v1/confidence", serveJSON(s, http.StatusCreated, s.report)},
		{"GET /v1/session", give(s, func(r *http.Request, who approvals.Caller, _ url.Values) (Session, error) {
			return s.service.Session(r.Context(), who)
		})},
		{"PUT /v1/session", serveJSON(s, http.StatusOK, func(r *http.Request, who approvals.Caller, m Mode) (Session, error) {
			return s.service.Tighten(r.Context(), who, m)
		})},
		{"GET /v1/messages", give(s, s.messages)},
		{"POST /v1/messages", serveJSON(s, http.StatusCreated, func(r *http.Request, who approvals.Caller, n Note) (sessions.Message, error) {
			return s.service.Say(r.Context(), who, n)
		})},
		{"GET /v1/pending", give(s, func(r *http.Request, who approvals.Caller, _ url.Values) ([]Pending, error) {
			return s.service.Pending(r.Context(), who)
		})},
		{"POST /v1/would", serveJSON(s, http.StatusOK, func(r *http.Request, who approvals.Caller, p Planned) (Would, error) {
			return s.service.Would(r.Context(), who, p)
		})},
		{"POST /v1/hooks/{agent}", s.hook},
		{"GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(document) // a client that has gone needs no answer
		}},
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.fail(w, r, &Problem{Type: prefix + "not-found", Title: "Not found", Status: http.StatusNotFound,
			Detail: "there is nothing for " + holdgate.Visible(r.Method+" "+r.URL.Path) + " at the agents' door; /v1/openapi.json lists what there is"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) passGate(r *http.Request, who approvals.Caller, in GateRequest) (Gate, error) {
	return s.service.PassGate(r.Context(), who, in)
}

func (s *Server) gate(r *http.Request, who approvals.Caller, q url.Values) (Gate, error) {
	wait, err := waitOf(q)
	if err != nil {
		return Gate{}, err
	}
	return s.service.Gate(r.Context(), who, r.PathValue("id"), wait)
}

func (s *Server) report(r *http.Request, who approvals.Caller, in Report) (Reported, error) {
	if in.SessionID != "" && who.Session.ID == holdgate.SessionDefault {
		who.Session.ID = in.SessionID
	}
	return s.service.Report(r.Context(), who, in)
}

func (s *Server) messages(r *http.Request, who approvals.Caller, q url.Values) ([]sessions.Message, error) {
	wait, err := waitOf(q)
	if err != nil {
		return nil, err
	}
	var after uint64
	if text := q.Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, wrong("after", "must be the seq of a message")
		}
	}
	return s.service.Messages(r.Context(), who, after, wait)
}

// waitOf reads the parameter wait.
func waitOf(q url.Values) (time.Duration, error) {
	text := q.Get("wait")
	if text == "" {
		return 0, nil
	}
	d, err := ParseDuration(text)
	if err != nil {
		return 0, wrong("wait", "must be a time such as 30s")
	}
	return min(d, MaxWait), nil
}

// give serves an endpoint without a body.
func give[Out any](s *Server, fn func(*http.Request, approvals.Caller, url.Values) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			s.fail(w, r, wrong("query", "cannot be read"))
			return
		}
		out, err := fn(r, s.caller(r), q)
		s.answer(w, r, http.StatusOK, out, err)
	}
}

// serveJSON serves an endpoint with a JSON body, which answers with a status.
func serveJSON[In, Out any](s *Server, status int, fn func(*http.Request, approvals.Caller, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := read(w, r, &in); err != nil {
			s.fail(w, r, err)
			return
		}
		out, err := fn(r, s.caller(r), in)
		if g, ok := any(out).(Gate); ok && err == nil {
			w.Header().Set("Location", "/v1/gates/"+url.PathEscape(g.ID))
		}
		s.answer(w, r, status, out, err)
	}
}

// read decodes a body: one JSON value without members that nobody knows.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	if err := isJSON(r); err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		return unread(err, MaxBody)
	}
	err = jsonv2.Unmarshal(body, into, jsonv2.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*jsonv2.SemanticError](err)
	if !ok {
		return wrong("body", "is no JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	field := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
	if field == "" {
		field = "body"
	}
	if errors.Is(err, jsonv2.ErrUnknownName) {
		return wrong(field, "is no member that is known here")
	}
	return wrong(field, "has a value of the wrong type")
}

// isJSON refuses a body that does not say that it is JSON: a web page could send it.
func isJSON(r *http.Request) error {
	if typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || typ != "application/json" {
		return &Problem{Type: prefix + "content-type", Title: "Wrong content type", Status: http.StatusUnsupportedMediaType, Detail: "the body must be application/json"}
	}
	return nil
}

// unread says why a body of at most this many bytes could not be read.
func unread(err error, most int) error {
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return &Problem{Type: prefix + "too-large", Title: "Body too large", Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the body is over %d bytes", most)}
	}
	return wrong("body", "broke off")
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, out any, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, status, "application/json", out)
}

func write(w http.ResponseWriter, status int, typ string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "writing the answer", http.StatusInternalServerError)
		return
	}
	send(w, status, typ, append(body, '\n'))
}

func send(w http.ResponseWriter, status int, typ string, body []byte) {
	w.Header().Set("Content-Type", typ)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
