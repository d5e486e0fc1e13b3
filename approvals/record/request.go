package record

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// A Request is a held call as people see it: on every surface, in every
// channel and in the API it is this JSON.
type Request struct {
	ID        string               `json:"id"`
	Exchange  string               `json:"exchange"`
	Status    holdgate.Status      `json:"status"`
	Kind      holdgate.RequestKind `json:"kind"`
	Gate      string               `json:"gate,omitempty"`
	Risk      holdgate.Risk        `json:"risk,omitempty"`
	Rule      string               `json:"rule"`
	Reason    string               `json:"reason,omitempty"`
	Message   string               `json:"message,omitempty"`
	Agent     AgentRef             `json:"agent"`
	Session   Ref                  `json:"session"`
	Door      string               `json:"door"`
	Call      CallView             `json:"call"`
	Briefing  briefing.Briefing    `json:"briefing"`
	Options   []holdgate.Option    `json:"options,omitempty"`
	Allow     []string             `json:"allow,omitempty"`
	Required  bool                 `json:"required,omitempty"`
	Approvers holdgate.Approvers   `json:"approvers,omitzero"`
	CreatedAt time.Time            `json:"created_at"`
	// ExpiresAt is when silence ends the request; while somebody has claimed
	// it, the earliest moment at which it could.
	ExpiresAt time.Time         `json:"expires_at"`
	OnTimeout string            `json:"on_timeout"`
	Votes     []Vote            `json:"votes"`
	Outcome   *holdgate.Outcome `json:"outcome,omitempty"`
	// Also lists the other rules that ask about the call: one answer is for all.
	Also []holdgate.Finding `json:"also,omitempty"`
	// Owner is whom the agent works for, where it is labelled so.
	Owner string `json:"owner,omitempty"`
	// NoApprover says, in words, why nobody there is can approve a pending
	// request: it can only be denied, steered or run out.
	NoApprover  string              `json:"no_approver,omitempty"`
	Claim       *Claim              `json:"claim,omitempty"`
	Delegations []people.Delegation `json:"delegations,omitempty"`
	// Deferrals say who has put it off, and until when: screens of theirs do not show
	// it before. Those that are over may be left.
	Deferrals []Deferral `json:"deferrals,omitempty"`
	// RunEnded is when the run of the agent ended that made the call. Nobody waits for the
	// answer since. It is nil where somebody may; an agent that makes the call again waits.
	RunEnded *time.Time `json:"run_ended,omitempty"`
	// Escalated counts the escalations of Approvers that have come.
	Escalated int `json:"escalated,omitempty"`
	// EditedFrom is the request whose answer gave the call its arguments.
	EditedFrom string `json:"edited_from,omitempty"`
	// Anew says that the question was taken back because the session has passed
	// the gate that the call waited for: policy decides the call once more.
	Anew bool `json:"anew,omitempty"`
	// Shape says in one line what sort of call it is; empty where that is not
	// known, or where policy redacts parts of the call.
	Shape string `json:"shape,omitempty"`
	// Prose names the arguments that only tell the user what a command is for: an approval
	// that is remembered for exactly this call covers it whatever they say.
	Prose []string `json:"prose,omitempty"`
	// Similar is what people have answered to the same call; nil where there was none.
	Similar *Similar `json:"similar,omitempty"`
	// AboutTool says that the question is about the tool itself, so that an approval
	// can be remembered for it (MatchTool), with any arguments.
	AboutTool bool `json:"about_tool,omitempty"`
	// OfTask says that it is known on which task of its user's the agent works, so that
	// an approval can be remembered for that ([ScopeTask]).
	OfTask bool `json:"of_task,omitempty"`
	// Revision names the policy that asked.
	Revision string `json:"revision,omitempty"`
	// Trace names the span of the agent's request that asked, as a traceparent of W3C Trace
	// Context; empty where there were no traces.
	Trace string `json:"-"`
}

// Answered reports whether the outcome is a full answer to the question. An
// edit under a quorum is none: the others have not seen what it made of the
// call, and must be asked about that.
func (r Request) Answered() bool {
	if r.Outcome == nil || r.Status != holdgate.StatusApproved {
		return false
	}
	return r.Outcome.Decision != holdgate.AnswerEdit || r.Approvers.Quorum <= 1
}

// Able are those of the people who may approve the pending request as it is. There
// are none where nobody is configured.
func (r Request) Able(p *people.People) []people.Person {
	return people.Eligibility{People: p, Approvers: r.Approvers, Owner: r.Owner, Widened: r.Escalated, Delegations: r.Delegations}.Able()
}

