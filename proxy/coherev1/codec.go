// Package coherev1 reads and rewrites the chat API of Cohere, version 1: POST to a path
// that ends in /v1/chat. An answer is one JSON object, or a stream of objects, one in each
// line; with the header Accepts: text/event-stream they are server-sent events. (Version 2
// is the format of package cohere.)
//
// # Calls
//
// A call is an element of tool_calls: a name with its parameters, an object. It has no id.
// A stream has the calls up to three times: as pieces in tool-calls-chunk, whole in one
// tool-calls-generation, and in the response of the stream-end, which is a whole answer. A
// whole answer has them once more where the last message of its chat_history is its own.
// Wherever calls come again they must be the same. Earlier messages of the chat_history are
// what the client sent, and their calls are not looked at.
//
// # What is withheld
//
// From the first piece of a call to the event that has the calls whole, everything is
// withheld and is one group: a part for each call, of which the last carries the bytes.
//
// # What is rewritten
//
// As long as every call is released as it came, bytes pass unchanged. The notice of a
// refused call is text before the calls that are left, and so is the note of one that is
// released. The calls that are left are then written anew, in all of their places.
//
// # What the provider keeps
//
// A request with a conversation_id goes on with a conversation that the provider keeps.
// Refused calls stay in it, and no result is owed for them.
package coherev1

import (
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Codec is the chat API, version 1. The zero value is ready, and safe for concurrent use as
// long as nobody changes its field.
type Codec struct {
	// CallLimit is the greatest length in bytes of all calls of a stream, with their
	// events. Zero stands for [DefaultCallLimit].
	CallLimit int
}

// DefaultCallLimit is how long the calls of a stream may be, in bytes with their events,
// where a [Codec] names no limit.
const DefaultCallLimit = 8 << 20

// Name returns "cohere_v1".
func (*Codec) Name() string { return "cohere_v1" }

// Match reports false: the path could be anything on a host that serves no models. See
// [Codec.MatchHost].
func (*Codec) Match(method, path string) bool { return false }

// MatchHost reports whether a request is for an answer of a model, in any spelling that
// [wire.Posts] knows.
func (*Codec) MatchHost(method, path string) bool { return wire.Posts(method, path, "/v1/chat") }

// Error returns an error body as the API writes it.
func (*Codec) Error(_ int, message string) []byte {
	return []byte(`{"message":` + wire.Quote(message) + `}`)
}

// StreamType returns the media type of what Expand returns.
func (*Codec) StreamType() string { return "application/stream+json" }

// Stream starts reading an answer that is streamed as server-sent events.
func (c *Codec) Stream() wire.Stream {
	return &stream{frames: &wire.EventScanner{}, limit: c.limit()}
}

// StreamAs starts reading an answer that was asked for as a stream, one object in each
// line; what has no type of such lines is one document.
func (c *Codec) StreamAs(mediaType string) wire.Stream {
	switch strings.TrimPrefix(mediaType, "application/") {
	case "stream+json", "x-ndjson", "ndjson", "jsonl", "x-jsonlines", "json":
		return c.lines()
	}
	return nil
}

func (c *Codec) lines() *stream {
	return &stream{frames: &wire.LineFrames{}, w: writer{lines: true}, limit: c.limit()}
}

func (c *Codec) limit() int {
	if c.CallLimit <= 0 {
		return DefaultCallLimit
	}
	return c.CallLimit
}
