package mistral

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for. It
// reports false for one whose arguments are no object.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok || p.Observed || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	return wire.Refused{Notice: notice, Call: bytes.Clone(t.whole), ID: t.entry.callID, Name: t.entry.name, Conversation: t.conversation}, true
}

// Rehydrate puts refused calls back in the place of the messages that are their notices,
// each with a result that says the notice. Where the request goes on with a conversation,
// the results of what was refused there come first: the provider has the calls. It
// returns how many calls have a result now. A notice stays in a message that says
// something else too, and beside a call of the same id.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	inputs := wire.Find(body, "inputs")
	var list [][]byte
	switch wire.KindOf(inputs) {
	case "a string":
		list = [][]byte{[]byte(inputEntry(string(inputs)))}
	case "an array":
		var err error
		if list, err = wire.List(inputs); err != nil {
			return nil, 0, fmt.Errorf("reading inputs of a request: %w", err)
		}
	}
	ids := make(map[string]bool)
	for _, e := range list {
		if id := wire.TextIn(e, "tool_call_id"); id != "" {
			ids[id] = true
		}
	}
	refusals := wire.NewRefusals(refused)
	edits, count := make([][]byte, len(list)), 0
	for i, e := range list {
		calls := refusals.Take(noticeIn(e, refusals), ids)
		var now [][]byte
		for _, r := range calls {
			now = append(now, r.Call, result(r))
		}
		edits[i] = bytes.Join(now, []byte{','})
		count += len(calls)
	}
	owed, denied := owedResults(refused, ids)
	if count += len(owed) + len(denied); count == 0 {
		return body, 0, nil
	}
	return withInputs(body, list, edits, owed, denied), count, nil
}

// noticeIn returns what a message of the model's was cut into, where it says nothing but
// notices.
func noticeIn(entry []byte, refusals *wire.Refusals) []wire.Passage {
	text, err := wire.Text(wire.Find(entry, "content"))
	if err != nil || wire.TextIn(entry, "role") != "assistant" {
		return nil
	}
	found := refusals.Split(text)
	if wire.TextLeft(found) != "" {
		refusals.Restore(found)
		return nil
	}
	return found
}

// owedResults returns the entries with the results for which the provider waits, and the
// denials of the calls that the client was to confirm.
func owedResults(refused []wire.Refused, ids map[string]bool) (results, denials [][]byte) {
	refused = slices.Clone(refused)
	slices.SortStableFunc(refused, func(a, b wire.Refused) int { return a.Place - b.Place })
	for i := range refused {
		switch r := &refused[i]; {
		case !r.Owed || ids[r.ID]:
		case !wire.IsNull(wire.Find(r.Call, "confirmation_status")):
			ids[r.ID] = true
			denials = append(denials, []byte(`{"tool_call_id":`+wire.Quote(r.ID)+`,"confirmation":"deny"}`))
		default:
			ids[r.ID] = true
			results = append(results, result(r))
		}
	}
	return results, denials
}

// withInputs returns a request with edits of its entries, results before them, and
// denials.
func withInputs(body []byte, list, edits, owed, denied [][]byte) []byte {
	for i, own := range list {
		if len(edits[i]) > 0 {
			own = edits[i]
		}
		owed = append(owed, own)
	}
	if len(owed) > 0 {
		body = wire.SetMember(body, "inputs", wire.Array(owed...))
	}
	if len(denied) == 0 {
		return body
	}
	own := wire.Find(body, "tool_confirmations")
	if wire.KindOf(own) != "an array" {
		own = []byte("[]")
	}
	return wire.SetMember(body, "tool_confirmations", wire.AppendElements(own, denied...))
}

// result returns the entry that says that a call was refused.
func result(r *wire.Refused) []byte {
	return []byte(`{"object":"entry","type":"` + functionResult + `","tool_call_id":` + wire.Quote(r.ID) + `,"result":` + wire.Quote(r.Notice) + `}`)
}

// History returns the results of tools in a request, each with the call of the same id
// that stands before it.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	var h wire.History
	inputs := request.Find("inputs")
	if wire.KindOf(inputs) != "an array" {
		return h, nil
	}
	calls := make(map[string]wire.Result)
	err := wire.EachElement(inputs, func(object []byte) error {
		switch id := wire.TextIn(object, "tool_call_id"); wire.TextIn(object, "type") {
		case functionCall:
			h.Begun = true
			made := wire.Result{ID: id, Tool: wire.TextIn(object, "name")}
			if e, err := readEntry(object); err == nil {
				if seen, err := e.seen(e.args); err == nil {
					made.Arguments = seen.Tool.Arguments
				}
			}
			calls[id] = made
		case functionResult:
			h.Begun = true
			r := calls[id]
			r.ID = id
			h.Results = append(h.Results, r)
		default:
			h.Begun = h.Begun || wire.TextIn(object, "role") == "assistant"
		}
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("reading inputs of a request: %w", err)
	}
	return h, nil
}
