package agentapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// A Problem is an error as the API tells it (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field,omitempty"` // of the body or the query, that is wrong
}

const prefix = "urn:holdgate:problem:"

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// fail writes err as a problem document. What has no meaning for the agent is
// logged, and told without its text.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := ProblemOf(err)
	switch {
	case errors.Is(err, context.Canceled):
		s.log.InfoContext(r.Context(), "a client of the agents' API, or the sidecar, ended before the answer", "err", err)
	case p.Status == http.StatusInternalServerError:
		s.log.ErrorContext(r.Context(), "serving the agents' API", "err", err)
	}
	p.Detail = holdgate.Visible(p.Detail)
	write(w, p.Status, "application/problem+json", p)
}

// ProblemOf is an error as agents are told of it. What means nothing to them is
// an internal error, without its text.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*sessions.FieldError](err); ok {
		return &Problem{Type: prefix + "malformed", Title: "Malformed request", Status: http.StatusBadRequest, Detail: e.Error(), Field: e.Field}
	}
	if e, ok := errors.AsType[*approvals.QuotaError](err); ok {
		return &Problem{Type: prefix + "quota", Title: "Too much at a time", Status: http.StatusTooManyRequests, Detail: e.Error()}
	}
	for _, k := range []struct {
		is          error
		status      int
		word, title string
	}{
		{approvals.ErrNotFound, http.StatusNotFound, "not-found", "Not found"},
		{sessions.ErrLooser, http.StatusForbidden, "looser", "Only tighter"},
		{sessions.ErrSetting, http.StatusBadRequest, "mode", "No such mode"},
		{sessions.ErrFull, http.StatusTooManyRequests, "full", "Too many messages wait"},
		{sessions.ErrTooMany, http.StatusTooManyRequests, "full", "Too many sessions"},
		{context.Canceled, http.StatusServiceUnavailable, "stopping", "Ended"},
		{approvals.ErrDiskFull, http.StatusServiceUnavailable, "store", "No room"},
	} {
		if errors.Is(err, k.is) {
			return &Problem{Type: prefix + k.word, Title: k.title, Status: k.status, Detail: err.Error()}
		}
	}
	if errors.Is(err, store.ErrNoRoom) {
		// The whole text names the folder.
		return &Problem{Type: prefix + "store", Title: "No room", Status: http.StatusServiceUnavailable, Detail: store.ErrNoRoom.Error()}
	}
	if errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		// The cause names files and servers, which are none of an agent's business.
		return &Problem{Type: prefix + "store", Title: "The store does not work", Status: http.StatusServiceUnavailable,
			Detail: "the sidecar's store takes no changes now: people have to look at it (holdgate status)"}
	}
	return &Problem{Type: prefix + "internal", Title: "Internal error", Status: http.StatusInternalServerError, Detail: "the sidecar could not do this; its log says why"}
}
