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

// healthz serves GET /healthz, for probes without a token: it says whether the sidecar
// is alive, by its own loops. What else is wrong with it is no reason to start it anew:
// see readyz.
func (s *Server) healthz(w http.ResponseWriter, _ *request) error {
	if s.c.Stalled != nil {
		if list := s.c.Stalled(); len(list) > 0 {
			return problem(http.StatusServiceUnavailable, "not-alive", "Not alive", told(list))
		}
	}
	return writeJSON(w, http.StatusOK, "application/json", map[string]string{"health": Healthy})
}

// readyz serves GET /readyz, for probes without a token: it says whether the sidecar
// decides calls now, and if not why, without the details, which are for people.
func (s *Server) readyz(w http.ResponseWriter, r *request) error {
	list := s.c.Status(r.Context()).Troubles
	select {
	case <-s.closed:
		list = append(list, Trouble{"ending", "the sidecar is about to end, and takes up nothing new"})
	default:
	}
	if len(list) > 0 {
		return problem(http.StatusServiceUnavailable, "not-ready", "Not ready", told(list)+"; /v1/status has the details")
	}
	return writeJSON(w, http.StatusOK, "application/json", map[string]bool{"ready": true})
}

// told names troubles, without the details.
func told(list []Trouble) string {
	var texts []string
	for _, t := range list {
		why, _, _ := strings.Cut(t.Why, ": ")
		texts = append(texts, t.Name+": "+why)
	}
	return strings.Join(texts, "; ")
}
