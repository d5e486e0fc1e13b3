package responses

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false for calls whose output cannot say that they were refused.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok {
		return wire.Refused{}, false
	}
	c := t.call
	r := wire.Refused{
		Notice: notice, Call: bytes.Clone(c.item.raw), ID: c.item.key(), Name: c.item.toolName(),
		Message: messageID("", c.response, c.item.key(), c.index), Response: c.response,
		Conversation: c.conversation,
	}
	return r, r.ID != "" && outputs(&r) != nil
}

// outputs returns the items that say in a request that a call was refused; none
// where a call of the type has no such item. Where an output has no room for
// words, a message says them behind it.
//
// See the input items of the API reference of the Responses API. It calls the
// id in a local shell's output id, and its guide calls it call_id.
func outputs(r *wire.Refused) [][]byte {
	it, err := readItem(r.Call)
	if err != nil || it.callID == "" && it.typ != "mcp_approval_request" {
		return nil
	}
	id, notice := wire.Quote(r.ID), wire.Quote(r.Notice)
	one := func(members string) []byte {
		return []byte(`{"type":"` + it.typ + `_output","call_id":` + id + members + `}`)
	}
	said := []byte(`{"type":"message","role":"developer","content":` + notice + `}`)
	switch it.typ {
	case "shell_call":
		return [][]byte{one(`,"output":[{"stdout":"","stderr":` + notice + `,"outcome":{"type":"exit","exit_code":1}}]`)}
	case "apply_patch_call":
		return [][]byte{one(`,"status":"failed","output":` + notice)}
	case "local_shell_call":
		return [][]byte{one(`,"id":` + id + `,"output":` + notice)}
	case "computer_call":
		return [][]byte{one(`,"output":{"type":"computer_screenshot","image_url":"` + blank + `"}`), said}
	case "tool_search_call":
		return [][]byte{[]byte(`{"type":"tool_search_output","call_id":` + id + `,"execution":"client","status":"completed","tools":[]}`), said}
	case "mcp_approval_request":
		return [][]byte{[]byte(`{"type":"mcp_approval_response","approval_request_id":` + id + `,"approve":false,"reason":` + notice + `}`)}
	}
	if !strings.HasSuffix(it.typ, "_call") {
		return nil
	}
	return [][]byte{one(`,"output":` + notice)}
}

// blank is a white picture of one pixel: what a computer shows that did nothing.
const blank = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="

// speaks reports whether a refused call can stand in the input with an output
// that is known to say why. Of any other the notice stays there. Where the
// provider has kept such a call, its output is sent all the same: without one
// the provider takes no further request.
func speaks(r *wire.Refused) bool {
	switch wire.TextIn(r.Call, "type") {
	case "function_call", "custom_tool_call", "shell_call", "local_shell_call", "apply_patch_call", "mcp_approval_request":
		return true
	}
	return false
}

// Rehydrate puts refused calls back in the place of their notices, whether the
// request repeats a message or refers to it, and the outputs that say the
// notices behind the calls that stand together. Where the request goes on from
// a response that the provider has kept, or in a conversation, the outputs of
// what was refused there come first in the input: the provider has the calls.
// It returns how many calls have an output now.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	in := input{refusals: wire.NewRefusals(refused), messages: make(map[string]*wire.Refused), ids: make(map[string]bool)}
	for i := range refused {
		in.messages[refused[i].Message] = &refused[i]
	}
	value := wire.Find(body, "input")
	if wire.KindOf(value) == "an array" {
		if err := in.read(value); err != nil {
			return nil, 0, fmt.Errorf("reading the input of a request: %w", err)
		}
		in.putBack()
	}
	previous, err := wire.TextOrNull(wire.Find(body, "previous_response_id"))
	if err != nil {
		return nil, 0, fmt.Errorf("reading previous_response_id of a request: %w", err)
	}
	owed, n := in.owed(previous, idOf(wire.Find(body, "conversation")), refused)
	if in.count += n; in.count == 0 {
		return body, 0, nil
	}
	return wire.SetMember(body, "input", in.written(value, owed)), in.count, nil
}

// An input is the items of a request.
type input struct {
	refusals *wire.Refusals
	messages map[string]*wire.Refused // by id of the message of the notice
	ids      map[string]bool          // of calls, and of those that have outputs, in the input
	items    [][]byte
	edits    map[int][][]byte // what takes an item's place
	count    int
}

