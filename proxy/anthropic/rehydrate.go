package anthropic

import (
	"bytes"
	"slices"
	"sync"

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
	call := []byte(`{"type":"tool_use","id":` + wire.Quote(id) + `,"name":` + wire.Quote(name) + `,"input":`)
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
	if tools := wire.Find(body, "tools"); len(tools) == 0 || !bytes.ContainsAny(tools, "{") {
		return body, 0, nil
	}
	h := history{
		refusals: wire.NewRefusals(refused), thinking: wire.TextIn(wire.Find(body, "thinking"), "type") == "enabled", // so the API wants a thought before a call
		ids: sync.OnceValue(func() map[string]bool { return idsIn(wire.Find(body, "messages")) }),
	}
	return wire.Turns{
		List: "messages", PutBack: h.turn,
		Answer: func(turn, next []byte, calls []*wire.Refused) (_, _ []byte) { return turn, withResults(next, calls) },
	}.Rehydrate(body)
}

// A history is what is known of the messages of a request.
type history struct {
	refusals *wire.Refusals
	thinking bool
	ids      func() map[string]bool // of the calls that are in it: the API refuses two of one id
}

// turn returns a message with the calls put back whose notices are in it, and
// the calls.
func (h *history) turn(message, next []byte) ([]byte, []*wire.Refused) {
	if wire.TextIn(message, "role") != "assistant" || !takesResults(next) {
		return nil, nil
	}
	content := wire.Find(message, "content")
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
		out = wire.Array(blocksOf(passages, []byte(`{"type":"text","text":""}`)))
	case "an array":
		thought := false
		out, passages = h.refusals.Blocks(content, func(n int, block []byte) (string, bool) {
			typ := wire.TextIn(block, "type")
			thought = thought || n == 0 && (typ == "thinking" || typ == "redacted_thinking")
			text, err := wire.Text(wire.Find(block, "text"))
			return text, typ == "text" && err == nil && (thought || !h.thinking)
		}, blocksOf)
	}
	if passages == nil {
		return nil, nil
	}
	calls := h.refusals.Take(passages, h.ids())
	if len(calls) == 0 {
		return nil, nil
	}
	return wire.SetMember(message, "content", out), calls
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

// idsIn returns the ids of the calls in messages.
func idsIn(messages []byte) map[string]bool {
	ids := make(map[string]bool)
	for m, err := range wire.Elements(messages) {
		if err != nil {
			break
		}
		for e, err := range wire.Elements(wire.Find(m.Value, "content")) {
			if err != nil {
				break // it is a string
			}
			if wire.TextIn(e.Value, "type") != "tool_use" {
				continue
			}
			if id, err := wire.Text(wire.Find(e.Value, "id")); err == nil {
				ids[id] = true
			}
		}
	}
	return ids
}

// withResults returns a user's message with the results of refused calls before
// all else: the API wants results first.
func withResults(message []byte, calls []*wire.Refused) []byte {
	var results [][]byte
	for _, r := range calls {
		results = append(results, []byte(`{"type":"tool_result","tool_use_id":`+wire.Quote(r.ID)+`,"is_error":true,"content":`+wire.Quote(r.Notice)+`}`))
	}
	return wire.EditMember(message, "content", func(content []byte) []byte {
		switch wire.KindOf(content) {
		case "a string":
			if len(content) > len(`""`) {
				results = append(results, slices.Concat([]byte(`{"type":"text","text":`), content, []byte("}")))
			}
			return wire.Array(results...)
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
	return wire.TextIn(message, "role") == "user" && (kind == "a string" || kind == "an array")
}
