package cohere

import (
	"bytes"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for. It
// reports false for a call without an id, which no result could name, and for one whose
// arguments are no object.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	c, ok := p.Tag.(*call)
	if t, streamed := p.Tag.(callTag); streamed {
		c, ok = t.call, true
	}
	if !ok || c.id == "" || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	return wire.Refused{Notice: notice, Call: bytes.Clone(withArguments(c.raw, quoted(c.args))), ID: c.id, Name: c.name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a message of the
// tool that says the notice behind, each in its place among the calls and the tools'
// messages of the turn. It returns how many. In a request without tools, and beside
// another call of the same id in the turn, a notice stays.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	if wire.IsEmpty(wire.Find(body, "tools")) {
		return body, 0, nil
	}
	refusals := wire.NewRefusals(refused)
	return wire.Turns{
		List:     "messages",
		PutBack:  func(message, _ []byte) ([]byte, []*wire.Refused) { return refusals.Beside(message, nil) },
		IsResult: func(message []byte) bool { return wire.TextIn(message, "role") == "tool" },
		Result:   result,
	}.Rehydrate(body)
}

// result returns the tool's message that says that a call was refused.
func result(r *wire.Refused) []byte {
	return []byte(`{"role":"tool","tool_call_id":` + wire.Quote(r.ID) + `,"content":` + wire.Quote(r.Notice) + `}`)
}

// History returns the results of tools in a request, each with the call of the same id
// that stands before it.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	var h wire.History
	calls := make(map[string]wire.Result)
	err := wire.EachElement(request.Find("messages"), func(message []byte) error {
		switch wire.TextIn(message, "role") {
		case "assistant":
			h.Begun = true
			return wire.EachElement(wire.Find(message, "tool_calls"), func(element []byte) error {
				c, err := readCall(element)
				if err != nil {
					return err
				}
				made := wire.Result{ID: c.id, Tool: c.name}
				if seen, err := c.part(); err == nil {
					made.Arguments = seen.Tool.Arguments
				}
				calls[c.id] = made
				return nil
			})
		case "tool":
			id := wire.TextIn(message, "tool_call_id")
			r := calls[id]
			r.ID = id
			h.Results = append(h.Results, r)
		}
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("reading messages of a request: %w", err)
	}
	return h, nil
}

// Instruct puts a text of a person's behind what the agent says to the model, as a
// message of the user's. All else keeps its bytes. It reports false where the request
// has no place for it: the messages are missing, or end with the model's own words. The
// body has passed [wire.Strict].
func (*Codec) Instruct(body []byte, text string) ([]byte, bool) {
	if wire.TextIn(wire.LastElement(body, "messages"), "role") == "assistant" {
		return nil, false
	}
	return wire.AppendElement(body, "messages", []byte(`{"role":"user","content":`+wire.Quote(text)+`}`))
}
