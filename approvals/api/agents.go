package api

import (
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
)

// Intervention is the body of POST /v1/agents/{id}/interventions, and of POST
// /v1/interventions, which is for all agents.
type Intervention struct {
	Action agents.Action `json:"action"`           // pause, resume, stop or redirect
	Reason string        `json:"reason,omitempty"` // for people and for the agent
	// Instruction is what redirect is about.
	Instruction string `json:"instruction,omitempty"`
}

// listAgents serves GET /v1/agents.
func (s *Server) listAgents(r *request) ([]agents.Agent, error) {
	if _, err := query(r); err != nil {
		return nil, err
	}
	list, err := s.c.Queue.Agents.List(r.Context())
	if err != nil {
		return nil, err
	}
	used, err := s.c.Queue.Sessions.Used(r.Context())
	for i := range list {
		list[i].Usage = used[list[i].ID]
	}
	return list, err
}

// agentStatus serves GET /v1/agents/{id}/standing, of an agent that was never
// seen too.
func (s *Server) agentStatus(r *request) (approvals.AgentStatus, error) {
	st, _ := s.c.Queue.Agents.Status(r.PathValue("id"))
	return st, nil
}

// everybody serves GET /v1/interventions.
func (s *Server) everybody(*request) (approvals.AgentStatus, error) {
	st, _ := s.c.Queue.Agents.Status(agents.Everybody)
	return st, nil
}

// intervene serves POST /v1/agents/{id}/interventions.
func (s *Server) intervene(r *request, in Intervention) (approvals.AgentStatus, error) {
	return s.interveneWith(r, r.PathValue("id"), in)
}

// interveneAll serves POST /v1/interventions.
func (s *Server) interveneAll(r *request, in Intervention) (approvals.AgentStatus, error) {
	return s.interveneWith(r, agents.Everybody, in)
}

func (s *Server) interveneWith(r *request, agent string, in Intervention) (approvals.AgentStatus, error) {
	if in.Action == "" {
		return approvals.AgentStatus{}, malformed("action is missing: pause, resume, stop or redirect")
	}
	st, err := s.c.Queue.Agents.Intervene(r.Context(), agent, agents.Intervention{Action: in.Action, Reason: in.Reason, Instruction: in.Instruction, By: r.by})
	if err == nil {
		s.c.Logger.InfoContext(r.Context(), "a person intervened", "agent", agent, "action", in.Action, "by", r.by)
	}
	return st, err
}
