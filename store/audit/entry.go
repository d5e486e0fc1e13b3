package audit

import (
	"encoding/json"
	"time"

	"github.com/holdgate/holdgate"
)

// Type says what an entry records.
type Type string

// The types of entry.
const (
	TypeDecision Type = "decision" // what policy said of a call
	TypeVote     Type = "vote"     // what one person answered
	TypeOutcome  Type = "outcome"  // what ended an approval request
	TypeUsed     Type = "used"     // an approval was used: its call may go on from here
	TypeResult   Type = "result"   // what became of what was used: "spent" or "unknown"
	TypeObserved Type = "observed" // a call that the provider ran by itself
	TypeRefused  Type = "refused"  // what never reached policy: malformed, too large, an address
	TypePolicy   Type = "policy"   // a policy was loaded, or could not be
	TypeStart    Type = "start"    // the sidecar started
)

// An Entry is one line of the log. Seq, Time, PrevHash and Hash are filled in
// when it is appended.
type Entry struct {
	Seq       uint64            `json:"seq"`
	Time      time.Time         `json:"time"`
	Type      Type              `json:"type"`
	RequestID string            `json:"request_id,omitempty"`
	Exchange  string            `json:"exchange,omitempty"`
	Door      string            `json:"door,omitempty"`
	Call      *Call             `json:"call,omitempty"`
	Decision  *Decision         `json:"decision,omitempty"`
	Outcome   *holdgate.Outcome `json:"outcome,omitempty"`
	// Input is the call's arguments or request as policy saw it, redacted.
	Input json.RawMessage `json:"input,omitempty"`
	// Note says in words what the other fields can't.
	Note     string `json:"note,omitempty"`
	PrevHash string `json:"prev_hash"`
	Hash     string `json:"hash"`
}

// Call is a call as the log names it.
type Call struct {
	ID      string          `json:"id,omitempty"` // the provider's or client's own
	Kind    holdgate.Kind   `json:"kind"`
	Tool    *Tool           `json:"tool,omitempty"`
	Model   string          `json:"model,omitempty"`
	HTTP    string          `json:"http,omitempty"` // "GET host/path"
	Digest  holdgate.Digest `json:"digest,omitempty"`
	Agent   string          `json:"agent"`
	Session string          `json:"session"`
}

// Tool names a tool.
type Tool struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
}

// Decision is a decision as the log names it.
type Decision struct {
	Action   holdgate.Action  `json:"action"`
	Rule     string           `json:"rule,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Risk     holdgate.Risk    `json:"risk,omitempty"`
	Revision string           `json:"revision,omitempty"`
	Would    *holdgate.Action `json:"would,omitempty"`
}
