package caller

import (
	"context"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
)

// Of says who makes a request. A session is what the client itself names, never a gap
// in time.
func (f *Finder) Of(r *http.Request, door string) approvals.Caller {
	c := f.In(r.Context(), door)
	for _, h := range SessionHeaders {
		if v := r.Header.Get(h); gate.NamesSession(v) {
			c.Session.ID = v
			break
		}
	}
	return c
}

// In is who makes a request that names no session.
func (f *Finder) In(ctx context.Context, door string) approvals.Caller {
	c := f.Unnamed(door)
	if w, ok := In(ctx); ok {
		c.Agent = w.Agent
	}
	return c
}

// Unnamed is who makes a request that names no session and shows nothing.
func (f *Finder) Unnamed(door string) approvals.Caller {
	c := approvals.Caller{Agent: f.Agent, Session: holdgate.Session{ID: holdgate.SessionDefault}, Door: door}
	if c.Agent.ID == "" {
		c.Agent.ID = holdgate.AgentDefault
	}
	return c
}

// SessionHeaders are the names under which clients name their session.
var SessionHeaders = []string{"X-Claude-Code-Session-Id", "Session-Id", "Session_id", "Thread-Id", "Conversation_id", "Mcp-Session-Id", "X-Session-Id"}
