package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store"
)

// Keys: see the package comment.
const (
	prefixExchange = "exchange/"
	prefixBody     = "exchange-body/"
	prefixRequest  = "request/"
	prefixPending  = "pending/"
	prefixAsked    = "asked/"
	prefixUsed     = "used/"
	prefixOpen     = "open/"
	prefixDue      = "due/"
	prefixOutbox   = "outbox/"
	prefixConsumer = "consumer/"
	prefixDelivery = "delivery/"
	prefixEdited   = "edited/"
	prefixDone     = "done/"
	prefixGrant    = "grant/"
	prefixGrantOf  = "grant-of/"
	prefixShape    = "shape/"
	prefixAgent    = "agent/"
	prefixTool     = "tool/"
	prefixPass     = "pass/"
	prefixLesson   = "lesson/"

	prefixToolServer = "tool-server/"

	prefixTask     = "task/"
	prefixTaskPart = "task-part/"
	prefixTaskOf   = "task-of/"
	prefixTaskEnd  = "task-end/"

	prefixRefused   = "refused/"
	prefixRefusedAt = "refused-at/"
)

// recordVersion is that of all records here. A record of another version is
// refused rather than guessed at.
const recordVersion = 1

// A header begins every record.
type header struct {
	V int `json:"v"`
}

func (h header) version() int { return h.V }

// A record can be read back by whoever knows its version.
type record interface{ version() int }

// current is the header of a record that is written now.
func current() header { return header{recordVersion} }

type exchangeState string

const (
	stateHolding    exchangeState = "holding"
	stateReady      exchangeState = "ready"
	stateDelivering exchangeState = "delivering"
	stateSpent      exchangeState = "spent"
	stateUnknown    exchangeState = "unknown"
)

// final reports whether nothing more happens. An unknown word is final.
func (s exchangeState) final() bool {
	return s != stateHolding && s != stateReady && s != stateDelivering
}

// storedExchange is an exchange as stored.
type storedExchange struct {
	header

	ID       string          `json:"id"`
	Agent    string          `json:"agent"`
	Proven   bool            `json:"proven,omitempty"`
	Session  string          `json:"session"`
	Door     string          `json:"door"`
	Key      holdgate.Digest `json:"key"`
	Bytes    int64           `json:"bytes,omitempty"` // what its calls and its answer take
	State    exchangeState   `json:"state"`
	Due      time.Time       `json:"due,omitzero"` // while ready: when it is given up
	Requests []storedRef     `json:"requests"`
	Body     *storedBody     `json:"body,omitempty"`
}

// storedRef is what an exchange knows of a request of its own. It changes in
// the same transaction as the request.
type storedRef struct {
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
	resultSpent   result = "spent"
	resultUnknown result = "unknown"
	resultUnused  result = "unused"
)

// storedBody says how an answer is stored. Whole is false while it is written.
type storedBody struct {
	Chunks int   `json:"chunks"` // of this answer
	Erase  int   `json:"erase"`  // the most chunks that any answer of the exchange had
	Whole  bool  `json:"whole"`
	Bytes  int64 `json:"bytes,omitempty"` // of the answer
}

// storedOpen is what the index must know of an exchange that is not final, so
// that opening the queue reads little.
type storedOpen struct {
	header

	Agent   string          `json:"agent"`
	Proven  bool            `json:"proven,omitempty"`
	Session string          `json:"session"`
	Door    string          `json:"door"`
	Key     holdgate.Digest `json:"key"`
	Bytes   int64           `json:"bytes,omitempty"`
	Sending bool            `json:"sending,omitempty"` // something was used, and its result is not known
}

func (x *storedExchange) open() storedOpen {
	return storedOpen{
		header: current(), Agent: x.Agent, Proven: x.Proven, Session: x.Session, Door: x.Door, Key: x.Key, Bytes: x.Bytes,
		Sending: x.State == stateDelivering || x.inUse(),
	}
}

