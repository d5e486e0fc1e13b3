package acp

import (
	"encoding/json"

	"github.com/holdgate/holdgate"
)

// Paths of the agents' door that `holdgate acp` asks at.
const (
	PathCalls    = "/acp/calls"    // takes an [Ask] and answers with a line for each [Event]
	PathWithdraw = "/acp/withdraw" // takes a [Withdrawal]
)

// An Ask asks what becomes of a request of the agent's.
type Ask struct {
	Message json.RawMessage `json:"message"`          // as the agent wrote it
	Folder  string          `json:"folder,omitempty"` // that its session works in
}

// Status says what an [Event] tells.
type Status string

// The statuses. All but the first end the answer.
const (
	StatusWaiting Status = "waiting" // people are asked
	StatusAllow   Status = "allow"
	StatusDeny    Status = "deny"
)

// An Event is one line of the answer to an [Ask].
type Event struct {
	Status Status `json:"status"`

	// Of what waits.
	Request string          `json:"request,omitempty"` // that people see; empty while the agent is paused
	Digest  holdgate.Digest `json:"digest,omitempty"`
	Summary string          `json:"summary,omitempty"`
	Text    string          `json:"text,omitempty"`    // for the editor's user, or of a denial
	Approve bool            `json:"approve,omitempty"` // an answer in the editor may approve it

	// Arguments are those that a person gave an allowed call; nil for the agent's own.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// A Withdrawal says that no answer to a request is wanted any more.
type Withdrawal struct {
	Request string `json:"request"`
	Reason  string `json:"reason"`
}
