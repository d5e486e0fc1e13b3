package holdgate

import "time"

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
	Choice       string    `json:"choice,omitempty"`
}

// A Verdict is what becomes of one call of an answer: it goes on as it came,
// or a notice takes its place. The zero value refuses.
type Verdict struct {
	Release bool
	// Notice is the text that stands in the place of a refused call. It is
	// never empty where Release is false.
	Notice string
}