// read takes the items, and notes the calls that they speak of.
func (in *input) read(array []byte) error {
	for e, err := range wire.Elements(array) {
		if err != nil {
			return err
		}
		in.items = append(in.items, e.Value)
		for _, name := range []string{"call_id", "approval_request_id"} {
			if id, err := wire.Text(wire.Find(e.Value, name)); err == nil {
				in.ids[id] = true
			}
		}
		if id, err := wire.Text(wire.Find(e.Value, "id")); err == nil && wire.TextIn(e.Value, "type") == "mcp_approval_request" {
			in.ids[id] = true
		}
	}
	return nil
}

// putBack replaces the items in which notices stand. The outputs follow the
// last of the calls that stand together.
func (in *input) putBack() {
	in.edits = make(map[int][][]byte)
	var waiting [][]byte
	flush := func(behind int) {
		if len(waiting) > 0 {
			in.edits[behind] = append(orOwn(in.edits[behind], in.items[behind]), waiting...)
			waiting = nil
		}
	}
	for n, item := range in.items {
		if r, call := in.refused(item); r != nil {
			in.ids[r.ID] = true
			in.count++
			in.edits[n] = [][]byte{call}
			waiting = append(waiting, outputs(r)...)
		} else if n > 0 && !isCall(item) {
			flush(n - 1)
		}
	}
	flush(len(in.items) - 1)
}

func orOwn(edit [][]byte, own []byte) [][]byte {
	if edit != nil {
		return edit
	}
	return [][]byte{own}
}

// isCall reports whether an item is a call that has its output elsewhere.
func isCall(object []byte) bool {
	it, err := readItem(object)
	return err == nil && it.kind == kindCall
}

// refused returns the call that an item stands for, and the item that takes its
// place; nil where it stands for none.
func (in *input) refused(object []byte) (*wire.Refused, []byte) {
	id := wire.TextIn(object, "id")
	switch wire.TextIn(object, "type") {
	case "item_reference":
		r := in.messages[id]
		if r == nil || in.ids[r.ID] || !speaks(r) {
			return nil, nil
		}
		own := wire.Find(r.Call, "id")
		if wire.IsNull(own) {
			return nil, nil
		}
		return r, wire.SetMember(object, "id", own)
	case "message", "":
		if role := wire.TextIn(object, "role"); role != "assistant" {
			return nil, nil
		}
		found := in.refusals.Split(textOf(wire.Find(object, "content")))
		if len(found) != 1 || in.ids[found[0].Refused.ID] || !speaks(found[0].Refused) {
			in.refusals.Restore(found)
			return nil, nil
		}
		r := found[0].Refused
		if id == "" {
			return r, withoutID(r.Call)
		}
		return r, r.Call
	}
	return nil, nil
}

// withoutID returns a call without its id, for a client that sends no ids: the
// API would want the reasoning that stood before it. A question for an approval
// is nothing without one.
func withoutID(call []byte) []byte {
	if wire.TextIn(call, "type") == "mcp_approval_request" {
		return call
	}
	return wire.WithoutMember(call, "id")
}

// textOf returns the text of a message that has one text only.
func textOf(content []byte) string {
	if wire.KindOf(content) == "an array" {
		var only []byte
		for e, err := range wire.Elements(content) {
			if err != nil || only != nil {
				return ""
			}
			only = e.Value
		}
		content = wire.Find(only, "text")
	}
	text, err := wire.Text(content)
	if err != nil {
		return ""
	}
	return text
}

// owed returns the outputs of the calls that were refused in a response or a
// conversation and of which the input says nothing, and how many calls they are.
func (in *input) owed(response, conversation string, refused []wire.Refused) (out [][]byte, n int) {
	var of []*wire.Refused
	for i := range refused {
		r := &refused[i]
		there := response != "" && r.Response == response || conversation != "" && r.Conversation == conversation
		if there && !in.ids[r.ID] {
			in.ids[r.ID] = true
			of = append(of, r)
		}
	}
	slices.SortStableFunc(of, func(a, b *wire.Refused) int { return a.Place - b.Place })
	for _, r := range of {
		out = append(out, outputs(r)...)
	}
	return out, len(of)
}

// written returns the input with the edits in it, and the outputs that are owed
// before all else.
func (in *input) written(value []byte, owed [][]byte) []byte {
	switch wire.KindOf(value) {
	case "a string":
		owed = append(owed, slices.Concat([]byte(`{"type":"message","role":"user","content":`), value, []byte("}")))
	case "an array":
		value = wire.RewriteElements(value, func(n int, item []byte) []byte {
			return bytes.Join(orOwn(in.edits[n], item), []byte{','})
		})
		if len(owed) == 0 {
			return value
		}
		if len(in.items) > 0 {
			owed = append(owed, nil) // a comma
		}
		return slices.Concat([]byte("["), bytes.Join(owed, []byte{','}), value[1:])
	}
	return wire.Array(owed...)
}
