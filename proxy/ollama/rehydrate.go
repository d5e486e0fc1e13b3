package ollama

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false for one of generate, whose requests have no history, and
// for one whose arguments are no object.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok || !t.line.reply.chat || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	return wire.Refused{Notice: notice, Call: bytes.Clone(t.call.raw), ID: t.call.id, Name: t.call.name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a
// message of the tool that says the notice behind, each in its place among the
// calls and the tools' messages of the turn. It returns how many. In a request
// without tools a notice stays.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	if wire.IsEmpty(wire.Find(body, "tools")) {
		return body, 0, nil
	}
	var list [][]byte
	err := wire.EachElement(wire.Find(body, "messages"), func(message []byte) error {
		list = append(list, message)
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading messages of a request: %w", err)
	}
	refusals := wire.NewRefusals(refused)
	edits := make(map[int][][]byte) // what stands in the place of a message
	count := 0
	for i, message := range list {
		turn, calls := putBack(message, refusals)
		if len(calls) == 0 {
			continue
		}
		count += len(calls)
		edits[i] = [][]byte{turn}
		results := 0
		for i+1+results < len(list) && roleOf(list[i+1+results]) == "tool" {
			results++
			edits[i+results] = [][]byte{list[i+results]}
		}
		for n, r := range calls {
			at := i + min(max(r.Place-n, 0), results)
			edits[at] = append(edits[at], result(r))
		}
	}
	if count == 0 {
		return body, 0, nil
	}
	return changed(body, "messages", wire.RewriteElements(wire.Find(body, "messages"), func(n int, value []byte) []byte {
		if edit := edits[n]; edit != nil {
			return bytes.Join(edit, []byte{','})
		}
		return value
	})), count, nil
}

// result returns the tool's message that says that a call was refused.
func result(r *wire.Refused) []byte {
	m := wire.AppendText([]byte(`{"role":"tool","tool_name":`), r.Name)
	if r.ID != "" {
		m = wire.AppendText(append(m, `,"tool_call_id":`...), r.ID)
	}
	return append(wire.AppendText(append(m, `,"content":`...), r.Notice), '}')
}

// putBack returns an assistant's message with the calls in it whose notices its
// content has, and the calls.
func putBack(message []byte, refusals *wire.Refusals) ([]byte, []*wire.Refused) {
	text, err := wire.Text(wire.Find(message, "content"))
	if roleOf(message) != "assistant" || err != nil || wire.Known(message, "tool_calls") != nil {
		return nil, nil
	}
	passages := refusals.Split(text)
	calls := wire.Calls(passages)
	if len(calls) == 0 {
		return nil, nil
	}
	left := ""
	for _, p := range passages {
		if p.Refused == nil && left != "" {
			left += separator
		}
		left += p.Text
	}
	own := wire.Find(message, "tool_calls")
	var list [][]byte
	if err := wire.EachElement(own, func(call []byte) error { list = append(list, call); return nil }); err != nil {
		refusals.Restore(passages)
		return nil, nil
	}
	for _, r := range calls {
		list = slices.Insert(list, min(r.Place, len(list)), r.Call)
	}
	joined := slices.Concat([]byte("["), bytes.Join(list, []byte{','}), []byte("]"))
	message = changed(message, "content", wire.AppendText(nil, left))
	if own == nil {
		return wire.AppendMember(message, "tool_calls", joined), calls
	}
	return changed(message, "tool_calls", joined), calls
}

func roleOf(message []byte) string {
	role, _ := wire.Text(wire.Find(message, "role"))
	return role
}

// changed returns an object in which one member has another value.
func changed(object []byte, name string, value []byte) []byte {
	return wire.RewriteMembers(object, func(m wire.Member) []byte {
		if string(m.Name) == name {
			return value
		}
		return m.Value
	})
}
