package openai

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// History returns the results of tools in a request, each with the call of the
// same id that stands before it; one of a function_call with the latest of the
// name.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	var h wire.History
	if !request.MaySay("role", "tool") && !request.MaySay("role", "function") {
		h.Begun = request.MaySay("role", "assistant")
		return h, nil
	}
	calls := make(map[string]wire.Result)  // by id
	legacy := make(map[string]wire.Result) // by name
	for message, err := range wire.Elements(request.Find("messages")) {
		if err != nil {
			return h, fmt.Errorf("reading messages of a request: %w", err)
		}
		switch wire.TextIn(message.Value, "role") {
		case "assistant":
			h.Begun = true
			if f := wire.Find(message.Value, "function_call"); !wire.IsNull(f) {
				c := pastCall(f)
				legacy[c.Tool] = c
			}
			if err := pastCalls(calls, wire.Find(message.Value, "tool_calls")); err != nil {
				return h, err
			}
		case "tool":
			id := wire.TextIn(message.Value, "tool_call_id")
			r := calls[id]
			r.ID = id
			h.Results = append(h.Results, r)
		case "function":
			name := wire.TextIn(message.Value, "name")
			r := legacy[name]
			r.Tool = name
			h.Results = append(h.Results, r)
		}
	}
	return h, nil
}

// pastCalls notes the calls of an assistant's message.
func pastCalls(calls map[string]wire.Result, list []byte) error {
	if wire.IsNull(list) {
		return nil
	}
	for e, err := range wire.Elements(list) {
		if err != nil {
			return fmt.Errorf("reading tool_calls of a request: %w", err)
		}
		of := wire.Find(e.Value, "function")
		if of == nil {
			of = wire.Find(e.Value, "custom")
		}
		c := pastCall(of)
		c.ID = wire.TextIn(e.Value, "id")
		calls[c.ID] = c
	}
	return nil
}

// pastCall reads the name and the arguments of a call in a history.
func pastCall(function []byte) (c wire.Result) {
	c.Tool = wire.TextIn(function, "name")
	text, err := wire.Text(wire.Find(function, "arguments"))
	if err == nil && wire.Strict([]byte(text)) == nil && wire.KindOf([]byte(text)) == "an object" {
		c.Arguments = []byte(text)
	}
	return c
}
