package api

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openAPIDocument []byte

// openAPI serves GET /v1/openapi.json.
func (s *Server) openAPI(w http.ResponseWriter, r *request) error {
	w.Header().Set("Content-Type", "application/openapi+json")
	_, err := w.Write(openAPIDocument)
	return err
}

// status serves GET /v1/status.
func (s *Server) status(r *request) (Status, error) {
	st := s.c.Status(r.Context())
	st.You = r.by
	return st, nil
}

// healthz serves GET /healthz, for probes without a token: it says whether the
// sidecar works, and not what is wrong.
func (s *Server) healthz(w http.ResponseWriter, r *request) error {
	if s.c.Status(r.Context()).Health != Healthy {
		return problem(http.StatusServiceUnavailable, "unhealthy", "Not healthy", "the sidecar does not work; /v1/status says why")
	}
	return writeJSON(w, http.StatusOK, "application/json", map[string]string{"health": Healthy})
}
