package proxy

import (
	"context"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
)

// serveSelf serves Holdgate's own MCP server for agents. The streams on which it
// could speak by itself end with the server; calls end by themselves then.
func (s *Server) serveSelf(w http.ResponseWriter, r *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	if r.Method == http.MethodGet {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.steps.Waits, cancel)()
		r = r.WithContext(ctx)
	}
	caller.Mark(r)
	s.self.ServeHTTP(w, r)
}

// selfFollow follows a call of Holdgate's own MCP server.
func (s *Server) selfFollow(ctx context.Context, h http.Header) (context.Context, func()) {
	return trace.Follow(ctx, s.c.Tracer, http.MethodPost, h, nil)
}

// selfCaller is who calls Holdgate's own MCP server. A session of MCP's is none
// of the agent's: its model requests do not name it.
func (s *Server) selfCaller(h http.Header) approvals.Caller {
	h = h.Clone()
	h.Del("Mcp-Session-Id")
	return s.steps.Callers.Of(caller.Marked(h), agentapi.Door)
}

// Would implements [agentapi.Service]. It counts among the decisions that the
// agent asks for.
func (a agents) Would(ctx context.Context, who approvals.Caller, p agentapi.Planned) (agentapi.Would, error) {
	t, err := p.Call()
	if err != nil {
		return agentapi.Would{}, err
	}
	if err := wire.Strict(t.Arguments); err != nil {
		return agentapi.Would{}, &sessions.FieldError{Field: "arguments", What: "cannot be read by all alike: " + err.Error()}
	}
	a.s.c.Queue.Agents.Seen(who)
	if status, _ := a.s.c.Queue.Agents.StatusOf(who.Agent.ID, who.Session.ID); status.Stopped() {
		return agentapi.Would{Action: holdgate.Deny.String(), Rule: holdgate.RuleStopped, Reason: holdgate.OneLine(status.String(), gate.MaxWords)}, nil
	}
	if over := a.s.steps.Gate.Admit(who.Agent); over != nil {
		return agentapi.Would{}, &agentapi.Problem{Type: "urn:holdgate:problem:quota", Title: "Too much at a time", Status: http.StatusTooManyRequests, Detail: over.Error()}
	}
	from := a.from(ctx, who)
	d := a.s.steps.Gate.Evaluate(ctx, from, &gate.Evaluation{Call: from.Call(holdgate.Call{Kind: holdgate.KindToolCall, Tool: t})})
	v := agentapi.Would{Action: d.Action.String(), Rule: d.Rule, Reason: holdgate.OneLine(d.Reason, gate.MaxWords)}
	if d.Action == holdgate.Hold {
		v.Gate = d.Hold.Gate
	}
	return v, nil
}
