package anthropic

import (
	"bytes"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// History returns the results of tools in a request, each with the call of the
// same id that stands before it.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	var h wire.History
	if !request.MaySay("type", "tool_result") {
		h.Begun = request.MaySay("role", "assistant")
		return h, nil
	}
	calls := make(map[string]wire.Result)
	for message, err := range wire.Elements(request.Find("messages")) {
		if err != nil {
			return h, fmt.Errorf("reading messages of a request: %w", err)
		}
		assistant := wire.TextIn(message.Value, "role") == "assistant"
		h.Begun = h.Begun || assistant
		content := wire.Find(message.Value, "content")
		if wire.KindOf(content) != "an array" || !mayMentionTool(content) {
			continue
		}
		for block, err := range wire.Elements(content) {
			if err != nil {
				return h, fmt.Errorf("reading content of a request: %w", err)
			}
			typ := wire.TextIn(block.Value, "type")
			switch {
			case assistant && typ == "tool_use":
				c := wire.Result{Arguments: objectOrNil(wire.Find(block.Value, "input"))}
				c.ID = wire.TextIn(block.Value, "id")
				c.Tool = wire.TextIn(block.Value, "name")
				calls[c.ID] = c
			case !assistant && typ == "tool_result":
				id := wire.TextIn(block.Value, "tool_use_id")
				r := calls[id]
				r.ID, r.Ended = id, wire.EndedIn(string(wire.Find(block.Value, "is_error")) == "true")
				h.Results = append(h.Results, r)
			}
		}
	}
	return h, nil
}

// mayMentionTool is a quick look whether a call or a result may be among blocks.
func mayMentionTool(content []byte) bool {
	return bytes.Contains(content, []byte("tool_")) || bytes.Contains(content, []byte(`\u`))
}

func objectOrNil(value []byte) []byte {
	if wire.KindOf(value) != "an object" {
		return nil
	}
	return value
}
