package api

import "net/http"

// metrics serves GET /metrics, in Prometheus's text format.
func (s *Server) metrics(w http.ResponseWriter, r *request) error {
	if s.c.Metrics == nil {
		return problem(http.StatusNotFound, "not_found", "Not found", "this sidecar counts nothing")
	}
	s.c.Metrics.ServeHTTP(w, r.Request)
	return nil
}
