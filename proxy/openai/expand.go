package openai

import (
	"fmt"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Expand turns a plain answer into a stream that says the same: for each
// choice its message without the calls, every call whole in a chunk of its
// own, and its end; then the usage, and [DONE].
func (c *Codec) Expand(plain []byte) ([]byte, error) {
	a, err := c.Answer(plain)
	if err != nil {
		return nil, err
	}
	x := expansion{head: []byte(`{"object":"chat.completion.chunk"`), answer: a.(*answer)}
	var choices, usage []byte
	for m, err := range wire.Members(plain) {
		if err != nil {
			return nil, fmt.Errorf("expanding a chat answer: %w", err)
		}
		switch string(m.Name) {
		case "object":
		case "choices":
			choices = m.Value
		case "usage":
			usage = m.Value
		default:
			x.head = append(append(x.head, ','), plain[m.Start:m.End]...)
		}
	}
	if !wire.IsNull(choices) {
		n := 0
		for e, err := range wire.Elements(choices) {
			if err != nil {
				return nil, fmt.Errorf("expanding a chat answer: %w", err)
			}
			x.choice(n, e.Value)
			n++
		}
	}
	if !wire.IsNull(usage) {
		x.event(nil, usage)
	}
	return append(x.out, "data: [DONE]\n\n"...), nil
}

// An expansion is a stream in the making.
type expansion struct {
	head   []byte // the start of each chunk
	answer *answer
	out    []byte
}

// event appends a chunk.
func (x *expansion) event(choice, usage []byte) {
	b := append([]byte(nil), x.head...)
	b = append(append(append(b, `,"choices":[`...), choice...), ']')
	if usage != nil {
		b = append(append(b, `,"usage":`...), usage...)
	}
	x.out = wire.AppendEvent(x.out, "", append(b, '}'))
}

func (x *expansion) choice(n int, object []byte) {
	ch, st := &x.answer.choices[n], x.answer.states[n]
	index := strconv.Itoa(ch.index)
	delta, others, finish := []byte("{}"), []byte(nil), []byte("null")
	for m, err := range wire.Members(object) {
		if err != nil {
			return // Answer has read it all: this cannot be
		}
		switch string(m.Name) {
		case "index":
		case "message":
			if !wire.IsNull(m.Value) {
				delta = wire.RewriteMembers(m.Value, func(m wire.Member) []byte {
					if k := string(m.Name); k == "tool_calls" || k == "function_call" {
						return nil
					}
					return m.Value
				})
			}
		case "finish_reason":
			finish = m.Value
		default:
			others = append(append(others, ','), object[m.Start:m.End]...)
		}
	}
	start := `{"index":` + index + `,"delta":`
	end := `,"finish_reason":`
	x.event([]byte(start+string(delta)+string(others)+end+"null}"), nil)
	position := 0
	for _, k := range st.calls {
		var b []byte
		if k.legacy {
			b = append(k.appendBody([]byte(`{"function_call":`)), '}')
		} else {
			b = append(k.appendElement([]byte(`{"tool_calls":[`), position), "]}"...)
			position++
		}
		x.event([]byte(start+string(b)+end+"null}"), nil)
	}
	x.event([]byte(start+"{}"+end+string(finish)+"}"), nil)
}
