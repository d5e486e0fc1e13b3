package holdgate

import (
	"encoding/json"
	"time"
)

// Kind says what sort of thing a [Call] is. A call is evaluated once, under
// the most specific kind that applies.
type Kind string

// The kinds of call that policy can see.
const (
	KindToolCall     Kind = "tool_call"
	KindModelRequest Kind = "model_request"
	KindHTTPRequest  Kind = "http_request"
	KindMCPRequest   Kind = "mcp_request"
	KindGate         Kind = "gate"
	KindMessage      Kind = "message"
)

// A Call is one tool call, model request, HTTP request or gate, as policy
// sees it. Exactly the part that fits its Kind is set.
//
// A Call is a value: whoever receives one may keep it, and nobody changes it
// afterwards.
type Call struct {
	// ID is the provider's or the client's own id of the call. It is not
	// unique and proves nothing: some providers send the same id in every
	// response, others send none.
	ID       string
	Kind     Kind
	Position int // place among the calls of its exchange, from 0
	Door     string
	Agent    Agent
	Session  Session
	Time     time.Time

	Tool  *Tool
	Model *Model
	MCP   *MCP
	HTTP  *HTTP
	Gate  *Gate

	// Credential names what Holdgate will put into the request on its way out;
	// empty: nothing.
	Credential string

	// Account is "own" where the request goes to a model's host on the account of
	// the agent's run, and "new" where it shows another, or asks a model without a key
	// where the configuration names no upstream; empty where a request that asks no
	// model shows none, or nobody tells them apart.
	Account string

	// Access is what a policy enforcement point asks about; nil for a call that an
	// agent makes by itself.
	Access *Access

	// Result is set where the question is no longer whether the call may be
	// made, but whether the agent may have what it has brought.
	Result *Result
}

// Access is for whom a policy enforcement point, such as a gateway, asks whether a
// call may be made. The point is the call's Agent.
type Access struct {
	// Subject and Context are JSON objects exactly as they were written; Context is nil
	// where there is none.
	Subject, Context json.RawMessage
	// Proven says that the configuration takes this point's word for the subject.
	Proven bool
}

// Agent is who makes a call.
type Agent struct {
	ID string
	// Proven says that the identity rests on a credential or on the process
	// tree of `holdgate run`, not on the agent's word.
	Proven bool
	// Confinement is "strong", "weak" or "unconfined"; empty where the agent
	// was not started by `holdgate run`.
	Confinement string
	Proofs
	// Starter is the person who started the agent with `holdgate run`; empty
	// where nobody is known to.
	Starter string
	Labels  map[string]string
}

// Proofs are what `holdgate run` has proven of an agent that it confines
// strongly. What was not proven is false.
type Proofs struct {
	Undo    bool `json:"undo,omitzero"`    // what it changes in its working folder can be taken back
	Private bool `json:"private,omitzero"` // what it changes elsewhere is gone when it ends
	Hidden  bool `json:"hidden,omitzero"`  // credentials in its folder, the user's home and the environment are hidden from it
	Network bool `json:"network,omitzero"` // all that it sends is read and judged, questions for names included
	Keys    bool `json:"keys,omitzero"`    // Call.Account tells its own account at a model's host from others
}

// Of are the proofs that hold under a confinement.
func (p Proofs) Of(confinement string) Proofs {
	if confinement != "strong" {
		return Proofs{}
	}
	return p
}

// Session is one run of an agent, as the client itself names it.
type Session struct {
	ID string
}

// Tool is a call of a tool, wherever it runs.
type Tool struct {
	Name   string
	Server string // the MCP server's name; empty for an agent's own tool
	// Arguments is the JSON object exactly as it was written, or nil where
	// what came is no JSON object: then ArgumentsRaw holds it as text.
	Arguments    json.RawMessage
	ArgumentsRaw string
	// Learned is what the tool's MCP server says of it; nil where it has said
	// nothing, or the name stands for no one server's tool.
	Learned *Learned
}

// Model is a request to a model.
type Model struct {
	Provider string
	Name     string
	Stream   bool
	// Host is where the model is asked, with port where it is not the scheme's own, and
	// HostKnown says that the configuration names it as one that serves models, or that
	// it is a provider's.
	Host      string
	HostKnown bool
	// Tools are the names of the tools that the agent offers and runs itself.
	Tools []string
	// ServerTools are the tools that the provider runs on its own side: no
	// gate of ours sees their calls before they have run.
	ServerTools []ServerTool
	// Unapproved are results in the request of calls that Holdgate did not let
	// go on.
	Unapproved []Unapproved
}

