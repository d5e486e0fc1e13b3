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

type exchangeState string

const (
	StateHolding    exchangeState = "holding"
	StateReady      exchangeState = "ready"
	StateDelivering exchangeState = "delivering"
	StateSpent      exchangeState = "spent"
	StateUnknown    exchangeState = "unknown"
)

// final reports whether nothing more happens. An unknown word is final.
func (s exchangeState) Final() bool {
	return s != StateHolding && s != StateReady && s != StateDelivering
}

// storedExchange is an exchange as stored.
type StoredExchange struct {
	Header

	ID       string          `json:"id"`
	Agent    string          `json:"agent"`
	Proven   bool            `json:"proven,omitempty"`
	Session  string          `json:"session"`
	Door     string          `json:"door"`
	Key      holdgate.Digest `json:"key"`
	Bytes    int64           `json:"bytes,omitempty"` // what its calls and its answer take
	State    exchangeState   `json:"state"`
	Due      time.Time       `json:"due,omitzero"` // while ready: when it is given up
	Requests []StoredRef     `json:"requests"`
	Body     *StoredBody     `json:"body,omitempty"`
	// Member is the life of the member whose connection takes part, where several work
	// on the store, and Turn how often one has begun to.
	Member string `json:"member,omitempty"`
	Turn   uint64 `json:"turn,omitempty"`
}

// storedRef is what an exchange knows of a request of its own. It changes in
// the same transaction as the request.
type StoredRef struct {
	ID       string          `json:"id"`
	Match    holdgate.Digest `json:"match"` // names what was asked: see Exchange.Ask
	Status   holdgate.Status `json:"status"`
	Used     bool            `json:"used,omitempty"`
	Borrowed bool            `json:"borrowed,omitempty"` // it is a request of another exchange: see Exchange.Borrow
	Edited   bool            `json:"edited,omitempty"`   // sealed arguments of it are stored
	Result   result          `json:"result,omitempty"`
}

// result is what became of an approval.
type result string

const (
	ResultSpent   result = "spent"
	resultUnknown result = "unknown"
	resultUnused  result = "unused"
)

// storedBody says how an answer is stored. Whole is false while it is written.
type StoredBody struct {
	Chunks int   `json:"chunks"` // of this answer
	Erase  int   `json:"erase"`  // the most chunks that any answer of the exchange had
	Whole  bool  `json:"whole"`
	Bytes  int64 `json:"bytes,omitempty"` // of the answer
}

// storedOpen is what the index must know of an exchange that is not final, so
// that opening the queue reads little.
type StoredOpen struct {
	Header

	Agent   string          `json:"agent"`
	Proven  bool            `json:"proven,omitempty"`
	Session string          `json:"session"`
	Door    string          `json:"door"`
	Key     holdgate.Digest `json:"key"`
	Bytes   int64           `json:"bytes,omitempty"`
	Sending bool            `json:"sending,omitempty"` // something was used, and its result is not known
	Member  string          `json:"member,omitempty"`
}

func (x *StoredExchange) asOpen() StoredOpen {
	return StoredOpen{
		Header: Current(), Agent: x.Agent, Proven: x.Proven, Session: x.Session, Door: x.Door, Key: x.Key, Bytes: x.Bytes,
		Sending: x.State == StateDelivering || x.InUse(), Member: x.Member,
	}
}

