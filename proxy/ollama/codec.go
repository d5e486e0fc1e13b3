// Package ollama reads and rewrites Ollama's own API: POST to /api/chat and
// /api/generate. An answer is one JSON object, or a stream of such objects, one
// in each line; it is a stream unless the request says "stream": false. (Ollama
// speaks the APIs of OpenAI and Anthropic too; they have codecs of their own.)
//
// # Calls
//
// A call is an element of tool_calls, in the message of a chat or beside the
// response of generate. It comes whole, with its arguments as an object. Where
// a line has calls both in a message and beside it, or a member that is not
// known has the name of a call, it is not understood.
//
// # What is withheld
//
// A line with calls is withheld until all of them are decided. It is one part
// for each call, of which the last carries the bytes.
//
// # What is rewritten
//
// As long as every call is released as it came, bytes pass unchanged. The
// notice of a refused call is text of the same line, and so is the note of one
// that is released; numbers of released calls (function.index) stay without a
// gap. The done_reason is "stop" with calls and without.
package ollama

import (
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Codec is Ollama's own format. The zero value is ready, and safe for
// concurrent use.
type Codec struct{}

// Name returns "ollama".
func (*Codec) Name() string { return "ollama" }

const (
	pathChat     = "/api/chat"
	pathGenerate = "/api/generate"
)

// Match reports false: the paths could be anything on a host that serves no
// models. See [Codec.MatchHost].
func (*Codec) Match(method, path string) bool { return false }

// MatchHost reports whether a request is for an answer of a model, in any
// spelling that [wire.Posts] knows.
func (*Codec) MatchHost(method, path string) bool {
	return wire.Posts(method, path, pathChat) || wire.Posts(method, path, pathGenerate)
}

// Error returns an error body as Ollama writes it.
func (*Codec) Error(_ int, message string) []byte {
	return append(wire.AppendText([]byte(`{"error":`), message), '}')
}

// StreamType is the media type of a streamed answer.
const StreamType = "application/x-ndjson"

// StreamType returns the media type of what Expand returns.
func (*Codec) StreamType() string { return StreamType }

// Stream starts reading a streamed answer.
func (*Codec) Stream() wire.Stream { return newStream() }

// StreamAs starts reading an answer that was asked for as a stream. Ollama Cloud
// calls one application/json; what has any other type than that and [StreamType]
// is one document.
func (*Codec) StreamAs(mediaType string) wire.Stream {
	switch strings.TrimPrefix(mediaType, "application/") {
	case "x-ndjson", "ndjson", "jsonl", "x-jsonlines", "json":
		return newStream()
	}
	return nil
}
