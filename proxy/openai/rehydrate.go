package openai

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false where no request could have the call in its history with a
// result of its own: a function_call, and a call without an id.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok || t.call.legacy || t.call.id == "" {
		return wire.Refused{}, false
	}
	k := *t.call
	k.verdict.Arguments = nil // the agent's own stand in its history
	return wire.Refused{Notice: notice, Call: k.appendElement(nil, -1), ID: k.id, Name: k.name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a tool
// message that says the notice behind, each in its place among the calls and
// the tool messages of the turn. It returns how many. In a request without
// tools, and beside another call of the same id in the turn, a notice stays.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	if tools := wire.Find(body, "tools"); wire.IsEmpty(tools) {
		return body, 0, nil
	}
	var list [][]byte
	for e, err := range wire.Elements(wire.Find(body, "messages")) {
		if err != nil {
			return nil, 0, fmt.Errorf("reading messages of a request: %w", err)
		}
		list = append(list, e.Value)
	}
	refusals := wire.NewRefusals(refused)
	edits := make(map[int][]byte)
	count := 0
	for i, message := range list {
		turn, calls := putBack(message, refusals)
		if len(calls) == 0 {
			continue
		}
		count += len(calls)
		results := i + 1
		for results < len(list) && roleOf(list[results]) == "tool" {
			results++
		}
		edits[i] = turn
		for at, ms := range withResults(list[i+1:results], calls) {
			edits[i+at] = bytes.Join(append([][]byte{orOwn(edits[i+at], list[i+at])}, ms...), []byte{','})
		}
	}
	if count == 0 {
		return body, 0, nil
	}
	return wire.RewriteMembers(body, func(m wire.Member) []byte {
		if string(m.Name) != "messages" {
			return m.Value
		}
		return wire.RewriteElements(m.Value, func(n int, value []byte) []byte { return orOwn(edits[n], value) })
	}), count, nil
}

func orOwn(edit, own []byte) []byte {
	if edit != nil {
		return edit
	}
	return own
}

// withResults returns the tool messages of refused calls by which message they
// follow: 0 stands for the assistant's own, 1 for the first tool message.
func withResults(results [][]byte, calls []*wire.Refused) map[int][][]byte {
	out := make(map[int][][]byte)
	for n, r := range calls {
		after := min(max(r.Place-n, 0), len(results))
		m := wire.AppendText([]byte(`{"role":"tool","tool_call_id":`), r.ID)
		m = append(wire.AppendText(append(m, `,"content":`...), r.Notice), '}')
		out[after] = append(out[after], m)
	}
	return out
}

// putBack returns an assistant's message with the calls in it whose notices its
// content has, and the calls.
func putBack(message []byte, refusals *wire.Refusals) ([]byte, []*wire.Refused) {
	if roleOf(message) != "assistant" {
		return nil, nil
	}
	content, passages := withoutNotices(wire.Find(message, "content"), refusals)
	calls := wire.Calls(passages)
	if len(calls) == 0 {
		return nil, nil
	}
	own := wire.Find(message, "tool_calls")
	list, ok := insert(own, calls)
	if !ok {
		refusals.Restore(passages)
		return nil, nil
	}
	out := wire.RewriteMembers(message, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "content":
			return content
		case "tool_calls":
			return list
		}
		return m.Value
	})
	if own == nil {
		out = wire.AppendMember(out, "tool_calls", list)
	}
	return out, calls
}

// insert returns a list of tool_calls with refused ones in their places; false
// where two would have the same id.
func insert(own []byte, calls []*wire.Refused) ([]byte, bool) {
	var list [][]byte
	ids := make(map[string]bool)
	if !wire.IsNull(own) {
		for e, err := range wire.Elements(own) {
			if err != nil {
				return nil, false
			}
			id, _ := wire.Text(wire.Find(e.Value, "id"))
			ids[id] = true
			list = append(list, e.Value)
		}
	}
	for _, r := range calls {
		if ids[r.ID] {
			return nil, false
		}
		ids[r.ID] = true
		list = slices.Insert(list, min(r.Place, len(list)), r.Call)
	}
	return slices.Concat([]byte("["), bytes.Join(list, []byte{','}), []byte("]")), true
}

// withoutNotices returns a content without the notices in it, null where
// nothing else is, and the passages that were found.
func withoutNotices(content []byte, refusals *wire.Refusals) ([]byte, []wire.Passage) {
	var all []wire.Passage
	switch {
	case wire.IsNull(content):
	case content[0] == '"':
		text, err := wire.Text(content)
		if err != nil {
			return content, nil
		}
		all = refusals.Split(text)
		content = []byte("null")
		if left := textOf(all); left != "" {
			content = wire.AppendText(nil, left)
		}
	case content[0] == '[':
		content = wire.RewriteElements(content, func(_ int, block []byte) []byte {
			text, err := wire.Text(wire.Find(block, "text"))
			if kind, _ := wire.Text(wire.Find(block, "type")); kind != "text" || err != nil {
				return block
			}
			found := refusals.Split(text)
			if found == nil {
				return block
			}
			all = append(all, found...)
			left := textOf(found)
			if left == "" {
				return nil
			}
			return wire.RewriteMembers(block, func(m wire.Member) []byte {
				if string(m.Name) == "text" {
					return wire.AppendText(nil, left)
				}
				return m.Value
			})
		})
		if wire.IsEmpty(content) {
			content = []byte("null")
		}
	}
	return content, all
}

// textOf joins the texts of passages.
func textOf(passages []wire.Passage) (text string) {
	for _, p := range passages {
		if p.Refused == nil && text != "" {
			text += separator
		}
		text += p.Text
	}
	return text
}

func roleOf(message []byte) string {
	role, _ := wire.Text(wire.Find(message, "role"))
	return role
}