func (x *StoredExchange) Ref(id string) *StoredRef {
	i := slices.IndexFunc(x.Requests, func(r StoredRef) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &x.Requests[i]
}

func (x *StoredExchange) Pending() bool {
	return slices.ContainsFunc(x.Requests, func(r StoredRef) bool { return r.Status == holdgate.StatusPending })
}

// inUse reports whether an approval was used whose result is not known yet.
func (x *StoredExchange) InUse() bool {
	return slices.ContainsFunc(x.Requests, func(r StoredRef) bool { return r.Used && r.Result == "" })
}

// storedRequest is an approval request as stored.
type StoredRequest struct {
	Header

	ID            string                 `json:"id"`
	Exchange      string                 `json:"exchange"`
	Status        holdgate.Status        `json:"status"`
	Kind          holdgate.RequestKind   `json:"kind"`
	Gate          string                 `json:"gate,omitempty"`
	Risk          holdgate.Risk          `json:"risk,omitempty"`
	Rule          string                 `json:"rule"`
	Reason        string                 `json:"reason,omitempty"`
	Message       string                 `json:"message,omitempty"`
	Agent         string                 `json:"agent"`
	Proven        bool                   `json:"proven,omitempty"`
	Confinement   string                 `json:"confinement,omitempty"`
	Proofs        holdgate.Proofs        `json:"proofs,omitzero"`
	Labels        map[string]string      `json:"labels,omitempty"` // of the agent, but for its owner
	Session       string                 `json:"session"`
	Door          string                 `json:"door"`
	Call          storedCall             `json:"call"`
	Briefing      storedBriefing         `json:"briefing"`
	Options       []holdgate.Option      `json:"options,omitempty"`
	Allow         []string               `json:"allow,omitempty"`
	Required      bool                   `json:"required,omitempty"`
	Approvers     holdgate.Approvers     `json:"approvers,omitzero"`
	Created       time.Time              `json:"created"`
	Expires       time.Time              `json:"expires"`
	Timeout       time.Duration          `json:"timeout"` // nanoseconds
	OnTimeout     holdgate.TimeoutAction `json:"on_timeout"`
	SilenceDenied string                 `json:"loud,omitempty"`    // why silence denies, against the rule
	Told          bool                   `json:"told,omitempty"`    // a channel has shown it to people
	ToldBy        string                 `json:"told_by,omitempty"` // the life of the member that counts its silence
	Votes         []StoredVote           `json:"votes,omitempty"`
	Outcome       *holdgate.Outcome      `json:"outcome,omitempty"`
	Revision      string                 `json:"revision,omitempty"`
	Asked         uint64                 `json:"asked"` // the number of its first event
	Owner         string                 `json:"owner,omitempty"`
	Claim         *Claim                 `json:"claim,omitempty"`
	Delegations   []people.Delegation    `json:"delegations,omitempty"`
	Deferrals     []Deferral             `json:"deferrals,omitempty"`
	RunEnded      *time.Time             `json:"run_ended,omitempty"` // see [Request.RunEnded]
	Escalated     int                    `json:"escalated,omitempty"` // how many of Approvers.Escalate have come
	Also          []holdgate.Finding     `json:"also,omitempty"`
	Redact        []string               `json:"redact,omitempty"` // what of the input nobody is shown
	EditedFrom    string                 `json:"edited_from,omitempty"`
	Edit          *StoredEdit            `json:"edit,omitempty"` // where the outcome is an edit
	Similarity    *Similarity            `json:"likeness,omitempty"`
	Passes        bool                   `json:"passes,omitempty"` // an approval lets the session pass the gate
	Anew          bool                   `json:"anew,omitempty"`
	AboutTool     bool                   `json:"about_tool,omitempty"` // see [Request.AboutTool]
	Task          holdgate.Digest        `json:"task,omitempty"`       // that the agent works on; empty where it is not known
	Once          bool                   `json:"once,omitempty"`       // its approval answers for the session's later model requests
	Learn         holdgate.Learn         `json:"learn,omitzero"`       // what its approval may come to stand for
	Accepts       *StoredAccepts         `json:"accepts,omitempty"`    // the changed definition that its briefing shows
	Trace         string                 `json:"trace,omitempty"`      // see [Request.Trace]
}

// storedEdit is what a person made of a call, without what policy redacts. The
// arguments themselves are sealed under a key of their own.
type StoredEdit struct {
	Digest    holdgate.Digest `json:"digest"` // of the edited call
	Arguments []byte          `json:"arguments"`
}

// storedCall is the call of a request, without what policy redacts. Arguments
// are bytes, for a JSON encoder may rewrite JSON.
type storedCall struct {
	ID           string          `json:"id,omitempty"`
	Kind         holdgate.Kind   `json:"kind"`
	Position     int             `json:"position"`
	Tool         string          `json:"tool,omitempty"`
	IsTool       bool            `json:"is_tool,omitempty"`
	Server       string          `json:"server,omitempty"`
	Arguments    []byte          `json:"arguments,omitempty"`
	ArgumentsRaw []byte          `json:"arguments_raw,omitempty"`
	Model        string          `json:"model,omitempty"`
	MCP          string          `json:"mcp,omitempty"`
	HTTP         string          `json:"http,omitempty"`
	Gate         *storedGate     `json:"gate,omitempty"`
	Result       *storedResult   `json:"result,omitempty"`
	Digest       holdgate.Digest `json:"digest"`
}

// storedResult is what is kept of a result besides the briefing.
type storedResult struct {
	Size    int  `json:"size"`
	IsError bool `json:"is_error"`
}

// storedGate is the gate of a call.
type storedGate struct {
	Type      string          `json:"type"`
	Message   string          `json:"message,omitempty"`
	Context   json.RawMessage `json:"context,omitempty"`
	Artifacts []string        `json:"artifacts,omitempty"`
	Score     *float64        `json:"score,omitempty"`
}

func StoreGate(g *holdgate.Gate) storedGate {
	return storedGate{Type: g.Type, Message: g.Message, Context: g.Context, Artifacts: g.Artifacts, Score: g.Score}
}

// storedBriefing is a [Briefing] as stored: without the lines that its sections
// give.
type storedBriefing struct {
	Summary  string             `json:"summary"`
	Undo     string             `json:"undo,omitempty"`
	Effects  []holdgate.Effect  `json:"effects,omitempty"`
	Why      []string           `json:"why,omitempty"`
	Place    briefing.Place     `json:"place,omitzero"`
	Sections []briefing.Section `json:"sections,omitempty"`
	Details  []string           `json:"details,omitempty"` // of records that have no sections
	Hidden   int                `json:"hidden,omitempty"`
	Counts   briefing.Counts    `json:"counts,omitzero"`
	Whole    bool               `json:"whole,omitempty"`
}

func StoreBriefing(b briefing.Briefing) storedBriefing {
	return storedBriefing{Summary: b.Summary, Undo: b.Undo, Effects: b.Effects, Place: b.Place, Why: b.Why, Sections: b.Sections, Hidden: b.Hidden, Counts: b.Counts, Whole: b.Whole}
}

func (s storedBriefing) view() briefing.Briefing {
	b := briefing.Briefing{Summary: s.Summary, Undo: s.Undo, Effects: s.Effects, Place: s.Place, Why: s.Why, Sections: s.Sections, Details: s.Details, Hidden: s.Hidden, Counts: s.Counts, Whole: s.Whole}
	if len(s.Sections) > 0 {
		b.Details = briefing.Flatten(s.Sections)
	}
	return b
}

// storedVote is a [Vote] as stored.
type StoredVote struct {
	Decision     holdgate.Answer  `json:"decision"`
	By           string           `json:"by"`
	Channel      string           `json:"channel,omitempty"`
	Assurance    string           `json:"assurance,omitempty"`
	At           time.Time        `json:"at"`
	Digest       holdgate.Digest  `json:"digest,omitempty"`
	Reason       string           `json:"reason,omitempty"`
	Instructions string           `json:"instructions,omitempty"`
	Artifacts    []string         `json:"artifacts,omitempty"`
	Choice       string           `json:"choice,omitempty"`
	Account      string           `json:"account,omitempty"`
	Arguments    json.RawMessage  `json:"arguments,omitempty"`
	Rollback     bool             `json:"rollback,omitempty"`
	Stop         bool             `json:"stop,omitempty"`
	Signed       *audit.Signature `json:"-"` // it stands in the log
	Remember     *Remember        `json:"remember,omitempty"`
}

// A Similarity is what a request keeps of its call so that others can be
// compared with it. Where policy redacts something, it says nothing of the
// call but digests.
type Similarity struct {
	Like    holdgate.Digest `json:"like"`           // of the shape
	Same    holdgate.Digest `json:"same,omitempty"` // of all that an exact match compares; "" where nothing can
	Dir     string          `json:"dir,omitempty"`  // that it starts in
	Acts    bool            `json:"acts,omitempty"`
	Unclear []string        `json:"unclear,omitempty"`
	// Provided names the tools that run at a model's provider, and the provider.
	Provided holdgate.Digest `json:"provided,omitempty"`
	// Endpoint names the method and address of an HTTP request, without its query.
	Endpoint holdgate.Digest `json:"endpoint,omitempty"`
	// Pinned names the tool and what its server says of it, where the question is
	// about the tool itself.
	Pinned holdgate.Digest `json:"pinned,omitempty"`
	// Subject is who makes the call, where a gateway asks for others; "" elsewhere.
	Subject holdgate.Digest `json:"subject,omitempty"`
	// Prose names the arguments that Same leaves out.
	Prose []string `json:"prose,omitempty"`
	// Shape and Line are set where nothing is redacted.
	Shape *holdgate.Shape `json:"shape,omitempty"`
	Line  string          `json:"line,omitempty"`

	Whole holdgate.Shape `json:"-"` // of which nothing is redacted
}

// storedAccepts names the definition that approving a request accepts.
type StoredAccepts struct {
	Server     string `json:"server"`
	Tool       string `json:"tool"`
	Definition string `json:"definition"`
}
