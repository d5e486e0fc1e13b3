package mcp

import (
	"bytes"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// MetaApproval is the key in a result's _meta under which an approver's message
// stands, as {"message": "..."}. It is in reverse DNS, as the protocol asks of
// keys that are not its own.
const MetaApproval = "io.github.holdgate/approval"

// Notes are what approvers said with their approval, by the request that it
// goes along with.
type Notes map[string]string

// Add adds a note for a request.
func (n Notes) Add(m Message, text string) {
	if key := IDKey(m.ID); key != "" {
		n[key] = text
	}
}

// IDKey makes equal ids equal text, however a string is escaped.
func IDKey(id []byte) string {
	if len(id) > 0 && id[0] == '"' {
		text, err := wire.Text(id)
		if err != nil {
			return ""
		}
		return `"` + text
	}
	return string(id)
}

// Annotate returns what a server sent, one message or a batch, with the notes
// in the results that they belong to. What is no result, or cannot be read,
// stays as it came.
func (n Notes) Annotate(body []byte) []byte {
	text := bytes.Trim(body, " \t\r\n")
	if len(n) == 0 || len(text) == 0 || wire.Strict(text) != nil {
		return body
	}
	var out []byte
	if text[0] == '[' {
		out = wire.RewriteElements(text, func(_ int, message []byte) []byte { return n.annotate(message) })
	} else {
		out = n.annotate(text)
	}
	if bytes.Equal(out, text) {
		return body
	}
	return out
}

func (n Notes) annotate(message []byte) []byte {
	if wire.KindOf(message) != "an object" {
		return message
	}
	note, ok := n[IDKey(wire.Find(message, "id"))]
	result := wire.Find(message, "result")
	if !ok || wire.KindOf(result) != "an object" {
		return message
	}
	meta := wire.Find(result, "_meta")
	switch wire.KindOf(meta) {
	case "an object":
	case "nothing", "null":
		meta = []byte("{}")
	default:
		return message
	}
	meta = setMember(meta, MetaApproval, append(wire.AppendText([]byte(`{"message":`), note), '}'))
	return setMember(message, "result", setMember(result, "_meta", meta))
}

// WithData returns an event of a server's stream with other data; what has no
// data any more is an event that clients take no notice of. It keeps its id and
// its type.
func WithData(ev wire.Event, data []byte) []byte {
	if bytes.Equal(data, ev.Data) {
		return ev.Raw
	}
	out := make([]byte, 0, len(ev.Raw)+len(data)-len(ev.Data)+16)
	written := false
	for line := range bytes.Lines(ev.Raw) {
		switch {
		case !strings.HasPrefix(string(line), "data"):
			out = append(out, line...)
		case !written:
			written = true
			for part := range bytes.SplitSeq(data, []byte("\n")) {
				out = append(append(append(out, "data: "...), part...), '\n')
			}
		}
	}
	return out
}
