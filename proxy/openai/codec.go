// Package openai reads and rewrites the Chat Completions format of OpenAI,
// which most other providers speak too: POST to a path that ends in
// /chat/completions, or in Mistral's /v1/agents/completions.
//
// # Calls
//
// A call is an element of message.tool_calls (a function with JSON arguments,
// or a custom tool with free text), or the older message.function_call. In a
// stream it comes in fragments, as elements of choices[].delta.tool_calls that
// belong together by choice and index. Providers differ in how they write
// these, so a stream follows these rules:
//
//   - An element begins a call where its index is new in its choice, or where
//     its id differs from that of the index's call. Without an index, an id
//     or a name of its own begins one, and what has neither goes on with the
//     choice's last call.
//   - Id and name may be repeated, but not changed. An element that says
//     nothing at all, and an empty function_call, is no call.
//   - Arguments are the joined fragments, or one value that is no string.
//     Where they are empty, clients run the call with {}.
//   - Two calls that a client could take for one (they share an index, or one
//     has none) must each have a whole JSON object as arguments: what such a
//     client joins is then no JSON, and runs nothing.
//   - Whatever else looks like a call is not understood, and ends the stream.
//
// # What is withheld
//
// Some clients run a tool as soon as its arguments are whole, so everything
// from the first element of a call to its completion is withheld. A call is
// complete when its choice has a finish_reason, at [DONE], and when another
// call begins after its arguments have become a whole JSON object. What was
// withheld together is one group. Calls that come one after the other are a
// group each. Calls whose elements are interleaved, or share an event, are one
// group of several parts: the last part carries all the bytes, the ones before
// it none, and nothing of the group goes out before all its verdicts are in.
//
// # What is rewritten
//
// As long as every call of a choice is released as it came, its bytes go out as
// they came. A call that is edited or comes with a note is written whole in the
// place of its first element, with its own id and name, and so is its group; a
// note stands there as content, before the call. From the first refusal on, all
// of a choice's released calls are written whole and numbered on without a gap,
// refused ones leave their notice in their place as content, and a
// finish_reason that speaks of calls becomes "stop" where none is left. A
// custom tool takes text, so that nothing can be edited there.
package openai

import "github.com/holdgate/holdgate/proxy/wire"

// Codec is the Chat Completions format. The zero value is ready, and safe for
// concurrent use.
type Codec struct{}

// Name returns "openai".
func (*Codec) Name() string { return "openai" }

// Match reports whether a request is for Chat Completions, or for one of Mistral's
// agents in the same form, in any spelling that [wire.Posts] knows.
func (*Codec) Match(method, path string) bool {
	return wire.Posts(method, path, "/chat/completions") || wire.Posts(method, path, "/v1/agents/completions")
}

// Error returns an error body as OpenAI writes it, of a type that fits the
// HTTP status.
func (*Codec) Error(status int, message string) []byte {
	return errorObject(errorType(status), message)
}

func errorType(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 429:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func errorObject(kind, message string) []byte {
	b := wire.AppendText([]byte(`{"error":{"message":`), message)
	b = wire.AppendText(append(b, `,"type":`...), kind)
	return append(b, `,"param":null,"code":"holdgate"}}`...)
}
