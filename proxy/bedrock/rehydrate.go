package bedrock

import (
	"bytes"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false where no request could have the call in its history: it has
// no id, or its arguments are no object.
func (*Converse) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	if p.Call == nil || p.Call.ID == "" || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	call := fmt.Appendf(nil, `{"toolUse":{"toolUseId":%s,"name":%s,"input":%s}}`, wire.Quote(p.Call.ID), wire.Quote(p.Call.Tool.Name), p.Call.Tool.Arguments)
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
	h.thinking = wire.TextIn(wire.Find(wire.Find(body, "additionalModelRequestFields"), "thinking"), "type") == "enabled"
	err := wire.EachElement(wire.Find(body, "messages"), func(message []byte) error {
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
	return wire.Turns{
		List: "messages", PutBack: h.turn,
		Answer: func(turn, next []byte, calls []*wire.Refused) (_, _ []byte) { return turn, withResults(next, calls) },
	}.Rehydrate(body)
}

// A history is what is known of the messages of a request.
type history struct {
	refusals *wire.Refusals
	thinking bool            // is demanded
	ids      map[string]bool // of the calls that are in it
}

// turn returns a message with the calls put back whose notices are in it, and
// the calls.
func (h *history) turn(message, next []byte) ([]byte, []*wire.Refused) {
	content := wire.Find(message, "content")
	if wire.TextIn(message, "role") != "assistant" || wire.TextIn(next, "role") != "user" ||
		wire.KindOf(content) != "an array" || wire.KindOf(wire.Find(next, "content")) != "an array" {
		return nil, nil
	}
	thought := false
	out, passages := h.refusals.Blocks(content, func(n int, block []byte) (string, bool) {
		thought = thought || n == 0 && wire.Find(block, "reasoningContent") != nil
		words, err := wire.Text(wire.Find(block, "text"))
		return words, err == nil && (thought || !h.thinking)
	}, func(found []wire.Passage, _ []byte) []byte {
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
	calls := h.refusals.Take(passages, h.ids)
	if len(calls) == 0 {
		return nil, nil
	}
	return wire.SetMember(message, "content", out), calls
}

// withResults returns a user's message with the results of refused calls before
// all else.
func withResults(message []byte, calls []*wire.Refused) []byte {
	var blocks [][]byte
	for _, r := range calls {
		blocks = append(blocks, fmt.Appendf(nil, `{"toolResult":{"toolUseId":%s,"content":[{"text":%s}],"status":"error"}}`, wire.Quote(r.ID), wire.Quote(r.Notice)))
	}
	return wire.EditMember(message, "content", func(content []byte) []byte {
		if !wire.IsEmpty(content) {
			blocks = append(blocks, bytes.TrimSpace(content[1:len(content)-1]))
		}
		return wire.Array(blocks...)
	})
}
