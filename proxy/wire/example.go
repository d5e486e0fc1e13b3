package wire

import (
	"fmt"
	"strings"
)

// An Example is one exchange in a format: a request that offers one tool, and an answer
// that says some words and ends in a call of the tool, plain and as a stream. Tests and
// `holdgate bench` make their traffic from it.
type Example struct {
	Path       string // of a request
	StreamPath string // of a request for a stream: Path where the body says so
	Head       string // of a request's body, up to the turns; it may take whether a stream is wanted
	Turn       string // takes the role and the text, a JSON string without quotes
	Roles      [2]string
	Tail       string

	Plain      string
	Events     []string // of the stream, each with its framing
	StreamType string
}

// What examples say, and the one tool that their requests offer and their answers call.
const (
	ExampleWords     = "fox jumps over it. "
	ExampleTool      = "Read"
	ExampleParameter = `{"type":"object","properties":{"file_path":{"type":"string"}}}`
	ExampleArguments = `{"file_path":"src/main.go"}`
	ExampleQuoted    = `"{\"file_path\":\"src/main.go\"}"` // the arguments as a text
	ExampleEvents    = 193                                 // of text in a stream
)

// ExampleText is what the plain answer of an example says.
func ExampleText() string { return strings.Repeat(ExampleWords, 40) }

// Body returns the body of a request with these texts, by turns of the two roles.
func (e Example) Body(stream bool, texts ...string) string {
	body := e.Head
	if strings.Contains(body, "%t") {
		body = fmt.Sprintf(body, stream)
	}
	var turns []string
	for i, text := range texts {
		turns = append(turns, fmt.Sprintf(e.Turn, e.Roles[i%2], text))
	}
	return body + strings.Join(turns, ",") + e.Tail
}

// Event adds a server-sent event to the stream. name may be empty.
func (e *Example) Event(name, data string) {
	e.Events = append(e.Events, string(AppendEvent(nil, name, []byte(data))))
}
