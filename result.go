package holdgate

import "encoding/json"

// A Result is what a call of an MCP server has brought, where policy is asked
// about that too. It has not reached the agent.
type Result struct {
	// Body is the result, or the error that came in its place, exactly as the
	// server wrote it. It is strict JSON.
	Body    json.RawMessage
	IsError bool
	// Text is what the body says, a line for each text in it; Cut says that it
	// is not all of that.
	Text string
	Cut  bool
	// Secrets are the credentials in the body. Unread says that not all of it
	// could be searched for them.
	Secrets []FoundSecret
	Unread  bool
}

// A FoundSecret is a credential in one text of a JSON document.
type FoundSecret struct {
	Kind    string
	Pointer string // of the text, or of the member whose name it is
	Name    bool   // the text is a member's name
	// Start and End bound it in the text, in bytes. Of a text that is encoded
	// data all is meant.
	Start, End int
	Encoded    bool
}
