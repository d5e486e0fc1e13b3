package api

import (
	_ "embed"
	"net/http"
	"strings"
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

// healthz serves GET /healthz, for probes without a token: it says that the sidecar is
// alive. What is wrong with it is no reason to start it anew: see readyz.
func (s *Server) healthz(w http.ResponseWriter, _ *request) error {
	return writeJSON(w, http.StatusOK, "application/json", map[string]string{"health": Healthy})
}

// readyz serves GET /readyz, for probes without a token: it says whether the sidecar
// decides calls now, and if not why, without the details, which are for people.
func (s *Server) readyz(w http.ResponseWriter, r *request) error {
	why := s.c.Status(r.Context()).Health
	select {
	case <-s.closed:
		why = "the sidecar is about to end, and takes up nothing new"
	default:
	}
	if why != Healthy {
		why, _, _ = strings.Cut(why, ": ")
		return problem(http.StatusServiceUnavailable, "not-ready", "Not ready", why+"; /v1/status has the details")
	}
	return writeJSON(w, http.StatusOK, "application/json", map[string]bool{"ready": true})
}
