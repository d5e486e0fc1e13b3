package coherev1

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for. It reports
// false for one whose parameters are no object.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	c, ok := p.Tag.(*call)
	if t, streamed := p.Tag.(callTag); streamed {
		c, ok = t.group.calls[t.n], true
	}
	if !ok || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	return wire.Refused{Notice: notice, Call: bytes.Clone(c.element()), Name: c.name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a message of the
// tool behind, with a result for each that says the notice. It returns how many. In a
// request without tools a notice stays.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	if wire.IsEmpty(wire.Find(body, "tools")) {
		return body, 0, nil
	}
	refusals := wire.NewRefusals(refused)
	return wire.Turns{
		List:     "chat_history",
		PutBack:  func(message, _ []byte) ([]byte, []*wire.Refused) { return putBack(refusals, message) },
		IsResult: func(message []byte) bool { return isRole(message, "tool") },
		Result:   func(r *wire.Refused) []byte { return toolMessage(result(r)) },
	}.Rehydrate(body)
}

func isRole(message []byte, role string) bool {
	return strings.EqualFold(wire.TextIn(message, "role"), role)
}

// putBack returns a message of the model's with the calls in it whose notices it has, and
// these calls.
func putBack(refusals *wire.Refusals, message []byte) ([]byte, []*wire.Refused) {
	text, err := wire.Text(wire.Find(message, "message"))
	if err != nil || !isRole(message, "chatbot") {
		return nil, nil
	}
	found := refusals.Split(text)
	calls := wire.Calls(found)
	own, err := wire.List(wire.Find(message, "tool_calls"))
	if err != nil || len(calls) == 0 {
		refusals.Restore(found)
		return nil, nil
	}
	for _, r := range calls {
		own = slices.Insert(own, min(r.Place, len(own)), r.Call)
	}
	message = wire.SetMember(message, "message", wire.AppendText(nil, wire.TextLeft(found)))
	return wire.SetMember(message, "tool_calls", wire.Array(own...)), calls
}

// result returns the result that says that a call was refused.
func result(r *wire.Refused) []byte {
	return []byte(`{"call":` + string(r.Call) + `,"outputs":[{"error":` + wire.Quote(r.Notice) + `}]}`)
}

// toolMessage returns a message with results.
func toolMessage(results ...[]byte) []byte {
	return []byte(`{"role":"TOOL","tool_results":` + string(wire.Array(results...)) + `}`)
}

// History returns the results of tools in a request, which name their calls themselves.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	var h wire.History
	read := func(results []byte) error {
		return wire.EachElement(results, func(element []byte) error {
			called := wire.Find(element, "call")
			if wire.KindOf(called) != "an object" {
				return fmt.Errorf("a result names no call")
			}
			h.Begun = true
			r := wire.Result{Tool: wire.TextIn(called, "name"), Arguments: []byte("{}")}
			if parameters := wire.Find(called, "parameters"); wire.KindOf(parameters) == "an object" {
				r.Arguments = parameters
			}
			h.Results = append(h.Results, r)
			return nil
		})
	}
	err := wire.EachElement(request.Find("chat_history"), func(message []byte) error {
		h.Begun = h.Begun || isRole(message, "chatbot")
		return read(wire.Find(message, "tool_results"))
	})
	if err == nil {
		err = read(request.Find("tool_results"))
	}
	if err != nil {
		return h, fmt.Errorf("reading the results of tools in a request: %w", err)
	}
	return h, nil
}
