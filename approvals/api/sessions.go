package api

import (
	"errors"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
)

// SessionMode is the body of PUT /v1/sessions/{id}: a mode, Alone or both.
type SessionMode struct {
	Mode      sessions.Mode `json:"mode,omitempty"` // auto, manual or confidence_threshold
	Threshold float64       `json:"confidence_threshold,omitempty"`
	// Alone says whether what holds the session back holds no other of its agent.
	Alone *bool `json:"alone,omitempty"`
	// Revision is that of the session which the person saw; without it the mode is
	// set whatever was changed meanwhile.
	Revision uint64 `json:"revision,omitempty"`
}

// Note is the body of POST /v1/sessions/{id}/messages and of POST
// /v1/agents/{id}/messages.
type Note struct {
	Type      sessions.MessageType `json:"type,omitempty"` // guidance, where it is empty
	Content   string               `json:"content"`
	InReplyTo uint64               `json:"in_reply_to,omitempty"` // the seq of a message
}

// listSessions serves GET /v1/sessions.
func (s *Server) listSessions(r *request) ([]approvals.Session, error) {
	q, err := query(r, "agent")
	if err != nil {
		return nil, err
	}
	return s.c.Queue.Sessions.List(r.Context(), q.Get("agent"))
}

// showSession serves GET /v1/sessions/{id}.
func (s *Server) showSession(r *request) (approvals.Session, error) {
	q, err := query(r, "agent")
	if err != nil {
		return approvals.Session{}, err
	}
	return s.c.Queue.Sessions.One(r.Context(), q.Get("agent"), r.PathValue("id"))
}

// setMode serves PUT /v1/sessions/{id}. With agent, the session may be one to come.
func (s *Server) setMode(r *request, in SessionMode) (approvals.Session, error) {
	q, err := query(r, "agent")
	if err != nil {
		return approvals.Session{}, err
	}
	change := tracks.SessionChange{Alone: in.Alone, Seen: in.Revision}
	if in.Mode != "" || in.Threshold != 0 || in.Alone == nil {
		set := sessions.Setting{Mode: in.Mode}
		if set.Threshold, err = sessions.Fraction("confidence_threshold", in.Threshold); err != nil {
			return approvals.Session{}, err
		}
		change.Setting = &set
	}
	v, err := s.c.Queue.Sessions.Change(r.Context(), q.Get("agent"), r.PathValue("id"), change, r.by)
	if err == nil {
		s.c.Logger.InfoContext(r.Context(), "a person changed a session", "agent", v.Agent, "session", v.ID, "mode", v.Mode, "alone", v.Alone, "by", r.by)
	}
	return v, err
}

// sessionMessages serves GET /v1/sessions/{id}/messages.
func (s *Server) sessionMessages(r *request) ([]sessions.Message, error) {
	v, err := s.showSession(r)
	if err != nil {
		return nil, err
	}
	return s.c.Queue.Sessions.Messages(r.Context(), v.Agent, v.ID, 0)
}

// tellSession serves POST /v1/sessions/{id}/messages.
func (s *Server) tellSession(r *request, in Note) (sessions.Message, error) {
	v, err := s.showSession(r)
	if err != nil {
		return sessions.Message{}, err
	}
	return s.tell(r, v.Agent, v.ID, in)
}

// tellAgent serves POST /v1/agents/{id}/messages: whichever session of the agent
// makes the next request gets it.
func (s *Server) tellAgent(r *request, in Note) (sessions.Message, error) {
	return s.tell(r, r.PathValue("id"), "", in)
}

func (s *Server) tell(r *request, agent, session string, in Note) (sessions.Message, error) {
	if in.Type == "" {
		in.Type = sessions.MessageGuidance
	}
	if in.Type == sessions.MessageRedirect {
		return sessions.Message{}, &sessions.FieldError{Field: "type", What: "redirect is an intervention: POST /v1/agents/{id}/interventions"}
	}
	return s.c.Queue.Sessions.Tell(r.Context(), sessions.Message{Agent: agent, Session: session, Type: in.Type, Content: in.Content, InReplyTo: in.InReplyTo, From: r.by})
}

// fieldProblem tells which field of a body is wrong.
func fieldProblem(err error) (*Problem, bool) {
	e, ok := errors.AsType[*sessions.FieldError](err)
	if !ok {
		return nil, false
	}
	p := malformed("%s", e.Error())
	p.Field = e.Field
	return p, true
}
