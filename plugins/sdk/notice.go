package sdk

import (
	"slices"
	"time"
)

// The answers that people can give.
const (
	Approve = "approve"
	Deny    = "deny"
	Steer   = "steer"  // do something else instead; needs instructions
	Choose  = "choose" // one of the options
	Edit    = "edit"   // approve with other arguments
)

// What people can say besides, which decides nothing.
const (
	Claim   = "claim"   // somebody looks at it, so that silence does not end it for now
	Unclaim = "unclaim" // and no longer
	Seen    = "seen"    // somebody has opened it: it need not be brought to others yet
)

// What has happened to a request, as [Notice.Event] says it.
const (
	Requested = "requested"
	Escalated = "escalated" // more people may approve it, or nobody has looked at it elsewhere
	Voted     = "voted"
	Claimed   = "claimed"
	Unclaimed = "unclaimed"
	Delegated = "delegated"
	Extended  = "extended"
	Decided   = "decided"
)

// StatusPending is the status of a request that waits. Every other status is
// final.
const StatusPending = "pending"

// The risks of a request. Any other, and none, is to be treated as a high one.
const (
	RiskLow      = "low"
	RiskMedium   = "medium"
	RiskHigh     = "high"
	RiskCritical = "critical"
)

// A Notice is an approval request as one channel shows it. Every text in it is
// safe to show.
type Notice struct {
	// What an answer returns as it is.
	ID     string
	Nonce  string // of this request in this channel
	Digest string // of the call as it is shown

	Status   string // "pending", "approved", "denied", "steered", "expired", "cancelled"
	Kind     string // "approval" or "choice"
	Risk     string // "low", "medium", "high", "critical", or empty where unknown
	Gate     string
	Rule     string // the policy rule that asks
	Reason   string
	Message  string
	Agent    Agent
	Session  string
	Door     string
	Call     Call
	Summary  string   // one line, made from the call and never by the agent
	Subject  string   // what it is about, in words that a person can type: a folder, a table, ...
	Undo     string   // whether what it does can be taken back, in words
	Place    []Fact   // where it happens and for whom
	Why      []string // why policy asks, the rule first
	Sections []Section
	Details  []string // the lines of Sections, for channels that show no sections
	Hidden   int      // how many values and characters they leave out
	Counts   Counts
	// Whole says that nothing of the call is missing, unreadable or pretends to
	// be something else. Where it is false nobody may approve here.
	Whole     bool
	Options   []Option // of a choice
	Answers   []string // what this channel may answer: [Approve], [Deny], ...
	Closed    string   // where it may not approve or choose: why, and where one can
	CreatedAt time.Time
	ExpiresAt time.Time
	OnTimeout string   // what silence does: "deny" or "approve"
	Quorum    int      // how many people it takes to approve
	Votes     int      // how many have approved so far
	Approved  []string // who they are
	People    []string // who may answer and who looks at it, in words
	Warnings  []string // what a person must know first, in words
	Similar   string   // what became of calls like this one, in words
	Edited    string   // where the arguments come from, if not from the agent, in words
	Outcome   *Outcome

	// Event is what has happened: [Requested], [Voted], ... Empty where Holdgate
	// is older than this field.
	Event string
	// Thread is the same for all requests of one session of one agent.
	Thread string
	Cast   []Vote // every vote so far, oldest first
	Claim  *Lease // who looks at it just now
	// To are the users of this channel who are to be told, by the names that
	// answers give them; empty: whom the channel's configuration names.
	To []string
	// Voters are the users of this channel who may approve it, by the same names,
	// of the people in Holdgate's configuration. Empty where that names nobody who
	// may, or nobody in this channel.
	Voters []string
	// Editable is the call's arguments where [Edit] may be answered: JSON, with
	// the characters that do not show written as \u escapes.
	Editable string
	Waiting  int // how many other requests wait that this channel tells of later
}

// Ended reports whether the request needs no answer any more.
func (n *Notice) Ended() bool { return n.Status != StatusPending }

// Left is how long people have to answer, never less than nothing.
func (n *Notice) Left(now time.Time) time.Duration { return max(n.ExpiresAt.Sub(now), 0) }

// May reports whether the channel may give the answer.
func (n *Notice) May(answer string) bool { return slices.Contains(n.Answers, answer) }

// Answer returns an answer to the notice, with what binds it.
func (n *Notice) Answer(decision, by string) Answer {
	return Answer{ID: n.ID, Nonce: n.Nonce, Digest: n.Digest, Decision: decision, By: by}
}

// Agent is who makes the call.
type Agent struct {
	ID          string
	Proven      bool   // by a credential or its process, rather than asserted
	Confinement string // "strong", "weak", "unconfined", or empty where unknown
}

// Call is what is asked about.
type Call struct {
	Kind      string   // "tool_call", "model_request", ...
	Target    string   // the tool, model, method or address
	Server    string   // of an MCP tool
	Arguments []string // as indented JSON, line by line
	Cut       int      // how many characters of the arguments are left out
}

// A Fact is one thing that is known of a request, by a name such as "folder".
type Fact struct{ Name, Text string }

// Section is one part of a call, as it is to be shown.
type Section struct {
	Title string
	Kind  string // "command", "diff", "sql", "arguments", "before" or [KindSaid]
	Lines []string
}

// KindSaid is the kind of the section with the agent's own account of the call,
// which nobody has checked. It must not look like the others.
const KindSaid = "agent_says"

// TitleSaid is the title of such a section that has no name of its own.
const TitleSaid = "the agent says"

// Counts say how much of a call a reader cannot know.
type Counts struct {
	Unresolved int // words that are not known before it runs
	Unbound    int // files that it runs whose content nobody was shown
	Redacted   int // values that policy hides
	Cut        int // characters that are left out
	Commands   int // simple commands that are not listed
}

// Option is one answer of a choice.
type Option struct {
	ID     string
	Label  string
	Effect string // "approve", "deny" or "steer"
	Other  bool   // the answer is a text of the person's own, in [Answer.Instructions]
}

// Vote is what one person has answered.
type Vote struct {
	Decision string
	By       string
	Channel  string
	At       time.Time
	Reason   string
}

// Lease says that somebody looks at a request: until then silence does not end
// it.
type Lease struct {
	By    string
	Until time.Time
}

// Outcome is how a request ended.
type Outcome struct {
	Decision     string // an answer of people, "timeout" or "cancel"
	By           string
	At           time.Time
	Reason       string
	Instructions string
	Choice       string
}

// An Answer is what one person says to a request.
type Answer struct {
	ID, Nonce, Digest string // those of the notice
	Decision          string // [Approve], [Deny], [Steer], [Choose] or [Edit]; or [Claim], [Unclaim] or [Seen]
	By                string // the person, as the channel knows them; [Seen] needs none
	Reason            string
	Instructions      string // of [Steer], and of [Choose] where the option is [Option.Other]
	Choice            string // of [Choose]: the option's id
	Arguments         string // of [Edit]: all of the new arguments, a JSON object
	// Assurance says how sure the channel is of this person, where that is less
	// than what [Info] says of the channel: of a reply to a mail, say. More than
	// that counts for nothing.
	Assurance Assurance
}
