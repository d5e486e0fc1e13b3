package proxy

import (
	"net/http"

	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/route"
)

// Servers are the one of the doors and the one inside tunnels.
func (s *Server) Servers() []*http.Server { return []*http.Server{s.outer.Server, s.inner.Server} }

// MCP is the flow of MCP.
func (s *Server) MCP() *mcpproxy.Proxy { return s.mcp }

// Take takes a request through the steps whose door has found its target.
func (s *Server) Take(w http.ResponseWriter, r *http.Request, t *route.Target) error {
	return s.serve(w, r, t)
}
