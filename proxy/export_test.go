package proxy

import (
	"net/http"

	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/model"
	"github.com/holdgate/holdgate/proxy/route"
)

// Config is what the server was made with.
func (s *Server) Config() *Config { return &s.c }

// Servers are the one of the doors and the one inside tunnels.
func (s *Server) Servers() []*http.Server { return []*http.Server{s.outer, s.inner} }

// MCP is the flow of MCP.
func (s *Server) MCP() *mcpproxy.Proxy { return s.mcp }

// Take takes a request through the steps whose door has found its target.
func (s *Server) Take(w http.ResponseWriter, r *http.Request, t *route.Target) error {
	return s.serve(w, r, t)
}

// Forget has what comes be decided as by a sidecar that has started again.
func (s *Server) Forget() {
	s.steps.Gate = gate.New(s.steps.Life, gateConfig(s.c, s.steps.Out))
	s.models = model.New(s.modelConfig())
}
