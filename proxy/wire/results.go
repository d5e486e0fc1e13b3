package wire

import "encoding/json"

// A History is what a request says of what was done before it.
type History struct {
	// Begun says that the conversation did not begin with this request: it has
	// a turn of the model's, or goes on from one that the provider has kept.
	Begun   bool
	Results []Result // of the agent's own tools, in their order
}

// A Result is what a tool of the agent's gave back, and the call that it says
// it is of.
type Result struct {
	ID   string // of the call; empty where the format has none
	Tool string // its name; empty where the request does not have the call
	// Arguments is the JSON object that the call in the request has, or nil
	// where it has none.
	Arguments json.RawMessage
	Ended     Ended
}

// Ended says how a tool ended, as far as its result has a place for that: a text
// that reads like an error is none.
type Ended byte

// The ways for a tool to end.
const (
	EndedUnknown Ended = iota
	EndedWell
	EndedBadly
)

// EndedIn is [EndedBadly] or [EndedWell].
func EndedIn(failure bool) Ended {
	if failure {
		return EndedBadly
	}
	return EndedWell
}
