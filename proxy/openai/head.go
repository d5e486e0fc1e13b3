package openai

import (
	"bytes"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A head is what the chunks that Holdgate makes have in common with the
// stream's own, so that no client takes them for another answer.
type head struct {
	id, model, created []byte // raw values
	choice             int    // of the call that was seen last
}

// note takes the head from the first chunk that has an id.
func (h *head) note(d *document) {
	if h.id != nil || wire.IsEmpty(d.id) {
		return
	}
	h.id, h.model, h.created = bytes.Clone(d.id), bytes.Clone(d.model), bytes.Clone(d.created)
}

// content returns an event that adds text to the content of a choice.
func (h *head) content(choice int, text string) []byte {
	b := append([]byte(`{"id":`), or(h.id, `"chatcmpl-holdgate"`)...)
	b = append(b, `,"object":"chat.completion.chunk","created":`...)
	b = append(b, or(h.created, "0")...)
	b = append(b, `,"model":`...)
	b = append(b, or(h.model, `""`)...)
	b = fmt.Appendf(b, `,"choices":[{"index":%d,"delta":{"content":`, choice)
	b = wire.AppendText(b, text)
	b = append(b, `},"finish_reason":null}]}`...)
	return wire.AppendEvent(nil, "", b)
}

func or(value []byte, other string) []byte {
	if wire.IsNull(value) {
		return []byte(other)
	}
	return value
}
