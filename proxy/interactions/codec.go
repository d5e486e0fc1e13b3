// Package interactions reads and rewrites Google's Interactions API: POST to a path that
// ends in /interactions, and what the provider keeps of an interaction, by GET below it.
// (Google's generateContent is the format of package gemini.)
//
// # Calls
//
// An answer is a list of steps. A step of type function_call is a call that the client
// runs, with its arguments as an object. The steps of the types that [providerCalls] names
// are calls that the provider has run; they are observed. In a stream a step has a
// step.start, some step.delta and a step.stop; a call's deltas are pieces of its arguments
// as a text. A start that has arguments itself is refused, for some clients do not read
// them there, and so is a call of a type that is not known. Answers in the schema of before
// May 2026, which has outputs in the place of steps, are refused.
//
// # What is withheld
//
// All events of a call, from its start to its stop, are one part. Events of another step
// between these are not understood, and end the answer.
//
// # What is rewritten
//
// As long as every call is released as it came, bytes pass unchanged. In the place of a
// refused call stands a step of type model_output with the notice. A note is such a step
// before its call; later steps are then numbered one higher. Where no call is left, the
// status requires_action becomes completed. An event that repeats the steps of the whole
// interaction has the same calls as came before, and is rewritten like them.
//
// # What the provider keeps
//
// The provider keeps an interaction unless the request says "store": false, with the calls
// in it, refused ones too, and waits for their results. The agent knows of no such call. So
// a request that names it as previous_interaction_id takes the results with it, first of
// all. Where the client keeps the steps itself, the notices in them become calls again. An
// interaction in the background is gated where it is fetched; one that is fetched from an
// event inside a call is refused.
package interactions

import (
	"github.com/holdgate/holdgate/proxy/wire"
)

// Codec is the format of interactions. The zero value is ready, and safe for concurrent
// use as long as nobody changes its field.
type Codec struct {
	// CallLimit is the greatest length in bytes of one call in a stream, with all its
	// events. Zero stands for [DefaultCallLimit].
	CallLimit int
}

// DefaultCallLimit is how long one call in a stream may be, in bytes with all its
// events, where a [Codec] names no limit.
const DefaultCallLimit = 8 << 20

// Name returns "interactions".
func (*Codec) Name() string { return "interactions" }

// roots are paths that are the API's own on any host.
var roots = []string{"/v1beta/interactions", "/v1beta1/interactions", "/v1alpha/interactions"}

// Match reports whether a request begins an interaction, or fetches or cancels one, by
// paths that are the API's own on any host.
func (*Codec) Match(method, path string) bool {
	for _, root := range roots {
		if wire.Posts(method, path, root) || fetches(method, path, root) {
			return true
		}
	}
	return false
}

// MatchHost does what Match does for paths that could be anything on a host that serves
// no models.
func (*Codec) MatchHost(method, path string) bool {
	return wire.Posts(method, path, "/interactions") || fetches(method, path, "/interactions")
}

// Fetches reports whether a request that matches is for an interaction that the provider
// has stored: GET /interactions/ID, and POST /interactions/ID/cancel.
func (*Codec) Fetches(method, path string) bool { return fetches(method, path, "/interactions") }

func fetches(method, path, root string) bool {
	return wire.Gets(method, path, root+"/*") || wire.Posts(method, path, root+"/*/cancel")
}

// Error returns an error body as the API writes it, with a code that fits the HTTP status.
func (*Codec) Error(status int, message string) []byte {
	return append(append([]byte(`{"error":`), errorObject(errorCode(status), message)...), '}')
}

func errorCode(status int) string {
	switch {
	case status == 401:
		return "unauthenticated"
	case status == 403:
		return "permission_denied"
	case status == 404:
		return "not_found"
	case status == 429:
		return "resource_exhausted"
	case status >= 500:
		return "internal_error"
	}
	return "invalid_request"
}

func errorObject(code, message string) []byte {
	return []byte(`{"code":"` + code + `","message":` + wire.Quote(message) + `}`)
}

// Stream starts reading a streamed answer.
func (c *Codec) Stream() wire.Stream { return c.stream() }

func (c *Codec) stream() *stream {
	limit := c.CallLimit
	if limit <= 0 {
		limit = DefaultCallLimit
	}
	return &stream{limit: limit, steps: make(map[int]*step)}
}
