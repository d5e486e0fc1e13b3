package agentapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
)

// Door is the agents' API as a way in: calls of it are made at this door.
const Door = "agents"

// A Service does what agents may ask for. All of it is scoped to the caller: the
// agent and its session. It is safe for concurrent use. Errors are a
// [*sessions.FieldError] for what was wrongly asked, [approvals.ErrNotFound] for
// what is not the caller's, and what the queue returns.
type Service interface {
	// PassGate asks to pass a gate. What it returns may be pending.
	PassGate(context.Context, approvals.Caller, GateRequest) (Gate, error)
	// Gate returns a gate that was asked for, once it is answered or the time is
	// over. The answer is used by this.
	Gate(ctx context.Context, who approvals.Caller, id string, wait time.Duration) (Gate, error)
	// Report takes a report of confidence, which may open a gate.
	Report(context.Context, approvals.Caller, Report) (Reported, error)
	Session(context.Context, approvals.Caller) (Session, error)
	// Tighten sets the mode of the session, if that asks no less than the one it has.
	Tighten(context.Context, approvals.Caller, Mode) (Session, error)
	// Messages returns the messages of the session after a number; those from people
	// count as delivered. Where there are none it waits for some.
	Messages(ctx context.Context, who approvals.Caller, after uint64, wait time.Duration) ([]sessions.Message, error)
	Say(context.Context, approvals.Caller, Note) (sessions.Message, error)
	Pending(context.Context, approvals.Caller) ([]Pending, error)
	// Would says what policy would decide of a tool call. Nobody is asked.
	Would(context.Context, approvals.Caller, Planned) (Would, error)
}

// GateRequest is the body of POST /v1/gates.
type GateRequest struct {
	Type    string               `json:"type"`              // of gate, such as "before_commit"
	Kind    holdgate.RequestKind `json:"kind,omitempty"`    // "approval", or "choice" where there are options
	Message string               `json:"message,omitempty"` // for people
	Options []Option             `json:"options,omitempty"`
	// Context is an object of what people should see: plan, diff, tests, review, or
	// anything else.
	Context   json.RawMessage `json:"context,omitempty"`
	Artifacts []string        `json:"artifacts,omitempty"` // files and other things that it is about
	Timeout   *Duration       `json:"timeout,omitempty"`   // where the configuration has none
}

// Option is one answer of a choice. In JSON it may be a text, which is then both
// its id and its label.
type Option struct {
	ID     string `json:"id"`
	Label  string `json:"label,omitempty"`
	Effect string `json:"effect,omitempty"` // "approve", which is the default, "deny" or "steer"
	Other  bool   `json:"other,omitempty"`  // a text of the person's own
}

// Gate is a gate that was asked for, and its answer.
type Gate struct {
	ID      string               `json:"id"`
	Type    string               `json:"type"`
	Status  holdgate.Status      `json:"status"`
	Kind    holdgate.RequestKind `json:"kind"`
	Message string               `json:"message,omitempty"`
	Options []holdgate.Option    `json:"options,omitempty"`
	Created time.Time            `json:"created_at,omitzero"`
	Expires time.Time            `json:"expires_at,omitzero"`
	Outcome *holdgate.Outcome    `json:"outcome,omitempty"`
	Text    string               `json:"text"` // all of it in words, for a model
}

// Report is the body of POST /v1/confidence.
type Report struct {
	Task  string   `json:"task_id,omitempty"`
	Score *float64 `json:"score"` // from 0 to 1, or from 0 to 100
	// Agent and SessionID are what the agent calls itself; who it is, and which session,
	// is known from elsewhere where it can be.
	Agent        string                 `json:"agent,omitempty"`
	SessionID    string                 `json:"session_id,omitempty"`
	Reasons      []string               `json:"reasons,omitempty"`
	Verification *sessions.Verification `json:"verification,omitempty"`
	Retries      *sessions.Retries      `json:"retries,omitempty"`
}

// Reported is the answer to a report.
type Reported struct {
	ID        string `json:"id"`
	Escalated bool   `json:"escalated"`         // a gate was opened
	Gate      string `json:"gate_id,omitempty"` // that gate
}

// Session is the caller's own session.
type Session struct {
	Agent     string              `json:"agent"`
	ID        string              `json:"id"`
	Status    tracks.SessionState `json:"status"` // "running", "waiting_approval", "paused" or "stopped"
	Why       string              `json:"why,omitempty"`
	Mode      sessions.Mode       `json:"mode"`
	Threshold float64             `json:"confidence_threshold,omitempty"`
	Pending   []Pending           `json:"pending"`
	Passed    []string            `json:"gates_passed"`
	Needed    []string            `json:"gates_needed"`
	Score     *float64            `json:"confidence,omitempty"` // of the last report
	Messages  int                 `json:"messages"`             // that wait to be fetched
}

// Pending is what waits for people.
type Pending struct {
	ID      string        `json:"id"`
	Kind    holdgate.Kind `json:"kind"` // of call
	Gate    string        `json:"gate,omitempty"`
	Summary string        `json:"summary"`
	Message string        `json:"message,omitempty"`
	Created time.Time     `json:"created_at"`
	Expires time.Time     `json:"expires_at"`
}

// Mode is the body of PUT /v1/session.
type Mode struct {
	Mode      sessions.Mode `json:"mode"`
	Threshold float64       `json:"confidence_threshold,omitempty"`
}

// Note is the body of POST /v1/messages.
type Note struct {
	Type      sessions.MessageType `json:"type"` // clarification_request, clarification_response or status
	Content   string               `json:"content"`
	InReplyTo uint64               `json:"in_reply_to,omitempty"`
}

// Duration is a time: in JSON a text such as "30s", or seconds.
type Duration time.Duration

// Planned is the body of POST /v1/would: a tool call that the agent thinks of.
type Planned struct {
	Tool      string          `json:"tool"`
	Server    string          `json:"server,omitempty"`    // the MCP server that has it
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object
}

// Would is what policy would decide of a call as things stand.
type Would struct {
	Action string `json:"action"` // "allow", "deny", or "hold": people would be asked
	Rule   string `json:"rule"`
	Reason string `json:"reason,omitempty"`
	Gate   string `json:"gate,omitempty"` // that the call would wait for
}
