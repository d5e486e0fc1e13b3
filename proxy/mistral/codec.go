// Package mistral reads and rewrites the conversations of Mistral's agents: POST to
// /v1/conversations, which begins one, to /v1/conversations/ID, which goes on with one,
// and to /v1/conversations/ID/restart. (Mistral's chat and agents completions are in the
// format of package openai.)
//
// # Calls
//
// An answer is a list of entries. An entry of type function.call is a call that the
// client runs, with its arguments as an object or a text. Where the entry waits for a
// confirmation, the provider runs the call once the client allows it: the call is held
// like any other, and its arguments cannot be edited. An entry of type tool.execution is
// a call that the provider has run; it is observed. In a stream a call comes in events of
// type function.call.delta, each with a piece of the arguments and all else repeated. No
// event ends a call: it is complete where an event of another entry or type comes.
//
// # What is withheld
//
// All events of a call, from the first to the last, are one part.
//
// # What is rewritten
//
// As long as every call is released as it came, bytes pass unchanged. In the place of a
// refused call stands an entry of type message.output with the notice, which has the id
// of the call's entry. A note is such an entry before its call; later entries are then
// numbered one higher. A call with other arguments is one event.
//
// # What the provider keeps
//
// The provider keeps a conversation unless the request says "store": false, with the
// calls in it, refused ones too, and waits for their results. The agent knows of no such
// call. So the next request in the conversation takes the results with it, first of all.
// Where the client keeps the entries itself, the notices in them become calls again.
package mistral

import (
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Codec is the format of conversations. The zero value is ready, and safe for concurrent
// use as long as nobody changes its field.
type Codec struct {
	// CallLimit is the greatest length in bytes of one call in a stream, with all its
	// events. Zero stands for [DefaultCallLimit].
	CallLimit int
}

// DefaultCallLimit is how long one call in a stream may be, in bytes with all its
// events, where a [Codec] names no limit.
const DefaultCallLimit = 8 << 20

// Name returns "mistral".
func (*Codec) Name() string { return "mistral" }

const (
	pathStart   = "/v1/conversations"
	pathAppend  = "/v1/conversations/*"
	pathRestart = "/v1/conversations/*/restart"
)

// Match reports false: other APIs have conversations too. See [Codec.MatchHost].
func (*Codec) Match(method, path string) bool { return false }

// MatchHost reports whether a request is for an answer of a model, in any spelling that
// [wire.Posts] knows.
func (*Codec) MatchHost(method, path string) bool {
	return wire.Posts(method, path, pathStart) || wire.Posts(method, path, pathAppend) || wire.Posts(method, path, pathRestart)
}

// PathBound says that the path of a request names the conversation.
func (*Codec) PathBound() {}

// Conversation is the id of the conversation that a request goes on with, or "".
func (*Codec) Conversation(path string, _ *wire.Document) string {
	if !wire.Posts("POST", path, pathAppend) {
		return ""
	}
	path = strings.Trim(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// Took reports whether an answer shows that the provider has added to the conversation
// what the request said.
func (*Codec) Took(answer []byte) bool {
	return wire.TextIn(answer, "conversation_id") != "" && wire.KindOf(wire.Find(answer, "outputs")) == "an array"
}

// Error returns an error body as the API writes it, of a type that fits the HTTP status.
func (*Codec) Error(status int, message string) []byte {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return []byte(`{"object":"error","message":` + wire.Quote(message) + `,"type":"` + kind + `","param":null,"code":null}`)
}

// Stream starts reading a streamed answer.
func (c *Codec) Stream() wire.Stream { return c.stream() }

func (c *Codec) stream() *stream {
	limit := c.CallLimit
	if limit <= 0 {
		limit = DefaultCallLimit
	}
	return &stream{limit: limit, used: make(map[string]bool), runs: make(map[string]*entry)}
}
