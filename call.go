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
	Labels      map[string]string
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
}

// Model is a request to a model.
type Model struct {
	Provider string
	Name     string
	Stream   bool
	// Tools are the names of the tools that the agent offers and runs itself.
	Tools []string
	// ServerTools are the tools that the provider runs on its own side: no
	// gate of ours sees their calls before they have run.
	ServerTools []ServerTool
}

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
}

// HTTP is a request to a host that speaks no format known to Holdgate.
type HTTP struct {
	Method string
	Scheme string
	Host   string // as dialled, with port where it is not the scheme's own
	Path   string
	Query  string
}

// AgentDefault and SessionDefault are used where a caller names nothing.
const (
	AgentDefault   = "default"
	SessionDefault = "default"
)
