package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A Problem is an error as the API tells it (RFC 9457).
type Problem struct {
	// Type is [ProblemPrefix] and a word that programs can rely on.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"` // of HTTP
	Detail string `json:"detail"`
	Field  string `json:"field,omitempty"` // of the body, that is wrong
	// Request is the approval request as it stands, where a decision came too
	// late or for something else than what waits.
	Request *approvals.Request `json:"request,omitempty"`
}

// ProblemPrefix begins the type of every problem.
const ProblemPrefix = "urn:holdgate:problem:"

// problemType is the content type of a problem.
const problemType = "application/problem+json"

// The words of problems that programs tell apart.
const (
	ProblemDigest         = "digest-mismatch"
	ProblemDecided        = "already-decided"
	ProblemNotFound       = "not-found"
	ProblemSteerForbidden = "steer-not-allowed"
	ProblemNotEntitled    = "not-entitled"
	ProblemClaimed        = "claimed"
	ProblemVoted          = "voted"
	ProblemAnswer         = "answer"
	ProblemEditRefused    = "edit-refused"
	ProblemNoAgent        = "no-agent"
	ProblemStopped        = "stopped"
	ProblemNoSession      = "no-session"
	ProblemConfig         = "config-not-waiting"
	ProblemStandby        = "standing-by"
	// ProblemUnknown is a change of which nobody knows whether it counts.
	ProblemUnknown = "unknown"
	// ProblemStore is a store that takes no changes, now or until the sidecar is started anew.
	ProblemStore = "store"
)

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// Word is the part of Type that tells problems apart.
func (p *Problem) Word() string { return strings.TrimPrefix(p.Type, ProblemPrefix) }

// problem makes a Problem.
func problem(status int, word, title, detail string) *Problem {
	return &Problem{Type: ProblemPrefix + word, Title: title, Status: status, Detail: detail}
}

