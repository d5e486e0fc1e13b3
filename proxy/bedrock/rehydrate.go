package bedrock

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false where no request could have the call in its history: it has
// no id, or its arguments are no object.
func (*Converse) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	if p.Call == nil || p.Call.ID == "" || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	call := fmt.Appendf(nil, `{"toolUse":{"toolUseId":%s,"name":%s,"input":%s}}`, text(p.Call.ID), text(p.Call.Tool.Name), p.Call.Tool.Arguments)
	return wire.Refused{Notice: notice, Call: call, ID: p.Call.ID, Name: p.Call.Tool.Name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a result
// of status error that says the notice into the user's turn behind. It returns
// how many. Where the API would refuse the call there, the notice stays: in a
// request without tools, before anything but a user's turn, beside another call
// of the same id, and where thinking is demanded and the turn has none.
func (*Converse) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	if wire.IsEmpty(wire.Find(wire.Find(body, "toolConfig"), "tools")) {
		return body, 0, nil
	}
	h := history{refusals: wire.NewRefusals(refused), ids: map[string]bool{}}
	thinking, err := wire.Text(wire.Find(wire.Find(wire.Find(body, "additionalModelRequestFields"), "thinking"), "type"))
	h.thinking = err == nil && thinking == "enabled"
	err = wire.EachElement(wire.Find(body, "messages"), func(message []byte) error {
		h.messages = append(h.messages, message)
		return wire.EachElement(wire.Find(message, "content"), func(block []byte) error {
			if id, err := wire.Text(wire.Find(wire.Find(block, toolUse), "toolUseId")); err == nil {
				h.ids[id] = true
			}
			return nil
		})
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading messages of a request: %w", err)
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
	return within(body, "messages", func(list []byte) []byte {
		return wire.RewriteElements(list, func(n int, message []byte) []byte {
			if edit, ok := edits[n]; ok {
				return edit
			}
			return message
		})
	}), count, nil
}

// A history is the messages of a request.
type history struct {
	messages [][]byte
	refusals *wire.Refusals
	thinking bool            // is demanded
	ids      map[string]bool // of the calls that are in it
}

// turn returns message i with the calls put back whose notices are in it, and
// the calls.
func (h *history) turn(i int) ([]byte, []*wire.Refused) {
	content, next := wire.Find(h.messages[i], "content"), h.messages[i+1]
	if roleOf(h.messages[i]) != "assistant" || roleOf(next) != "user" ||
		wire.KindOf(content) != "an array" || wire.KindOf(wire.Find(next, "content")) != "an array" {
		return nil, nil
	}
	var passages []wire.Passage
	thought := false
	out := wire.RewriteElements(content, func(n int, block []byte) []byte {
		thought = thought || n == 0 && wire.Find(block, "reasoningContent") != nil
		words, err := wire.Text(wire.Find(block, "text"))
		if err != nil || h.thinking && !thought {
			return block
		}
		found := h.refusals.Split(words)
		if found == nil {
			return block
		}
		passages = append(passages, found...)
		var blocks [][]byte
		for _, p := range found {
			if p.Refused != nil {
				blocks = append(blocks, p.Refused.Call)
			} else {
				blocks = append(blocks, plainText(p.Text))
			}
		}
		return bytes.Join(blocks, []byte{','})
	})
	calls := wire.Calls(passages)
	twice := func(r *wire.Refused) bool { return h.ids[r.ID] }
	if len(calls) == 0 || slices.ContainsFunc(calls, twice) {
		h.refusals.Restore(passages)
		return nil, nil
	}
	for _, r := range calls {
		h.ids[r.ID] = true
	}
	return within(h.messages[i], "content", func([]byte) []byte { return out }), calls
}

// withResults returns a user's message with the results of refused calls before
// all else.
func withResults(message []byte, calls []*wire.Refused) []byte {
	var blocks [][]byte
	for _, r := range calls {
		blocks = append(blocks, fmt.Appendf(nil, `{"toolResult":{"toolUseId":%s,"content":[{"text":%s}],"status":"error"}}`, text(r.ID), text(r.Notice)))
	}
	return within(message, "content", func(content []byte) []byte {
		if !wire.IsEmpty(content) {
			blocks = append(blocks, bytes.TrimSpace(content[1:len(content)-1]))
		}
		return slices.Concat([]byte("["), bytes.Join(blocks, []byte{','}), []byte("]"))
	})
}

func roleOf(message []byte) string {
	role, _ := wire.Text(wire.Find(message, "role"))
	return role
}
