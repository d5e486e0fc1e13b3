package api

import "net/http"

// Bundle is the answer of GET /v1/report.
type Bundle struct {
	Files map[string]string `json:"files"` // texts, by the names of files
}

// report serves GET /v1/report: how the sidecar is, for people who look for what is
// wrong with it. What it was told is not in it.
func (s *Server) report(r *request) (Bundle, error) {
	if _, err := query(r); err != nil {
		return Bundle{}, err
	}
	if s.c.Report == nil {
		return Bundle{}, problem(http.StatusNotFound, ProblemNotFound, "Not found", "this sidecar makes no reports")
	}
	if err := s.admin(r, "a report"); err != nil {
		return Bundle{}, err
	}
	return Bundle{s.c.Report(r.Context())}, nil
}
