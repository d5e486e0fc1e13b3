// Package responses reads and rewrites the Responses API of OpenAI, which
// other providers speak too: plain answers, answers streamed as server-sent
// events, and answers that are fetched later.
//
// # Calls
//
// An answer is a list of items. An item is a call that the client runs where
// its type is function_call, custom_tool_call, local_shell_call, shell_call,
// apply_patch_call, computer_call or tool_search_call, or where an unknown type
// looks like one. A shell_call in a container and a tool_search_call of the
// server, and web_search_call, mcp_call and their like, were run by the
// provider: they are observed. An mcp_approval_request is a call too: the
// provider runs the tool of a hosted MCP server once the client, in its next
// request, says yes, and a client that never saw the question cannot.
//
// Policy sees the JSON text of a function_call as arguments, the free text of a
// custom_tool_call as raw arguments, and of a shell, patch or computer call the
// object that says what is to be done, under the tool's name: local_shell,
// shell, apply_patch, computer, tool_search. The name of a function in a
// namespace comes with that, as clients write it: namespace__name. Of an
// unknown type the name is the type and the arguments are all that it says.
//
// # A stream
//
// One item comes many times over: in response.output_item.added, in deltas and
// their done event, in response.output_item.done, and in the snapshot of the
// whole response that ends the stream. Clients differ in which of these they
// read, and run a call as soon as they have read it. So a call is withheld
// from the first of its events to its output_item.done, or to the end of the
// response where it has none. What was withheld together is one group: where
// items interleave, the last part of a group carries all the bytes, the ones
// before it none. A call that only a snapshot has is decided there.
//
// All copies of a call must say the same, else the answer is refused. Items
// are told apart by their output_index, for some providers give an item
// another id in every event; what tells calls apart beyond that is call_id.
//
// # What is rewritten
//
// What was released as it came is sent byte for byte. In the place of a
// refused call stands a message, with the same output_index, in the events that
// a message has, and in the snapshot. A call with other arguments has them in
// every copy. A note is a message before its call, and the items that follow
// are numbered one higher. Once events have been added or left out, those that
// follow get other sequence numbers, without a gap.
//
// While a call waits, a keepalive event is the no-op that clients count as
// progress. It repeats the last sequence number, so that it changes nothing of
// what follows. Before the first event it is a comment, for some clients want
// response.created before anything else.
package responses

import (
	"net/http"

	"github.com/holdgate/holdgate/proxy/wire"
)

// DefaultCallLimit is how long the arguments of one call in a stream may be,
// in bytes as they are written, where a [Codec] names no limit.
const DefaultCallLimit = 8 << 20

// A Codec reads and writes the Responses API. The zero value is ready; a Codec
// is safe for concurrent use as long as nobody changes its fields.
type Codec struct {
	// CallLimit is the greatest length in bytes of the arguments of one call
	// in a stream. Zero stands for [DefaultCallLimit].
	CallLimit int
	// EventLimit is the greatest length in bytes of one event. Zero stands for
	// [wire.DefaultEventLimit].
	EventLimit int
}

// Name returns "responses".
func (c *Codec) Name() string { return "responses" }

// Match reports whether a request asks for a response, compacts a conversation
// or fetches or cancels a stored response, by paths that are the API's own on
// any host: /v1/responses, /openai/responses, /codex/responses.
func (c *Codec) Match(method, path string) bool {
	for _, root := range []string{"/v1/responses", "/openai/responses", "/codex/responses"} {
		if wire.Posts(method, path, root) || wire.Posts(method, path, root+"/compact") ||
			fetches(method, path, root, "/resp_*") {
			return true
		}
	}
	return false
}

// MatchHost does what Match does for paths that could be anything on a host
// that serves no models: /responses, and stored responses of any id.
func (c *Codec) MatchHost(method, path string) bool {
	return wire.Posts(method, path, "/responses") || wire.Posts(method, path, "/responses/compact") || c.Fetches(method, path)
}

// Fetches reports whether a request that matches is for a response that the
// provider has stored: GET /responses/ID, which a client asks again and again
// for one that is made in the background, and POST /responses/ID/cancel. Such
// a request has no body.
func (c *Codec) Fetches(method, path string) bool {
	return fetches(method, path, "/responses", "/*")
}

func fetches(method, path, root, id string) bool {
	if wire.Posts(method, path, root+"/compact") {
		return false
	}
	return wire.Gets(method, path, root+id) || wire.Posts(method, path, root+id+"/cancel")
}

// Error returns an error body as OpenAI writes it, of a type that fits the
// HTTP status.
func (c *Codec) Error(status int, message string) []byte {
	return append(append([]byte(`{"error":`), errorObject(errorType(status), message)...), '}')
}

func errorType(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func errorObject(kind, message string) []byte {
	return []byte(`{"message":` + wire.Quote(message) + `,"type":` + wire.Quote(kind) + `,"param":null,"code":"holdgate"}`)
}
