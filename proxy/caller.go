package proxy

import (
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
)

// caller says who makes a request. A session is what the client itself names,
// never a gap in time.
func (s *Server) caller(r *http.Request, t route.Target) approvals.Caller {
	c := s.callerIn(r.Context(), t.Door)
	for _, h := range sessionHeaders {
		if v := r.Header.Get(h); gate.NamesSession(v) {
			c.Session.ID = v
			break
		}
	}
	return c
}

// unnamedCaller is who makes a request that names no session and shows nothing.
func (s *Server) unnamedCaller(door string) approvals.Caller {
	c := approvals.Caller{Agent: s.c.Agent, Session: holdgate.Session{ID: holdgate.SessionDefault}, Door: door}
	if c.Agent.ID == "" {
		c.Agent.ID = holdgate.AgentDefault
	}
	return c
}

// sessionHeaders are the names under which clients name their session.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "Session-Id", "Session_id", "Thread-Id", "Conversation_id", "Mcp-Session-Id", "X-Session-Id"}
