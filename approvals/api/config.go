package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
)

// Configs is what the API asks of whoever keeps the configuration. It is safe for
// concurrent use.
type Configs interface {
	State() ConfigState
	// Accept puts the file in force that waits for it, where it has the digest and by
	// has the role admin among those who may answer now. The error is
	// [ErrConfigDigest], or wraps [people.ErrNotEntitled].
	Accept(ctx context.Context, by, digest string) (ConfigState, error)
}

// ErrConfigDigest says that no file of the digest waits for being accepted.
var ErrConfigDigest = errors.New("no configuration of this digest waits to be accepted")

// ConfigState is the answer of GET /v1/config.
type ConfigState struct {
	File   string `json:"file"`   // empty: none
	Digest string `json:"digest"` // SHA-256 of the file in force, in hex; empty: none
	// Fault says why the file as it is now is not taken; empty: it is in force, or
	// waits.
	Fault   string         `json:"fault,omitempty"`
	Waiting *ConfigWaiting `json:"waiting,omitempty"`
	// NeedsRestart are the keys whose new values count once the sidecar was started
	// again.
	NeedsRestart []string `json:"needs_restart"`
}

// ConfigWaiting is a file that is in force once a person of the role admin accepts it.
type ConfigWaiting struct {
	Digest  string    `json:"digest"` // SHA-256 of the file, in hex
	Since   time.Time `json:"since"`
	Changes []string  `json:"changes"` // all that differs, in words
	Loosens []string  `json:"loosens"` // why it waits, in words
}

// ConfigAccepted is the body of POST /v1/config/accept.
type ConfigAccepted struct {
	Digest string `json:"digest"`
}

// config serves GET /v1/config.
func (s *Server) config(r *request) (ConfigState, error) {
	if _, err := query(r); err != nil {
		return ConfigState{}, err
	}
	if s.c.Configs == nil {
		return ConfigState{}, noConfig()
	}
	return s.c.Configs.State(), nil
}

// acceptConfig serves POST /v1/config/accept.
func (s *Server) acceptConfig(r *request, in ConfigAccepted) (ConfigState, error) {
	if s.c.Configs == nil {
		return ConfigState{}, noConfig()
	}
	state, err := s.c.Configs.Accept(r.Context(), r.by, in.Digest)
	switch {
	case errors.Is(err, ErrConfigDigest):
		return state, problem(http.StatusConflict, ProblemConfig, "Another file", err.Error())
	case errors.Is(err, people.ErrNotEntitled):
		return state, problem(http.StatusForbidden, ProblemNotEntitled, "Not entitled", "accepting a configuration needs the role "+people.RoleAdmin)
	}
	return state, err
}

func noConfig() error {
	return problem(http.StatusNotFound, ProblemNotFound, "Not found", "this sidecar does not watch its configuration")
}
