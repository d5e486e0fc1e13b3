package api

import "github.com/holdgate/holdgate/approvals"

// Delegation is the body of POST /v1/approvals/{id}/delegate.
type Delegation struct {
	To   string `json:"to"`             // the person who may vote in the caller's place
	Note string `json:"note,omitempty"` // for them
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

// delegate serves POST /v1/approvals/{id}/delegate.
func (s *Server) delegate(r *request, in Delegation) (approvals.Request, error) {
	if in.To == "" {
		return approvals.Request{}, malformed("to is missing: the person who may vote in your place")
	}
	return s.c.Queue.Delegate(r.Context(), r.PathValue("id"), r.by, in.To, in.Note)
}