func (x *storedExchange) ref(id string) *storedRef {
	i := slices.IndexFunc(x.Requests, func(r storedRef) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &x.Requests[i]
}

func (x *storedExchange) pending() bool {
	return slices.ContainsFunc(x.Requests, func(r storedRef) bool { return r.Status == holdgate.StatusPending })
}

// inUse reports whether an approval was used whose result is not known yet.
func (x *storedExchange) inUse() bool {
	return slices.ContainsFunc(x.Requests, func(r storedRef) bool { return r.Used && r.Result == "" })
}

// storedRequest is an approval request as stored.
type storedRequest struct {
	header

	ID          string                 `json:"id"`
	Exchange    string                 `json:"exchange"`
	Status      holdgate.Status        `json:"status"`
	Kind        holdgate.RequestKind   `json:"kind"`
	Gate        string                 `json:"gate,omitempty"`
	Risk        holdgate.Risk          `json:"risk,omitempty"`
	Rule        string                 `json:"rule"`
	Reason      string                 `json:"reason,omitempty"`
	Message     string                 `json:"message,omitempty"`
	Agent       string                 `json:"agent"`
	Proven      bool                   `json:"proven,omitempty"`
	Confinement string                 `json:"confinement,omitempty"`
	Session     string                 `json:"session"`
	Door        string                 `json:"door"`
	Call        storedCall             `json:"call"`
	Briefing    storedBriefing         `json:"briefing"`
	Options     []holdgate.Option      `json:"options,omitempty"`
	Allow       []string               `json:"allow,omitempty"`
	Required    bool                   `json:"required,omitempty"`
	Approvers   holdgate.Approvers     `json:"approvers,omitzero"`
	Created     time.Time              `json:"created"`
	Expires     time.Time              `json:"expires"`
	Timeout     time.Duration          `json:"timeout"` // nanoseconds
	OnTimeout   holdgate.TimeoutAction `json:"on_timeout"`
	Loud        string                 `json:"loud,omitempty"` // why silence denies, against the rule
	Told        bool                   `json:"told,omitempty"` // a channel has shown it to people
	Votes       []storedVote           `json:"votes,omitempty"`
	Outcome     *holdgate.Outcome      `json:"outcome,omitempty"`
	Revision    string                 `json:"revision,omitempty"`
	Asked       uint64                 `json:"asked"` // the number of its first event
	Owner       string                 `json:"owner,omitempty"`
	Claim       *Claim                 `json:"claim,omitempty"`
	Delegations []people.Delegation    `json:"delegations,omitempty"`
	Escalated   int                    `json:"escalated,omitempty"` // how many of Approvers.Escalate have come
	Also        []holdgate.Finding     `json:"also,omitempty"`
	Redact      []string               `json:"redact,omitempty"` // what of the input nobody is shown
	EditedFrom  string                 `json:"edited_from,omitempty"`
	Edit        *storedEdit            `json:"edit,omitempty"` // where the outcome is an edit
	Likeness    *likeness              `json:"likeness,omitempty"`
	Passes      bool                   `json:"passes,omitempty"` // an approval lets the session pass the gate
	Anew        bool                   `json:"anew,omitempty"`
	Once        bool                   `json:"once,omitempty"`    // its approval answers for the session's later model requests
	Learn       holdgate.Learn         `json:"learn,omitzero"`    // what its approval may come to stand for
	Accepts     *storedAccepts         `json:"accepts,omitempty"` // the changed definition that its briefing shows
}

// storedEdit is what a person made of a call, without what policy redacts. The
// arguments themselves are sealed under a key of their own.
type storedEdit struct {
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

func storeGate(g *holdgate.Gate) storedGate {
	return storedGate{Type: g.Type, Message: g.Message, Context: g.Context, Artifacts: g.Artifacts, Score: g.Score}
}

// storedBriefing is a [Briefing] as stored: without the lines that its sections
// give.
type storedBriefing struct {
	Summary  string             `json:"summary"`
	Why      []string           `json:"why,omitempty"`
	Sections []briefing.Section `json:"sections,omitempty"`
	Details  []string           `json:"details,omitempty"` // of records that have no sections
	Hidden   int                `json:"hidden,omitempty"`
	Counts   briefing.Counts    `json:"counts,omitzero"`
	Whole    bool               `json:"whole,omitempty"`
}

func storeBriefing(b Briefing) storedBriefing {
	return storedBriefing{Summary: b.Summary, Why: b.Why, Sections: b.Sections, Hidden: b.Hidden, Counts: b.Counts, Whole: b.Whole}
}

func (s storedBriefing) view() Briefing {
	b := Briefing{Summary: s.Summary, Why: s.Why, Sections: s.Sections, Details: s.Details, Hidden: s.Hidden, Counts: s.Counts, Whole: s.Whole}
	if len(s.Sections) > 0 {
		b.Details = briefing.Flatten(s.Sections)
	}
	return b
}

// storedVote is a [Vote] as stored.
type storedVote struct {
	Decision     holdgate.Answer `json:"decision"`
	By           string          `json:"by"`
	Channel      string          `json:"channel,omitempty"`
	Assurance    string          `json:"assurance,omitempty"`
	At           time.Time       `json:"at"`
	Digest       holdgate.Digest `json:"digest,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Artifacts    []string        `json:"artifacts,omitempty"`
	Choice       string          `json:"choice,omitempty"`
	Account      string          `json:"account,omitempty"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	Rollback     bool            `json:"rollback,omitempty"`
	Stop         bool            `json:"stop,omitempty"`
	Remember     *Remember       `json:"remember,omitempty"`
}

// circle is who of the people may approve the request.
func (r *storedRequest) circle(p *people.People) people.Circle {
	return people.Circle{People: p, Approvers: r.Approvers, Owner: r.Owner, Widened: r.Escalated, Delegations: r.Delegations}
}

// view is the request as people see it, where there are these people.
func (r *storedRequest) view(p *people.People) Request {
	v := Request{
		ID: r.ID, Exchange: r.Exchange, Status: r.Status, Kind: r.Kind, Gate: r.Gate, Risk: r.Risk,
		Rule: r.Rule, Reason: r.Reason, Message: r.Message,
		Agent:   AgentRef{ID: r.Agent, Proven: r.Proven, Confinement: r.Confinement},
		Session: Ref{ID: r.Session}, Door: r.Door,
		Call: r.Call.view(), Briefing: r.Briefing.view(),
		Options: r.Options, Allow: r.Allow, Required: r.Required, Approvers: r.Approvers,
		CreatedAt: r.Created, ExpiresAt: r.Expires, OnTimeout: r.OnTimeout.String(),
		Votes: make([]Vote, 0, len(r.Votes)), Outcome: r.Outcome, Revision: r.Revision,
		Also: r.Also, Owner: r.Owner, Claim: r.Claim, Delegations: slices.Clone(r.Delegations), Escalated: r.Escalated, EditedFrom: r.EditedFrom, Anew: r.Anew,
	}
	for _, vote := range r.Votes {
		v.Votes = append(v.Votes, Vote(vote))
	}
	if r.Edit != nil && r.Outcome != nil {
		r.showEdit(&v)
	}
	if r.Loud != "" {
		v.Briefing.Why = append(slices.Clip(v.Briefing.Why), r.Loud)
	}
	if r.Likeness != nil {
		v.Shape = r.Likeness.Line
	}
	if r.Status.Final() {
		return v
	}
	if r.Claim != nil {
		v.ExpiresAt = r.Claim.Until.Add(r.Timeout)
	}
	if err := r.circle(p).Check(); err != nil {
		v.NoApprover = "nobody can approve this: " + err.Error()
	}
	return v
}

// showEdit puts the edited arguments where people look for them.
func (r *storedRequest) showEdit(v *Request) {
	o := *r.Outcome
	o.Arguments = r.Edit.Arguments
	v.Outcome = &o
	if last := len(v.Votes) - 1; last >= 0 {
		v.Votes[last].Arguments = r.Edit.Arguments
	}
}

func (c *storedCall) view() CallView {
	v := CallView{ID: c.ID, Kind: c.Kind, Position: c.Position, Model: c.Model, MCP: c.MCP, HTTP: c.HTTP, Digest: c.Digest}
	if c.Gate != nil {
		g := GateView(*c.Gate)
		v.Gate = &g
	}
	if c.Result != nil {
		r := ResultView(*c.Result)
		v.Result = &r
	}
	if c.IsTool {
		v.Tool = &ToolView{Name: c.Tool, Server: c.Server, Arguments: c.Arguments, ArgumentsRaw: string(c.ArgumentsRaw)}
	}
	return v
}

// storeCall is the call as a request keeps it.
func storeCall(c holdgate.Call, digest holdgate.Digest) storedCall {
	s := storedCall{ID: strings.ToValidUTF8(c.ID, "\uFFFD"), Kind: c.Kind, Position: c.Position, Digest: digest}
	switch {
	case c.Tool != nil:
		s.IsTool, s.Tool, s.Server = true, c.Tool.Name, c.Tool.Server
		s.Arguments, s.ArgumentsRaw = c.Tool.Arguments, []byte(c.Tool.ArgumentsRaw)
	case c.Model != nil:
		s.Model = c.Model.Name
	case c.MCP != nil:
		s.MCP = c.MCP.Server + " " + c.MCP.Method
	case c.Gate != nil:
		g := storeGate(c.Gate)
		s.Gate = &g
	case c.HTTP != nil:
		s.HTTP = c.HTTP.Method + " " + c.HTTP.Host + c.HTTP.Path
	}
	if c.Result != nil {
		s.Result = &storedResult{Size: len(c.Result.Body), IsError: c.Result.IsError}
	}
	return s
}

// read decodes the record at key. It returns store.ErrNotFound where there is
// none.
func read(tx store.Tx, key string, into record) error {
	raw, err := tx.Get(key)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	return decode(key, raw, into)
}

func decode(key string, raw []byte, into record) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	if v := into.version(); v != recordVersion {
		return fmt.Errorf("reading %s: version %d of the record is not known here", key, v)
	}
	return nil
}

func write(tx store.Tx, key string, r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", key, err)
	}
	if err := tx.Set(key, raw); err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	return nil
}

func usedKey(request, door string) string { return prefixUsed + request + "/" + door }

func chunkKey(exchange string, n int) string {
	return prefixBody + exchange + "/" + store.Seq(uint64(n))
}
