package api

import (
	"crypto/rand"
	"log/slog"
	"net/http"
)

// NewStandby answers at the approvers' door of a sidecar that stands by: it proves
// itself as a [Server] does, and says which member works on the store.
func NewStandby(credentials func() []Credential, works func() string) http.Handler {
	s := &Server{c: Config{Credentials: credentials, Logger: slog.New(slog.DiscardHandler)}}
	_, _ = rand.Read(s.decoy[:]) // never fails: see its documentation
	prove := stream(s, func(w http.ResponseWriter, r *request) error {
		if err := checkSite(r.Request, nil); err != nil {
			return err
		}
		body, err := s.readBody(w, r, MaxBody)
		if err != nil {
			return err
		}
		in, err := decode[Challenge](body)
		if err != nil {
			return err
		}
		out, err := s.prove(r, in)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, "application/json", out)
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/prove", func(w http.ResponseWriter, r *http.Request) { prove(w, &request{Request: r}) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_ = writeJSON(w, http.StatusOK, "application/json", map[string]string{"health": "standing by"}) // whoever asked has gone
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		detail := "this member stands by: " + works() + " works on the store"
		if r.URL.Path == "/readyz" {
			detail = "standby: " + detail // as the server's own names what is wrong
		}
		s.fail(w, r, problem(http.StatusServiceUnavailable, ProblemStandby, "Standing by", detail))
	})
	return mux
}