// asProblem finds the problem document for an error. What has no meaning for
// the caller is "internal", and known is false.
func asProblem(err error) (p *Problem, known bool) {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p, true
	}
	if p, ok := fieldProblem(err); ok {
		return p, true
	}
	if e, ok := errors.AsType[*approvals.EndedError](err); ok {
		p := problem(http.StatusConflict, ProblemDecided, "Already decided", e.Error())
		p.Request = &e.Request
		return p, true
	}
	if errors.Is(err, store.ErrUnknown) {
		// Not known as such: the log says the cause.
		return problem(http.StatusServiceUnavailable, ProblemUnknown, "Nobody knows yet", "this could not be written to the end, and may count all the same: look again once the sidecar works, and do not take it for undone"), false
	}
	if errors.Is(err, store.ErrFailed) {
		return problem(http.StatusServiceUnavailable, ProblemStore, "The store has failed", err.Error()+
			"; nothing was changed, and what is stored can still be read. Mend its disk or make room, then start the sidecar anew; before that, `holdgate store check` says whether its files are whole"), true
	}
	for _, k := range []struct {
		is          error
		status      int
		word, title string
	}{
		{store.ErrUnavailable, http.StatusServiceUnavailable, ProblemStore, "The store cannot be reached"},
		{store.ErrNoRoom, http.StatusServiceUnavailable, ProblemStore, "No room"},
		{approvals.ErrDiskFull, http.StatusServiceUnavailable, ProblemStore, "No room"},
		{approvals.ErrNotFound, http.StatusNotFound, ProblemNotFound, "Not found"},
		{approvals.ErrDigest, http.StatusConflict, ProblemDigest, "Not what was shown"},
		{approvals.ErrSteerEmpty, http.StatusBadRequest, "steer-empty", "No instructions"},
		{approvals.ErrArtifact, http.StatusBadRequest, "artifact", "Not an artifact"},
		{approvals.ErrSteerNotAllowed, http.StatusConflict, ProblemSteerForbidden, "Steering is not allowed"},
		{approvals.ErrVoted, http.StatusConflict, ProblemVoted, "Voted already"},
		{record.ErrRemember, http.StatusUnprocessableEntity, "remember", "Cannot be remembered"},
		{grants.ErrNoGrant, http.StatusNotFound, ProblemNotFound, "Not found"},
		{agents.ErrNoAgent, http.StatusNotFound, ProblemNoAgent, "No such agent"},
		{agents.ErrStopped, http.StatusConflict, ProblemStopped, "Stopped"},
		{ErrNoPlugin, http.StatusNotFound, "no-plugin", "No such channel"},
		{agents.ErrIntervention, http.StatusUnprocessableEntity, "intervention", "No such intervention"},
		{approvals.ErrEditRefused, http.StatusUnprocessableEntity, ProblemEditRefused, "Policy refuses the edited call"},
		{approvals.ErrAnswer, http.StatusUnprocessableEntity, ProblemAnswer, "Not an answer to this request"},
		{tracks.ErrNoSession, http.StatusNotFound, ProblemNoSession, "No such session"},
		{tracks.ErrAmbiguous, http.StatusConflict, "ambiguous", "Several agents have it"},
		{tracks.ErrRevision, http.StatusConflict, "revision", "Changed meanwhile"},
		{sessions.ErrSetting, http.StatusUnprocessableEntity, "mode", "No such mode"},
		{sessions.ErrFull, http.StatusConflict, "full", "Too many messages wait"},
		{sessions.ErrTooMany, http.StatusConflict, "full", "Too many sessions"},
		{approvals.ErrCursor, http.StatusBadRequest, "cursor", "Not a cursor"},
		{passkeys.ErrSignature, http.StatusForbidden, "signature", "The signature does not count"},
		{passkeys.ErrNoKey, http.StatusNotFound, "no-passkey", "No such passkey"},
		{people.ErrNotEntitled, http.StatusForbidden, ProblemNotEntitled, "Not entitled"},
		{approvals.ErrClaimed, http.StatusConflict, ProblemClaimed, "Claimed by somebody else"},
		{audit.ErrNoSuchEntry, http.StatusNotFound, "no-entry", "No such entry"},
		{store.ErrClosed, http.StatusServiceUnavailable, "stopping", "Stopping"},
		{context.Canceled, http.StatusServiceUnavailable, "stopping", "Stopping"},
	} {
		if errors.Is(err, k.is) {
			return problem(k.status, k.word, k.title, err.Error()), true
		}
	}
	return problem(http.StatusInternalServerError, "internal", "Internal error", "the sidecar could not do this; its log says why"), false
}

// fail writes err as a problem document.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, known := asProblem(err)
	if !known {
		s.c.Logger.ErrorContext(r.Context(), "serving the approvers' API", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="holdgate"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	if err := writeJSON(w, p.Status, problemType, p); err != nil {
		s.c.Logger.DebugContext(r.Context(), "telling a problem", "error", err)
	}
}

// unrouted says what is wrong with a request that no route takes, and which
// methods its path has.
func (s *Server) unrouted(w http.ResponseWriter, r *http.Request) *Problem {
	h, _ := s.mux.Handler(r)
	rec := &headerRecorder{header: http.Header{}}
	h.ServeHTTP(rec, r)
	if allow := rec.header.Get("Allow"); rec.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", allow)
		return problem(rec.status, "method", "Method not allowed", "this path takes "+allow)
	}
	return problem(http.StatusNotFound, ProblemNotFound, "Not found", "there is nothing at this path; /v1/openapi.json lists what there is")
}

// A headerRecorder keeps the head of an answer and drops its body.
type headerRecorder struct {
	header http.Header
	status int
}

func (h *headerRecorder) Header() http.Header         { return h.header }
func (h *headerRecorder) WriteHeader(status int)      { h.status = status }
func (h *headerRecorder) Write(b []byte) (int, error) { return len(b), nil }
