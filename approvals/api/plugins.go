package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
)

// Plugins is what the API asks of whoever runs the channels. It is safe for
// concurrent use.
type Plugins interface {
	List() []Plugin
	// Send shows people a test message in a channel. The error is [ErrNoPlugin],
	// or says why nobody was shown any, in words that are safe to show.
	Send(ctx context.Context, name string) error
}

// ErrNoPlugin says that no channel of the name is configured.
var ErrNoPlugin = errors.New("no channel of this name is configured")

// Plugin is how one channel to people does.
type Plugin struct {
	Name      string    `json:"name"`
	State     string    `json:"state"` // "running", "unreachable", "starting" or "stopped"
	Since     time.Time `json:"since"`
	Assurance string    `json:"assurance,omitempty"`
	Restarts  int       `json:"restarts"`
	Error     string    `json:"error,omitempty"`
	Told      int       `json:"told"`           // pending requests that people know from it
	Waiting   int       `json:"waiting"`        // that it is still to tell of
	Quiet     time.Time `json:"quiet,omitzero"` // until when its quiet hours last
}

// listPlugins serves GET /v1/plugins.
func (s *Server) listPlugins(*request) ([]Plugin, error) {
	if s.c.Plugins == nil {
		return []Plugin{}, nil
	}
	return s.c.Plugins.List(), nil
}

// testPlugin serves POST /v1/plugins/{name}/test.
func (s *Server) testPlugin(r *request, _ Nothing) (Nothing, error) {
	if n, ok := s.c.Queue.People().Find(r.by); !ok || !n.Has(people.RoleOperate) {
		return Nothing{}, fmt.Errorf("%w: sending through a channel takes the role %s; ask somebody who has it", people.ErrNotEntitled, people.RoleOperate)
	}
	name := r.PathValue("name")
	if s.c.Plugins == nil {
		return Nothing{}, noPlugin(name, nil)
	}
	switch err := s.c.Plugins.Send(r.Context(), name); {
	case errors.Is(err, ErrNoPlugin):
		return Nothing{}, noPlugin(name, s.c.Plugins.List())
	case err != nil:
		return Nothing{}, problem(http.StatusBadGateway, "plugin", "The channel showed nothing", holdgate.Visible(err.Error()))
	}
	return Nothing{}, nil
}

// noPlugin says that there is no channel of the name, and which ones there are.
func noPlugin(name string, known []Plugin) error {
	if len(known) == 0 {
		return fmt.Errorf("%w: %s; no channels are configured", ErrNoPlugin, holdgate.Visible(name))
	}
	var names []string
	for _, p := range known {
		names = append(names, p.Name)
	}
	return fmt.Errorf("%w: %s; there are %s", ErrNoPlugin, holdgate.Visible(name), strings.Join(names, ", "))
}
