package api

import (
	"fmt"

	"github.com/holdgate/holdgate/approvals"
)

// listGrants serves GET /v1/grants.
func (s *Server) listGrants(r *request) ([]approvals.Grant, error) {
	q, err := query(r, "agent")
	if err != nil {
		return nil, err
	}
	list, err := s.c.Queue.Grants.List(r.Context(), q.Get("agent"))
	if err != nil {
		return nil, fmt.Errorf("listing grants: %w", err)
	}
	return list, nil
}

// revokeGrant serves DELETE /v1/grants/{id}. The grant is used no more once
// this has answered.
func (s *Server) revokeGrant(r *request) (approvals.Grant, error) {
	g, err := s.c.Queue.Grants.Revoke(r.Context(), r.PathValue("id"), r.by)
	if err == nil {
		s.c.Logger.InfoContext(r.Context(), "a grant was revoked", "grant", g.ID, "by", r.by)
	}
	return g, err
}
