package holdgate

import (
	"encoding/json"
	"time"
)

// Status is where an approval request stands.
type Status string

// The statuses. All but pending are final.
const (
	StatusPending   Status = "pending"
	StatusApproved  Status = "approved"
	StatusDenied    Status = "denied"
	StatusSteered   Status = "steered"
	StatusExpired   Status = "expired"
	StatusCancelled Status = "cancelled"
)

// Final reports whether the request has ended. An unknown status is final and
// not approved, so that it releases nothing.
func (s Status) Final() bool { return s != StatusPending }

// Answer is what ended an approval request, or what a vote says.
type Answer string

// The answers. People give the first five; timeout and cancel are Holdgate's.
const (
	AnswerApprove Answer = "approve"
	AnswerDeny    Answer = "deny"
	AnswerSteer   Answer = "steer"
	AnswerChoose  Answer = "choose"
	AnswerEdit    Answer = "edit"
	AnswerTimeout Answer = "timeout"
	AnswerCancel  Answer = "cancel"
)

// Outcome is what ended an approval request.
type Outcome struct {
	Decision     Answer    `json:"decision"`
	By           string    `json:"by"` // a person's name, "policy", or "holdgate"
	At           time.Time `json:"at"`
	Reason       string    `json:"reason,omitempty"`
	Instructions string    `json:"instructions,omitempty"`
	Artifacts    []string  `json:"artifacts,omitempty"` // that instructions are about
	Choice       string    `json:"choice,omitempty"`
	// Arguments are those that a person put in place of the call's, without
	// what policy redacts. Set by edit.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Rollback asks the agent to undo what it did for this task so far; Stop
	// ends the agent. Both come with a denial only.
	Rollback bool `json:"rollback,omitempty"`
	Stop     bool `json:"stop,omitempty"`
	// Grant is the id of the standing approval that was made of it.
	Grant string `json:"grant,omitempty"`
}

// A Verdict is what becomes of one call of an answer: it goes on as it came,
// or a notice takes its place. The zero value refuses.
type Verdict struct {
	Release bool
	// Arguments, where set, are a JSON object that takes the place of the
	// released call's arguments: a person has edited them.
	Arguments json.RawMessage
	// Note is a person's message that goes along with a released call; the
	// agent reads it as text before the call, or with the call's result.
	Note string
	// Notice is the text that stands in the place of a refused call. It is
	// never empty where Release is false.
	Notice string
}
