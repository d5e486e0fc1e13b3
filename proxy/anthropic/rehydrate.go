package anthropic

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false where no request could have the call in its history: it has
// no id, or its arguments are no object.
func (c *Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	if p.Call == nil || p.Fixed || p.Call.ID == "" || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	id, name := p.Call.ID, p.Call.Tool.Name
	call := []byte(`{"type":"tool_use","id":` + quote(id) + `,"name":` + quote(name) + `,"input":`)
	call = append(append(call, p.Call.Tool.Arguments...), '}')
	return wire.Refused{Notice: notice, Call: call, ID: id, Name: name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a result
// with is_error that says the notice into the user's turn behind. It returns
// how many. Where the API would refuse the call there, the notice stays: in a
// request without tools, in the last turn, before an assistant's turn, beside
// another call of the same id, and where thinking is demanded and the turn has
// none.
func (c *Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	h := history{refusals: wire.NewRefusals(refused), thinking: demandsThinking(wire.Find(body, "thinking"))}
	if tools := wire.Find(body, "tools"); len(tools) == 0 || !bytes.ContainsAny(tools, "{") {
		return body, 0, nil
	}
	messages := wire.Find(body, "messages")
	for e, err := range wire.Elements(messages) {
		if err != nil {
			return nil, 0, fmt.Errorf("reading messages of a request: %w", err)
		}
		h.messages = append(h.messages, e.Value)
	}
	edits := make(map[int][]byte) // by message
	count := 0
	for i := 0; i+1 < len(h.messages); i++ {
		turn, calls := h.turn(i)
		if len(calls) == 0 {
			continue
		}
		edits[i], edits[i+1] = turn, withResults(h.messages[i+1], calls)
		count += len(calls)
	}
	if count == 0 {
		return body, 0, nil
	}
	return changed(body, "messages", func(value []byte) []byte {
		return wire.RewriteElements(value, func(n int, message []byte) []byte {
			if edit, ok := edits[n]; ok {
				return edit
			}
			return message
		})
	}), count, nil
}

// demandsThinking reports whether the API wants a turn with calls to begin with
// a thought.
func demandsThinking(thinking []byte) bool {
	typ, err := wire.Text(wire.Find(thinking, "type"))
	return err == nil && typ == "enabled"
}

// A history is the messages of a request.
type history struct {
	messages [][]byte
	refusals *wire.Refusals
	thinking bool
	ids      map[string]bool // of the calls that are in it
}

// turn returns message i with the calls put back whose notices are in it, and
// the calls.
func (h *history) turn(i int) ([]byte, []*wire.Refused) {
	if roleOf(h.messages[i]) != "assistant" || !takesResults(h.messages[i+1]) {
		return nil, nil
	}
	content := wire.Find(h.messages[i], "content")
	var passages []wire.Passage
	var out []byte
	switch wire.KindOf(content) {
	case "a string":
		text, err := wire.Text(content)
		if err != nil || h.thinking {
			return nil, nil
		}
		if passages = h.refusals.Split(text); passages == nil {
			return nil, nil
		}
		out = slices.Concat([]byte("["), blocksOf(passages, []byte(`{"type":"text","text":""}`)), []byte("]"))
	case "an array":
		thought := false
		out = wire.RewriteElements(content, func(n int, block []byte) []byte {
			typ, _ := wire.Text(wire.Find(block, "type"))
			thought = thought || n == 0 && (typ == "thinking" || typ == "redacted_thinking")
			text, err := wire.Text(wire.Find(block, "text"))
			if typ != "text" || err != nil || h.thinking && !thought {
				return block
			}
			found := h.refusals.Split(text)
			if found == nil {
				return block
			}
			passages = append(passages, found...)
			return blocksOf(found, block)
		})
	}
	calls := wire.Calls(passages)
	if len(calls) == 0 {
		return nil, nil
	}
	for i, r := range calls {
		if h.has(r.ID) {
			h.refusals.Restore(passages)
			for _, own := range calls[:i] {
				delete(h.ids, own.ID)
			}
			return nil, nil
		}
		h.ids[r.ID] = true
	}
	return changed(h.messages[i], "content", func([]byte) []byte { return out }), calls
}

// blocksOf returns the blocks of a text's passages. The last one keeps what
// else the text's block says, which is where the cache is to be cut.
func blocksOf(passages []wire.Passage, block []byte) []byte {
	cache := wire.Find(block, "cache_control")
	var out [][]byte
	for i, p := range passages {
		b := plainText(p.Text)
		if p.Refused != nil {
			b = p.Refused.Call
		}
		if i == len(passages)-1 && cache != nil {
			b = wire.AppendMember(b, "cache_control", cache)
		}
		out = append(out, b)
	}
	return bytes.Join(out, []byte{','})
}

// has reports whether a call of the request has the id: the API refuses two.
func (h *history) has(id string) bool {
	if h.ids == nil {
		h.ids = make(map[string]bool)
		for _, m := range h.messages {
			for e, err := range wire.Elements(wire.Find(m, "content")) {
				if err != nil {
					break // it is a string
				}
				if typ, _ := wire.Text(wire.Find(e.Value, "type")); typ != "tool_use" {
					continue
				}
				if other, err := wire.Text(wire.Find(e.Value, "id")); err == nil {
					h.ids[other] = true
				}
			}
		}
	}
	return h.ids[id]
}

// withResults returns a user's message with the results of refused calls before
// all else: the API wants results first.
func withResults(message []byte, calls []*wire.Refused) []byte {
	var results [][]byte
	for _, r := range calls {
		results = append(results, []byte(`{"type":"tool_result","tool_use_id":`+quote(r.ID)+`,"is_error":true,"content":`+quote(r.Notice)+`}`))
	}
	return changed(message, "content", func(content []byte) []byte {
		switch wire.KindOf(content) {
		case "a string":
			if len(content) > len(`""`) {
				results = append(results, slices.Concat([]byte(`{"type":"text","text":`), content, []byte("}")))
			}
			return slices.Concat([]byte("["), bytes.Join(results, []byte{','}), []byte("]"))
		case "an array":
			rest := content[1:]
			if trimmed := bytes.TrimLeft(rest, " \t\r\n"); trimmed[0] != ']' {
				results = append(results, nil) // a comma
			}
			return slices.Concat([]byte("["), bytes.Join(results, []byte{','}), rest)
		}
		return content
	})
}

// takesResults reports whether results can be put into a message.
func takesResults(message []byte) bool {
	kind := wire.KindOf(wire.Find(message, "content"))
	return roleOf(message) == "user" && (kind == "a string" || kind == "an array")
}

func roleOf(message []byte) string {
	role, _ := wire.Text(wire.Find(message, "role"))
	return role
}