// Unapproved is a tool's result that an agent shows to its model although the
// call was not let go on.
type Unapproved struct {
	ID   string // of the call, as the agent says; empty where the format has none
	Tool string // as the agent says; empty where it does not
	Why  string // [UnapprovedRefused], [UnapprovedHeld] or [UnapprovedUnseen]
}

// What is known of a call whose result should not be there.
const (
	UnapprovedRefused = "refused" // it was refused
	UnapprovedHeld    = "held"    // people have not decided yet
	UnapprovedUnseen  = "unseen"  // no model has asked for it where Holdgate could see
)

// ServerTool is a tool that the model's provider runs.
type ServerTool struct {
	Type string // the provider's own type name
	Name string
	URL  string // for a hosted MCP server
}

// MCP is a request of the Model Context Protocol other than a tool call.
type MCP struct {
	Server string // the server's configured name
	Method string
	// Name is what the request is about: a resource's URI, a prompt's name.
	Name   string
	Params json.RawMessage
	// FromServer says that the server asks the client, and Answer that the
	// client answers what the server asked: Method is the server's, and Params
	// the answer.
	FromServer, Answer bool
}

// Gate is a checkpoint of an agent's work, which people let it pass or not.
type Gate struct {
	Type    string // its name, such as "before_commit"
	Kind    RequestKind
	Message string // what the agent asks
	Options []Option
	// Context is what the agent shows, as a JSON object exactly as it was written;
	// nil where it shows nothing.
	Context   json.RawMessage
	Artifacts []string      // files and other things that it is about
	Timeout   time.Duration // that the agent asks for; 0: the gate's own
	// Score is the agent's confidence, from 0 to 1, at a gate that a report has
	// opened; nil at any other.
	Score *float64
}

// HTTP is a request to a host that speaks no format known to Holdgate.
type HTTP struct {
	Method string
	Scheme string
	Host   string // as dialled, with port where it is not the scheme's own
	Path   string
	Query  string
	// MethodOverride is the method, in upper case, that a header or the query asks
	// the server to take in the place of Method, where it is another one; else
	// empty. Some frameworks heed it.
	MethodOverride string
	// Unresolved says why two servers could take the request for two different
	// ones, as the names that begin with Unresolved; empty where they can't.
	Unresolved []string
	// Upgrade is "websocket" where the request asks to change to that protocol,
	// whose frames nobody sees; else empty.
	Upgrade string
	// Action is the operation that a request to AWS names besides its path, and
	// Operation what the request is called by the tables of the policy in force,
	// such as "github.repos.delete"; empty where there is none.
	Action    string
	Operation string
	// LooksLike is [LooksLikeModelAPI] where the request looks like one of a
	// model API that Holdgate can't read, so that calls in its answers go unseen;
	// else empty.
	LooksLike string
	// Body is what a held request carries; nil where it carries nothing, or was not
	// read because it is not held.
	Body *HTTPBody
}

// An HTTPBody is the body of a request, as people are shown it.
type HTTPBody struct {
	Type string // Content-Type, and Content-Encoding where there is one
	Size int    // in bytes
	// Text is what it says from its beginning on, without credentials; empty where
	// it is no text in UTF-8, or is encoded.
	Text      string
	Rest      int    // characters behind Text, or bytes where there is no Text, that are left out
	Concealed bool   // credentials were taken out of Text
	SHA256    string // of all of it, in hex; empty where a guess at what is hidden could be tried on it
}

// LooksLikeModelAPI says of an HTTP request that it looks like one of a model
// API.
const LooksLikeModelAPI = "model_api"

// What keeps an HTTP request from being the same to all servers. All but the
// last two are of the path.
const (
	UnresolvedSlash     = "encoded_slash" // a slash or backslash as an escape
	UnresolvedEscape    = "double_escape" // what is unescaped holds escapes again
	UnresolvedBackslash = "backslash"
	UnresolvedDots      = "dot_segment"
	UnresolvedEmpty     = "empty_segment" // two slashes in a row
	UnresolvedParameter = "parameter"     // a semicolon, at which some servers cut
	UnresolvedBytes     = "bytes"         // control characters, or what is not UTF-8
	UnresolvedURL       = "url_override"  // a header names another path
	UnresolvedMethod    = "method_override"
)

// AgentDefault and SessionDefault are used where a caller names nothing.
const (
	AgentDefault   = "default"
	SessionDefault = "default"
)
