package cohere

import (
	"errors"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls were
// refused: with the answer's own message, and a message of the tool for each call that
// says why it was not run. It reports false where the answer has another call.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	a, err := readAnswer(answer)
	messages := wire.Find(body, "messages")
	if err != nil || len(a.calls) != len(refused) || wire.KindOf(messages) != "an array" {
		return nil, false
	}
	message := wire.Find(answer, "message")
	turn := wire.Object{{Name: "role", Value: []byte(`"assistant"`)}}
	for _, name := range []string{"tool_plan", "tool_calls", "content"} {
		if value := wire.Find(message, name); !wire.IsEmpty(value) {
			turn.Set(name, value)
		}
	}
	turns := [][]byte{turn.JSON()}
	for n, c := range a.calls {
		if c.id != refused[n].ID {
			return nil, false
		}
		turns = append(turns, result(&refused[n]))
	}
	return wire.SetMember(body, "messages", wire.AppendElements(messages, turns...)), true
}

// apart is the block that sets a notice apart from what follows it.
var apart = []byte(`{"type":"text","text":"\n\n"}`)

// Join makes one answer of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	said, then := wire.Find(first, "message"), wire.Find(next, "message")
	content, more := wire.Find(said, "content"), wire.Find(then, "content")
	if wire.KindOf(said) != "an object" || wire.KindOf(then) != "an object" || wire.KindOf(content) != "an array" || !wire.IsEmpty(more) && more[0] != '[' {
		return nil, errors.New("joining answers of Cohere: one has no content that can be joined")
	}
	list, err := wire.List(more)
	if err != nil {
		return nil, err
	}
	content = wire.AppendElements(content, append([][]byte{apart}, list...)...)
	plan, err := joined(nil, wire.Find(said, "tool_plan"))
	if err == nil {
		plan, err = joined(plan, wire.Find(then, "tool_plan"))
	}
	if err != nil {
		return nil, err
	}
	message := wire.Object{{Name: "role", Value: []byte(`"assistant"`)}}
	if len(plan) > 0 {
		message.Set("tool_plan", quoted(plan))
	}
	message.Set("content", content)
	for m, err := range wire.Members(then) {
		if name := string(m.Name); err == nil && message.Value(name) == nil {
			message.Set(name, m.Value)
		}
	}
	out := wire.SetMember(next, "message", message.JSON())
	if id := wire.Find(first, "id"); id != nil {
		out = wire.SetMember(out, "id", id)
	}
	if usage := wire.SumNumbers(wire.Find(first, "usage"), wire.Find(next, "usage")); usage != nil {
		out = wire.SetMember(out, "usage", usage)
	}
	return out, nil
}

// Continuation begins to join streamed answers.
func (*Codec) Continuation() *wire.Continuation { return wire.NewContinuation(&joiner{}) }

// A joiner joins streamed answers: the blocks of all are numbered on, and what it took
// to make them is added up.
type joiner struct {
	blocks int    // of all answers so far
	before int    // of those before this one
	total  []byte // the usage of those before
	ended  bool
}

// Join implements [wire.Joiner]: the ending is all from the message-end on. No call of
// the answers before reaches the client, so calls are numbered right.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	typ := wire.TextIn(e.Data, "type")
	j.ended = j.ended || typ == messageEnd || e.Data[0] != '{'
	switch {
	case j.ended:
		return nil, true
	case typ == messageStart && answer > 0:
		return nil, false
	case typ == contentStart:
		if n, err := wire.Ordinal(wire.Find(e.Data, "index")); err == nil {
			j.blocks = max(j.blocks, j.before+n+1)
		}
	}
	if data := moved(typ, e.Data, j.before); data != nil {
		return wire.AppendEvent(nil, e.Type, data), false
	}
	return e.Raw, false
}

// Begin implements [wire.Joiner]: a notice is set apart from what follows.
func (j *joiner) Begin(ending []wire.Event) []byte {
	for _, e := range ending {
		j.total = wire.SumNumbers(j.total, wire.Find(wire.Find(e.Data, "delta"), "usage"))
	}
	j.ended = false
	out := appendText(nil, j.blocks, wire.Quote(wire.Apart))
	j.blocks++
	j.before = j.blocks
	return out
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		out = wire.AppendEvent(out, e.Type, within(e.Data, func(delta []byte) []byte {
			return wire.EditMember(delta, "usage", func(usage []byte) []byte { return wire.SumNumbers(j.total, usage) })
		}, "delta"))
	}
	return out
}
