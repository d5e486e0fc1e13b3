package holdgate

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Action is what policy says of a call. The zero value is [Deny].
type Action uint8

// The actions, strictest first.
const (
	Deny Action = iota
	Hold
	Allow
)

// String returns the action's name in JSON, Rego and logs.
func (a Action) String() string {
	switch a {
	case Deny:
		return "deny"
	case Hold:
		return "hold"
	case Allow:
		return "allow"
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// ParseAction is the inverse of [Action.String].
func ParseAction(s string) (Action, error) {
	switch s {
	case "deny":
		return Deny, nil
	case "hold":
		return Hold, nil
	case "allow":
		return Allow, nil
	}
	return Deny, fmt.Errorf("unknown action %q: want allow, deny or hold", s)
}

// MarshalText implements [encoding.TextMarshaler].
func (a Action) MarshalText() ([]byte, error) {
	if a > Allow {
		return nil, fmt.Errorf("action %d has no name", uint8(a))
	}
	return []byte(a.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Action) UnmarshalText(b []byte) (err error) {
	*a, err = ParseAction(string(b))
	return err
}

// Risk grades a call for people. The empty value is unknown.
type Risk string

// The grades of risk.
const (
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

// Rules that Holdgate itself gives as the reason of a decision. Rules of
// policies never start with "holdgate.".
const (
	RulePolicyError = "holdgate.policy_error" // policy undefined, in error, late or of unknown shape
	RuleMalformed   = "holdgate.malformed"    // broken framing or envelope, unknown encoding, ambiguous JSON
	RuleTooLarge    = "holdgate.too_large"    // over a limit
	RuleStore       = "holdgate.store"        // the store is down, so nothing can be held or logged
	RuleQuota       = "holdgate.quota"        // more than one agent may have or do at a time
	RuleUnsupported = "holdgate.unsupported"  // a road that cannot be gated
	RuleUnnamed     = "unnamed"               // a rule of a policy that gives itself no name
	RuleIdentity    = "holdgate.identity"     // a credential of an agent that is not taken
	RuleAddress     = "holdgate.address"      // an address that nobody may be sent to
	RulePaused      = "holdgate.paused"       // people have paused the agent
	RuleStopped     = "holdgate.stopped"      // people have stopped the agent
)

// RedactCredentials in a Decision's Redact has the credentials in a tool's arguments taken
// out of the texts that they are in, and nothing else. It is no JSON pointer.
const RedactCredentials = "credentials"

// Hides reports whether a part of the call is hidden as a whole, so that nothing that may quote
// it is shown. Credentials that are taken out of a text hide no more than themselves.
func (d *Decision) Hides() bool {
	return slices.ContainsFunc(d.Redact, func(p string) bool { return p != RedactCredentials })
}

// A Decision is what policy says of a call.
type Decision struct {
	Action Action
	Rule   string // the id of the rule that decided
	Reason string // for people and for the agent
	Risk   Risk
	Hold   HoldSpec // set where Action is Hold
	// Also lists the other rules that ask about the call and are settled by the
	// same answer, the gravest first; set where Action is Hold. Whoever answers
	// must have been shown them.
	Also []Finding
	// Redact lists JSON pointers into the input whose values reach no log and
	// no screen; [RedactCredentials] among them says it of credentials in a tool's arguments.
	Redact []string
	// Taint is what the session is in touch with once the call has gone on:
	// "untrusted", "private", "secrets", or a word of a policy's own.
	Taint []string
	// Leaves is that of the call's facts, for the session to keep once the call has gone on.
	Leaves string
	// Later is what the call may change of what runs later by itself, once it goes on; nil:
	// nothing.
	Later *Later
	// Revision names the policy that decided.
	Revision string
	// Facts are what policy was told of the call; set where Action is Hold, for
	// those who show it to people or match it.
	Facts *Facts
	// Seen is what policy saw of the call besides its arguments, as package rego
	// writes and reads it, for the audit log; nil where nobody keeps it.
	Seen json.RawMessage
	// Would is what policy would have said, where the rule (or Holdgate as a
	// whole) only observes and Action is therefore Allow.
	Would *Action
}

// A Finding is what one more rule says of a call that is held.
type Finding struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Risk   Risk   `json:"risk"`
}

// HoldSpec says how a held call is to be decided.
type HoldSpec struct {
	Gate      string
	Kind      RequestKind
	Message   string
	Options   []Option
	Timeout   time.Duration
	OnTimeout TimeoutAction
	Required  bool // no grant and no silence answers it
	Approvers Approvers
	Allow     []string // of "steer", "edit", "remember"
	// Show names what the rule wants people to see besides the call, such as
	// "diff", "plan", "tests" or "review".
	Show []string
	// Passes says that an approval lets the call's session pass the gate: it is
	// not asked about at later calls, and others that wait for it are decided anew.
	Passes bool
	// Once says that an approval by people also answers the same question in the
	// session's later model requests. It means nothing of another kind of call.
	Once bool
	// Tool says that the question is about the tool itself, and not about the call:
	// an approval may also be remembered for calls of it with other arguments, as
	// long as its server says the same of it.
	Tool bool
	// Learn lets approvals of people answer later calls like theirs; the zero
	// value does not.
	Learn Learn
}

// Learn says after how many approvals by people of calls alike, none of them
// denied, within how many days, such a call needs no further one.
type Learn struct {
	Approvals int `json:"approvals"`
	Days      int `json:"days"`
}

// Allows reports whether the hold may be answered in the given way.
func (h HoldSpec) Allows(way string) bool {
	for _, a := range h.Allow {
		if a == way {
			return true
		}
	}
	return false
}

// Approvers says who may approve a held call: people with one of the roles,
// and the users. Empty lists mean everybody who may approve at all.
type Approvers struct {
	Roles  []string `json:"roles,omitempty"`
	Users  []string `json:"users,omitempty"`
	Quorum int      `json:"quorum,omitempty"`
	// Assurance is the least assurance of the channel: "text", "interactive",
	// "local" or "strong".
	Assurance string `json:"assurance,omitempty"`
	// Passkey demands that each approval is signed with a passkey. It implies the
	// assurance "strong".
	Passkey bool `json:"passkey,omitempty"`
	// FourEyes says that whoever the agent works for does not count among those
	// who approve.
	FourEyes bool `json:"four_eyes,omitempty"`
	// Escalate lets more people approve as time passes without an outcome, in order of
	// After.
	Escalate []Escalation `json:"escalate,omitempty"`
}

// Demands is the least assurance of an approval.
func (a Approvers) Demands() string {
	if a.Passkey {
		return "strong"
	}
	return a.Assurance
}

// An Escalation adds approvers to a request that has been pending for a time.
type Escalation struct {
	After time.Duration `json:"after"` // since the request was made; in JSON a text such as "15m"
	Roles []string      `json:"roles,omitempty"`
	Users []string      `json:"users,omitempty"`
}

// escalationJSON is the JSON of an Escalation.
type escalationJSON struct {
	After string   `json:"after"`
	Roles []string `json:"roles,omitempty"`
	Users []string `json:"users,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (e Escalation) MarshalJSON() ([]byte, error) {
	return json.Marshal(escalationJSON{e.After.String(), e.Roles, e.Users})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Escalation) UnmarshalJSON(b []byte) error {
	var j escalationJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("reading an escalation: %w", err)
	}
	after, err := time.ParseDuration(j.After)
	if err != nil {
		return fmt.Errorf("reading an escalation: %w", err)
	}
	*e = Escalation{after, j.Roles, j.Users}
	return nil
}

// RequestKind tells a yes-or-no question from a choice.
type RequestKind string

// The kinds of approval request.
const (
	RequestApproval RequestKind = "approval"
	RequestChoice   RequestKind = "choice"
)

// Option is one answer of a choice.
type Option struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Effect string `json:"effect,omitempty"` // "approve", "deny" or "steer"
	// Other says that the answer is a text of the person's own, which the agent
	// gets as instructions: it steers, whatever Effect says.
	Other bool `json:"other,omitempty"`
}

// The effects of an option. An empty one is to approve.
const (
	EffectApprove = "approve"
	EffectDeny    = "deny"
	EffectSteer   = "steer"
)

// TimeoutAction is what silence does. The zero value denies.
type TimeoutAction uint8

// What silence can do.
const (
	TimeoutDeny TimeoutAction = iota
	TimeoutApprove
)

// String returns "deny" or "approve".
func (t TimeoutAction) String() string {
	if t == TimeoutApprove {
		return "approve"
	}
	return "deny"
}

// MarshalText implements [encoding.TextMarshaler].
func (t TimeoutAction) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *TimeoutAction) UnmarshalText(b []byte) error {
	switch string(b) {
	case "deny":
		*t = TimeoutDeny
	case "approve":
		*t = TimeoutApprove
	default:
		return fmt.Errorf("unknown on_timeout %q: want deny or approve", b)
	}
	return nil
}

// DefaultHoldTimeout is how long a hold waits whose rule names no timeout.
const DefaultHoldTimeout = time.Hour
