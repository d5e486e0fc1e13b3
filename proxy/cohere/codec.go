// Package cohere reads and rewrites the chat API of Cohere, version 2: POST to a path
// that ends in /v2/chat. (Version 1 is another format, which is refused.)
//
// # Calls
//
// A call is an element of message.tool_calls: a function with its arguments as a text.
// In a stream a call has events of its own: a tool-call-start with its id and name, a
// tool-call-delta for each piece of its arguments, and a tool-call-end. They come one
// call after the other. A call in any other event, an event between those of a call, and
// a call of another type than function are not understood, and end the answer.
//
// # What is withheld
//
// All events of a call, from its start to its end, are one part.
//
// # What is rewritten
//
// As long as every call is released as it came, bytes pass unchanged. A refused call
// leaves its notice as a block of text in its place, and a note is such a block before
// its call. In a stream the index of later blocks is then higher, and that of released
// calls stays without a gap. Where no call is left, the finish_reason TOOL_CALL becomes
// COMPLETE.
package cohere

import "github.com/holdgate/holdgate/proxy/wire"

// Codec is the chat API, version 2. The zero value is ready, and safe for concurrent
// use as long as nobody changes its field.
type Codec struct {
	// CallLimit is the greatest length in bytes of one call in a stream, with all its
	// events. Zero stands for [DefaultCallLimit].
	CallLimit int
}

// DefaultCallLimit is how long one call in a stream may be, in bytes with all its
// events, where a [Codec] names no limit.
const DefaultCallLimit = 8 << 20

// Name returns "cohere".
func (*Codec) Name() string { return "cohere" }

// Match reports false: the path could be anything on a host that serves no models. See
// [Codec.MatchHost].
func (*Codec) Match(method, path string) bool { return false }

// MatchHost reports whether a request is for an answer of a model, in any spelling that
// [wire.Posts] knows.
func (*Codec) MatchHost(method, path string) bool { return wire.Posts(method, path, "/v2/chat") }

// Error returns an error body as the API writes it.
func (*Codec) Error(_ int, message string) []byte {
	return []byte(`{"message":` + wire.Quote(message) + `}`)
}

// Stream starts reading a streamed answer.
func (c *Codec) Stream() wire.Stream { return c.stream() }

func (c *Codec) stream() *stream {
	limit := c.CallLimit
	if limit <= 0 {
		limit = DefaultCallLimit
	}
	return &stream{limit: limit}
}
