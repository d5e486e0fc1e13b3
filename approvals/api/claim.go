package api

import (
	"time"

	"github.com/holdgate/holdgate/approvals"
)

// Delegation is the body of POST /v1/approvals/{id}/delegate.
type Delegation struct {
	To   string `json:"to"`             // the person who may vote in the caller's place
	Note string `json:"note,omitempty"` // for them
}

// Deferral is the body of POST /v1/approvals/{id}/defer.
type Deferral struct {
	For  string `json:"for"`                    // how long, such as "10m"; "0s": no longer
	Next bool   `json:"next_request,omitempty"` // or until its session asks again, if that comes first
}

// Nothing is a body that says nothing; it may be left out.
type Nothing struct{}

// claim serves POST /v1/approvals/{id}/claim.
func (s *Server) claim(r *request, _ Nothing) (approvals.Request, error) {
	return s.c.Queue.Claim(r.Context(), r.PathValue("id"), r.by)
}

// unclaim serves DELETE /v1/approvals/{id}/claim.
func (s *Server) unclaim(r *request) (approvals.Request, error) {
	return s.c.Queue.Unclaim(r.Context(), r.PathValue("id"), r.by)
}

// onScreen serves PUT /v1/approvals/{id}/shown.
func (s *Server) onScreen(r *request) (approvals.Request, error) {
	return s.c.Queue.Shown(r.Context(), r.PathValue("id"), r.by)
}

// putOff serves POST /v1/approvals/{id}/defer.
func (s *Server) putOff(r *request, in Deferral) (approvals.Request, error) {
	lasts, err := time.ParseDuration(in.For)
	if err != nil {
		return approvals.Request{}, malformed("for is %q: want a length of time such as 10m", in.For)
	}
	return s.c.Queue.Defer(r.Context(), r.PathValue("id"), r.by, lasts, in.Next)
}

// delegate serves POST /v1/approvals/{id}/delegate.
func (s *Server) delegate(r *request, in Delegation) (approvals.Request, error) {
	if in.To == "" {
		return approvals.Request{}, malformed("to is missing: the person who may vote in your place")
	}
	return s.c.Queue.Delegate(r.Context(), r.PathValue("id"), r.by, in.To, in.Note)
}
