// Package anthropic reads and writes Anthropic's Messages API: requests, plain
// answers, and answers streamed as server-sent events.
//
// # Calls
//
// A content block is a call that the client runs where its type is tool_use,
// or where an unknown type looks like one: it ends in _call, contains
// tool_use, or has an input. A server_tool_use or mcp_tool_use block is a call
// that the provider has run by itself; it is observed, and never held.
//
// # A stream
//
// Clients run a tool as soon as its block is closed, long before the answer
// ends. So a call is kept back from the first byte of its content_block_start
// to the last of its content_block_stop, and is one part. Where code that the
// provider runs asks for calls, the message_start has them already: it is kept
// back until all of them are decided. Pings and comments
// between its events are inside that part, in their places. All else flows at
// once.
//
// What was released as it came is sent byte for byte. In the place of a refused
// call stands a text block with the same index, and the stop reason tool_use
// becomes end_turn where no released call is left: clients ask the model again
// when either is missing. A call with other arguments keeps its block, id and
// name; the arguments come in one delta, or in the block's start where they
// came there. A note is a text block before its call, and the blocks that
// follow are numbered one higher.
//
// While a call waits, an empty text_delta is the no-op that every client
// counts as progress, but only in a text block that has text, for a client
// sends an empty block back to the provider. So the content_block_stop of such
// a block, where it is the last thing before a call, is written together with
// what comes next. Elsewhere the no-op is a ping.
//
// # What is refused
//
// Whatever two clients could read differently is an error, and ends the
// answer: duplicate keys, keys that differ from a known one in case only, an
// event field that contradicts the type in the data, blocks that overlap or
// are not numbered 0, 1, 2, a call whose input comes both whole and in
// fragments, arguments that are JSON to lenient parsers only. Arguments that
// are no JSON object to any parser are still a call, for models do send such.
package anthropic

import (
	"net/http"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// DefaultCallLimit is how long one call in a stream may be, in bytes with all
// its events, where a [Codec] names no limit.
const DefaultCallLimit = 8 << 20

// A Codec reads and writes the Messages API. The zero value is ready; a Codec
// is safe for concurrent use as long as nobody changes its fields.
type Codec struct {
	// CallLimit is the greatest length in bytes of one call in a stream, with
	// all its events. Zero stands for [DefaultCallLimit].
	CallLimit int
	// EventLimit is the greatest length in bytes of one event. Zero stands for
	// [wire.DefaultEventLimit].
	EventLimit int
}

// Name returns "anthropic".
func (c *Codec) Name() string { return "anthropic" }

// Match reports whether a request creates a message: POST to a path that ends
// in /v1/messages, or in Vertex AI's :rawPredict or :streamRawPredict, in any
// spelling that [wire.Posts] knows. Token counts and batches are no messages.
func (c *Codec) Match(method, path string) bool {
	return wire.Posts(method, path, "/v1/messages") || onVertex(method, path) && !countsOnVertex(path)
}

// countsOnVertex reports whether a path, written plainly, is the one at which
// Vertex AI counts the tokens of a message.
func countsOnVertex(path string) bool {
	return strings.HasSuffix(strings.ToLower(path), "/publishers/anthropic/models/count-tokens:rawpredict") &&
		!strings.ContainsFunc(path, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/-_.:", c))
		})
}

// onVertex reports whether a path is one at which Vertex AI takes the body of a
// model's own API, whoever made the model.
func onVertex(method, path string) bool {
	return wire.PostsMethod(method, path, "rawPredict") || wire.PostsMethod(method, path, "streamRawPredict")
}

// Stream starts reading a streamed answer. The result is a [*Stream].
func (c *Codec) Stream() wire.Stream {
	limit := c.CallLimit
	if limit <= 0 {
		limit = DefaultCallLimit
	}
	return &Stream{
		reader: reader{events: wire.EventScanner{Limit: c.EventLimit}, limit: limit, text: none, tail: none},
		writer: writer{text: none},
	}
}

// Error returns the API's error body for an HTTP status.
func (c *Codec) Error(status int, message string) []byte {
	return errorBody(errorType(status), message)
}

func errorType(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == http.StatusServiceUnavailable, status == 529:
		return "overloaded_error"
	case status >= 400 && status < 500:
		return "invalid_request_error"
	}
	return "api_error"
}

func errorBody(typ, message string) []byte {
	return []byte(`{"type":"error","error":{"type":` + wire.Quote(typ) + `,"message":` + wire.Quote(message) + `}}`)
}
