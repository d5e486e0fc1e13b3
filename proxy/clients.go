package proxy

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
)

// patience is how long the clients were seen to wait for headers before they
// ask again, less a margin; by how their User-Agent begins. Clients that are
// not here get [Limits.Budget].
var patience = []struct {
	agent string
	wait  time.Duration
}{
	{"GeminiCLI", 50 * time.Second},
	{"google-genai-sdk", 50 * time.Second},
	{"QwenCode", 110 * time.Second},
}

func (s *Server) budget(r *http.Request) time.Duration {
	ua := r.UserAgent()
	for _, p := range patience {
		if strings.HasPrefix(ua, p.agent) {
			return min(p.wait, s.c.Limits.Budget)
		}
	}
	return s.c.Limits.Budget
}

// budget is how long this client may be kept waiting. One that asks for the result
// of a task is to be kept until there is one, and of a task nobody waits for the
// call.
func (m *mcpExchange) budget() time.Duration {
	if m.task != nil || !m.batch && len(m.msgs) == 1 && m.msgs[0].Method == "tasks/result" {
		return mcp.Endless
	}
	return m.s.mcpBudget(m.t.Client, m.t.Door, m.msgs)
}

// mcpBudget is how long an MCP client may be kept waiting for the results of
// these messages.
func (s *Server) mcpBudget(client, door string, msgs []mcp.Message) time.Duration {
	progress := !slices.ContainsFunc(msgs, func(m mcp.Message) bool { return m.IsRequest() && m.ProgressToken() == nil })
	if progress && slices.ContainsFunc(s.c.ProgressClients, func(name string) bool { return name == client }) {
		return mcp.Endless
	}
	if d, known := mcp.Patience(client, door == route.DoorStdio, progress); known {
		return d
	}
	return s.c.Limits.MCP
}
