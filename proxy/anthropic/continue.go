package anthropic

import (
	"fmt"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls
// were refused: with the answer's own content, and a result for each call that
// says why it was not run. It reports false where the answer has another call.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	content, messages := wire.Find(answer, "content"), wire.Find(body, "messages")
	if wire.KindOf(content) != "an array" || wire.KindOf(messages) != "an array" {
		return nil, false
	}
	var results [][]byte
	for block, err := range wire.Elements(content) {
		if err != nil {
			return nil, false
		}
		if typ := wire.TextIn(block.Value, "type"); typ != "tool_use" {
			continue
		}
		n := len(results)
		id, err := wire.Text(wire.Find(block.Value, "id"))
		if err != nil || n >= len(refused) || refused[n].ID != id {
			return nil, false
		}
		results = append(results, []byte(`{"type":"tool_result","tool_use_id":`+wire.Quote(id)+`,"is_error":true,"content":`+wire.Quote(refused[n].Notice)+`}`))
	}
	if len(results) != len(refused) {
		return nil, false
	}
	turn := []byte(`{"role":"assistant","content":` + string(content) + `}`)
	told := []byte(`{"role":"user","content":` + string(wire.AppendElements([]byte("[]"), results...)) + `}`)
	return wire.EditMember(body, "messages", func(value []byte) []byte { return wire.AppendElements(value, turn, told) }), true
}

// Join makes one message of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	message, err := wire.ObjectOf(first)
	if err != nil {
		return nil, fmt.Errorf("joining messages: %w", err)
	}
	var blocks [][]byte
	for e, err := range wire.Elements(wire.Find(next, "content")) {
		if err != nil {
			return nil, fmt.Errorf("joining messages: %w", err)
		}
		blocks = append(blocks, e.Value)
	}
	message.Set("content", wire.AppendElements(message.Value("content"), blocks...))
	for _, name := range []string{"stop_reason", "stop_sequence", "stop_details"} {
		if v := wire.Find(next, name); v != nil {
			message.Set(name, v)
		}
	}
	if usage := wire.SumNumbers(message.Value("usage"), wire.Find(next, "usage")); usage != nil {
		message.Set("usage", usage)
	}
	return message.JSON(), nil
}

// Continuation begins to join streamed messages.
func (c *Codec) Continuation() *wire.Continuation { return wire.NewContinuation(c.Joiner()) }

// Joiner begins to join the events of streamed messages, in whatever frames.
func (*Codec) Joiner() wire.Joiner { return &joiner{} }

// A joiner joins streamed messages.
type joiner struct {
	blocks int    // of the answers so far
	before int    // of the answers before this one
	usage  []byte // of this one, as far as it has come
	total  []byte // of the answers before
}

// Join implements [wire.Joiner]: the client sees one message_start, blocks
// without a gap, and one end.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	typ := wire.TextIn(e.Data, "type")
	switch typ {
	case messageStart:
		j.usage = wire.Find(wire.Find(e.Data, "message"), "usage")
		if answer > 0 {
			return nil, false
		}
	case messageDelta:
		j.usage = overlaid(j.usage, wire.Find(e.Data, "usage"))
		return nil, true
	case messageStop:
		return nil, true
	case blockStart, blockDelta, blockStop:
		if typ == blockStart {
			j.blocks++
		}
		if j.before == 0 {
			break
		}
		data := wire.EditMember(e.Data, "index", func(own []byte) []byte {
			n, err := strconv.Atoi(string(own))
			if err != nil {
				return own
			}
			return strconv.AppendInt(nil, int64(n+j.before), 10)
		})
		return wire.AppendEvent(nil, e.Type, data), false
	}
	return e.Raw, false
}

// overlaid returns the usage of a message_start with what its message_delta
// says: those numbers are totals.
func overlaid(start, delta []byte) []byte {
	if wire.KindOf(start) != "an object" {
		return delta
	}
	f, err := wire.ObjectOf(start)
	if err != nil {
		return delta
	}
	for m, err := range wire.Members(delta) {
		if err != nil {
			return start
		}
		if !wire.IsNull(m.Value) {
			f.Set(string(m.Name), m.Value)
		}
	}
	return f.JSON()
}

// Begin implements [wire.Joiner].
func (j *joiner) Begin([]wire.Event) []byte {
	j.total, j.usage = wire.SumNumbers(j.total, j.usage), nil
	j.before = j.blocks
	return nil
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		if typ := wire.TextIn(e.Data, "type"); typ != messageDelta {
			out = append(out, e.Raw...)
			continue
		}
		f, err := wire.ObjectOf(e.Data)
		if err != nil {
			return append(out, e.Raw...)
		}
		if usage := wire.SumNumbers(j.total, j.usage); usage != nil {
			f.Set("usage", usage)
		}
		out = wire.AppendEvent(out, e.Type, f.JSON())
	}
	return out
}
