// Package bedrock reads and rewrites Amazon Bedrock's runtime API: Converse and
// ConverseStream ([Converse]), whose form is the same for every model, and
// InvokeModel and InvokeModelWithResponseStream ([Invoke]), which carry the
// bodies of a model's own API. The path names the model and says whether the
// answer is a stream; a stream is application/vnd.amazon.eventstream, whose
// checksums are checked as it comes and right again where it was changed.
//
// # Calls
//
// A call of Converse is a content block with a toolUse. Its arguments are an
// object or, in a stream, the joined fragments of its deltas. One of type
// server_tool_use has been run by the provider and is observed.
//
// # What is withheld
//
// From the contentBlockStart of a call to its contentBlockStop everything is
// withheld, and is one part. Blocks follow one another; a stream in which they
// overlap is refused, and so is an event with what belongs to an event of
// another type, for some clients go by the members and not by the type.
//
// # What is rewritten
//
// As long as every call is released as it came, bytes pass unchanged. In the
// place of a refused call stands a text block, and the stopReason tool_use
// becomes end_turn where no released call is left. A note is a text block
// before its call; blocks that follow are numbered one higher.
//
// The sign of life is an event of a type that clients do not know and pass
// over. A stream that cannot go on ends in an exception, as the API's own do.
package bedrock

import (
	"net/http"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// DefaultCallLimit is how long one call in a stream may be, in bytes with all
// its messages, where a codec names no limit.
const DefaultCallLimit = 8 << 20

// StreamType is the media type of a streamed answer.
const StreamType = "application/vnd.amazon.eventstream"

// Converse is the codec of Converse and ConverseStream. The zero value is
// ready; it is safe for concurrent use as long as nobody changes its fields.
type Converse struct {
	// CallLimit is the greatest length in bytes of one call in a stream, with
	// all its messages. Zero stands for [DefaultCallLimit].
	CallLimit int
}

// Name returns "bedrock".
func (*Converse) Name() string { return "bedrock" }

const (
	converse       = "/model/*/converse"
	converseStream = "/model/*/converse-stream"
	longConverse   = "/model/*/*/converse" // with an ARN that has a slash
	longStream     = "/model/*/*/converse-stream"
)

// Match reports whether a request is for Converse or ConverseStream, in any
// spelling that [wire.Posts] knows.
func (*Converse) Match(method, path string) bool {
	return slices.ContainsFunc([]string{converse, converseStream, longConverse, longStream}, func(suffix string) bool {
		return wire.Posts(method, path, suffix)
	})
}

// PathTells reports whether a path says if the answer is to be a stream.
func (c *Converse) PathTells(path string) bool { return c.Match(http.MethodPost, path) }

// StreamType returns the media type of what Expand returns.
func (*Converse) StreamType() string { return StreamType }

// Stream starts reading a streamed answer.
func (c *Converse) Stream() wire.Stream { return c.stream() }

// StreamAs starts reading an answer that was asked for as a stream. What has
// another type than [StreamType] is one document.
func (c *Converse) StreamAs(mediaType string) wire.Stream {
	if mediaType != StreamType {
		return nil
	}
	return c.stream()
}

func (c *Converse) stream() *stream {
	limit := c.CallLimit
	if limit <= 0 {
		limit = DefaultCallLimit
	}
	return &stream{reader: reader{limit: limit, used: map[int]bool{}}}
}

// Error returns an error body as the API writes it.
func (*Converse) Error(status int, message string) []byte { return errorBody(status, message) }

func errorBody(status int, message string) []byte {
	name := "ValidationException"
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		name = "AccessDeniedException"
	case status == http.StatusTooManyRequests:
		name = "ThrottlingException"
	case status == http.StatusServiceUnavailable:
		name = "ServiceUnavailableException"
	case status >= 500:
		name = "InternalServerException"
	}
	b := wire.AppendText([]byte(`{"__type":`), name)
	return append(wire.AppendText(append(b, `,"message":`...), message), '}')
}

// target reads the model's id and the operation from a path that has matched;
// one without them says nothing.
func target(path string) (model, operation string) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndex(strings.ToLower(path), "/model/")
	if i < 0 { // only the configuration says what is spoken there
		return "", ""
	}
	path = path[i+len("/model/"):]
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		path, operation = path[:i], path[i+1:]
	}
	return path, strings.ToLower(operation)
}

// streams reports whether an operation's answer is a stream.
func streams(operation string) bool { return strings.Contains(operation, "stream") }
