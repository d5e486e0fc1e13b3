package api

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// A Check is the body of POST /v1/approvals/{id}/check: arguments as they would be sent
// with an edit. Without any it asks for the schema alone.
type Check struct {
	Arguments jsontext.Value `json:"arguments,omitempty"`
}

// A Checked is what policy says of an edited call before it is sent, to somebody who may edit it.
type Checked struct {
	// Schema is the JSON Schema of the tool's arguments, where its server has given one.
	Schema json.RawMessage `json:"schema,omitempty"`
	Action string          `json:"action,omitempty"` // allow, hold or deny; empty: no arguments were given
	Rule   string          `json:"rule,omitempty"`
	Reason string          `json:"reason,omitempty"`
	// Risk is that of the edited call by itself, also where its editor's answer is enough.
	Risk holdgate.Risk `json:"risk,omitempty"`
	// Summary says what the edited call does, and Target names in a few words what it is about.
	Summary string `json:"summary,omitempty"`
	Target  string `json:"target,omitempty"`
	// Settled says that a hold is by the rule that asks now, which needs no further
	// approver: the edit itself answers it.
	Settled bool `json:"settled,omitempty"`
}

// check serves POST /v1/approvals/{id}/check.
func (s *Server) check(r *request, in Check) (Checked, error) {
	shown, err := s.c.Queue.Request(r.Context(), r.PathValue("id"))
	if err != nil {
		return Checked{}, err
	}
	c := Checked{Schema: s.c.Queue.Schema(shown)}
	if len(in.Arguments) == 0 {
		return c, nil
	}
	if in.Arguments.Kind() != '{' {
		return Checked{}, malformed("arguments must be a JSON object")
	}
	d, err := s.c.Queue.Judge(r.Context(), shown.ID, r.by, json.RawMessage(in.Arguments))
	if err != nil {
		return Checked{}, err
	}
	c.Action, c.Rule, c.Reason, c.Risk, c.Summary, c.Target = d.Action.String(), d.Rule, d.Reason, d.Risk, d.Summary, d.Target
	c.Settled = d.Action == holdgate.Hold && d.Rule == shown.Rule && len(d.Also) == 0 && d.Hold.Approvers.Quorum <= 1
	return c, nil
}

// A PreviewOf is the body of POST /v1/approvals/{id}/preview.
type PreviewOf struct {
	Remember approvals.Remember `json:"remember"`
}

// preview serves POST /v1/approvals/{id}/preview.
func (s *Server) preview(r *request, in PreviewOf) (approvals.Preview, error) {
	return s.c.Queue.Preview(r.Context(), r.PathValue("id"), in.Remember)
}