// A Claim says that somebody is looking at a request: silence does not end it
// before Until.
type Claim struct {
	By    string    `json:"by"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// A Deferral says that somebody does not want to be shown a request before Until, or
// before the request's session asks again where Next is set and that comes first.
type Deferral struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
	Next  bool      `json:"next_request,omitempty"`
}

// PutOff reports whether a person has put the request off for longer than now.
func (r Request) PutOff(by string, now time.Time) bool {
	return slices.ContainsFunc(r.Deferrals, func(d Deferral) bool { return d.By == by && d.Until.After(now) })
}

// Ref names something by its id.
type Ref struct {
	ID string `json:"id"`
}

// AgentRef names an agent and says how far the name can be trusted.
type AgentRef struct {
	ID          string `json:"id"`
	Proven      bool   `json:"proven"`
	Confinement string `json:"confinement,omitempty"`
}

// CallView is the call of a request. What policy redacts is not in it.
type CallView struct {
	ID       string        `json:"id,omitempty"`
	Kind     holdgate.Kind `json:"kind"`
	Position int           `json:"position"`
	Tool     *ToolView     `json:"tool,omitempty"`
	Model    string        `json:"model,omitempty"`
	MCP      string        `json:"mcp,omitempty"`  // "server method"
	HTTP     string        `json:"http,omitempty"` // "GET host/path"
	Gate     *GateView     `json:"gate,omitempty"`
	// Result is set where the question is whether the agent may have what the
	// call has brought: it was made already.
	Result *ResultView     `json:"result,omitempty"`
	Digest holdgate.Digest `json:"digest"`
}

// ResultView is a result as a request shows it; the briefing has its text.
type ResultView struct {
	Size    int  `json:"size"` // in bytes
	IsError bool `json:"is_error"`
}

// GateView is a gate as a request shows it: all of it is the agent's word.
type GateView struct {
	Type      string          `json:"type"`
	Message   string          `json:"message,omitempty"`
	Context   json.RawMessage `json:"context,omitempty"`
	Artifacts []string        `json:"artifacts,omitempty"`
	Score     *float64        `json:"score,omitempty"` // of the report that opened it, from 0 to 1
}

// ToolView is a tool call as a request shows it.
type ToolView struct {
	Name         string          `json:"name"`
	Server       string          `json:"server,omitempty"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	ArgumentsRaw string          `json:"arguments_raw,omitempty"`
}

// A Vote is one person's answer to a request.
type Vote struct {
	Decision holdgate.Answer `json:"decision"`
	// By is the person: from the credential, never from the body. A vote may
	// come with the name of an account, which becomes the person's.
	By      string `json:"by"`
	Channel string `json:"channel"` // "cli", "api", "terminal", "webhook", ...
	// Assurance is how sure that channel is of who speaks: "text",
	// "interactive", "local" or "strong". Empty counts as "text".
	Assurance    string          `json:"assurance,omitempty"`
	At           time.Time       `json:"at"`
	Digest       holdgate.Digest `json:"digest,omitempty"` // what was shown to the voter
	Reason       string          `json:"reason,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Artifacts    []string        `json:"artifacts,omitempty"`
	Choice       string          `json:"choice,omitempty"`
	// Account is the name under which the channel knows the person, where it
	// is another. It is set by the queue.
	Account string `json:"account,omitempty"`
	// Arguments are what edit puts in place of the call's: one JSON object. As
	// a request shows them, what policy redacts is not in them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Rollback  bool            `json:"rollback,omitempty"` // with deny
	Stop      bool            `json:"stop,omitempty"`     // with deny
	// Signed is what the voter signed with a passkey. It makes the assurance strong.
	Signed *audit.Signature `json:"-"`
	// Remember asks that the approval also stands for calls to come.
	Remember *Remember `json:"remember,omitempty"`
}

// Similar is what people have answered so far to other requests about the same call in the
// same folder, whichever agent made it. Two calls are the same where a grant for exactly
// this call would cover both: tool, server and arguments, but for what only describes a
// command; a call without a tool is the same where all of it is.
type Similar struct {
	Approved int `json:"approved,omitempty"` // as it was
	Denied   int `json:"denied,omitempty"`
	Steered  int `json:"steered,omitempty"`
	Edited   int `json:"edited,omitempty"` // another call went on in its place
	// Pending is how many others wait at the moment.
	Pending int       `json:"pending,omitempty"`
	LastAt  time.Time `json:"last_at,omitzero"`
	LastBy  string    `json:"last_by,omitempty"`
}

// Caller is who makes an exchange, and through which door.
type Caller struct {
	Agent   holdgate.Agent
	Session holdgate.Session
	Door    string
}
