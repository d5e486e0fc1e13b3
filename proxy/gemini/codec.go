// Package gemini reads and rewrites Google's generateContent API: AI Studio,
// Vertex AI, and Code Assist, which wraps requests and responses in one more
// object. The path names the model and the method; an answer is one
// GenerateContentResponse, or a stream of them as server-sent events or as a
// JSON array that comes piece by piece.
//
// # Calls
//
// A call is a part of a candidate's content with a functionCall. It comes
// whole, with args as an object, or (streamFunctionCallArguments) in fragments
// that belong to the one call that is open in its candidate: partialArgs, each
// a JSON path and a scalar, until a fragment without willContinue. A part with
// another member whose name speaks of a call counts as one too; toolCall and
// executableCode say what the provider has run by itself and are observed.
// Members are known in both spellings of proto JSON, functionCall and
// function_call; any third spelling is refused.
//
// # What is withheld
//
// From the response with a call's first fragment to the one with its last,
// everything is withheld and is one group: a part for each call, of which the
// last carries the bytes.
//
// # What is rewritten
//
// As long as every call is released as it came, bytes pass unchanged. In the
// place of a refused call stands a text part with the notice, in the same
// response: a turn is never empty, for clients ask again where it is. The
// finishReason is STOP with calls and without. Where the refused call carried
// the thought signature of its step, the first call that is released after it
// gets the value that Google documents for calls without one, else the next
// request would be refused.
package gemini

import (
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Codec is the generateContent format. The zero value is ready, and safe for
// concurrent use.
type Codec struct{}

// Name returns "gemini".
func (*Codec) Name() string { return "gemini" }

// methods are the last parts of the paths that ask for content.
const (
	methodPlain  = "generatecontent"
	methodStream = "streamgeneratecontent"
)

// Match reports whether a request asks a model for content: POST to a path
// that ends in :generateContent or :streamGenerateContent, in any spelling
// that [wire.PostsMethod] knows.
func (*Codec) Match(method, path string) bool {
	return wire.PostsMethod(method, path, methodPlain) || wire.PostsMethod(method, path, methodStream)
}

// Error returns an error body as Google writes it (google.rpc.Status).
func (*Codec) Error(status int, message string) []byte {
	b := append([]byte(`{"error":{"code":`), strconv.Itoa(status)...)
	b = wire.AppendText(append(b, `,"message":`...), message)
	return append(b, `,"status":"`+statusName(status)+`"}}`...)
}

func statusName(status int) string {
	switch {
	case status == 401:
		return "UNAUTHENTICATED"
	case status == 403:
		return "PERMISSION_DENIED"
	case status == 404:
		return "NOT_FOUND"
	case status == 429:
		return "RESOURCE_EXHAUSTED"
	case status == 503:
		return "UNAVAILABLE"
	case status >= 500:
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

// plainName is a member's name without what its two spellings differ in.
func plainName(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}
