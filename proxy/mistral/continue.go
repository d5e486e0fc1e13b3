package mistral

import (
	"errors"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls were
// refused: with the answer's own entries, and a result for each call that says why it
// was not run. It reports false where the provider keeps the conversation, for that goes
// on at another path, and where the answer has another call.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	a, err := readAnswer(answer)
	if err != nil || string(wire.Find(body, "store")) != "false" {
		return nil, false
	}
	inputs := wire.Find(body, "inputs")
	switch wire.KindOf(inputs) {
	case "a string":
		inputs = wire.Array([]byte(inputEntry(string(inputs))))
	case "an array":
	default:
		return nil, false
	}
	n := 0
	for _, e := range a.entries {
		inputs = wire.AppendElements(inputs, e.raw)
		if e.typ != functionCall {
			continue
		}
		if n == len(refused) || e.callID != refused[n].ID || e.pending {
			return nil, false
		}
		inputs = wire.AppendElements(inputs, result(&refused[n]))
		n++
	}
	if n != len(refused) {
		return nil, false
	}
	return wire.SetMember(body, "inputs", inputs), true
}

// Join makes one answer of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	said, then := wire.Find(first, "outputs"), wire.Find(next, "outputs")
	if wire.KindOf(said) != "an array" || wire.KindOf(then) != "an array" {
		return nil, errors.New("joining answers in a conversation: one has no outputs")
	}
	list, err := wire.List(then)
	if err != nil {
		return nil, err
	}
	out := wire.SetMember(next, "outputs", wire.AppendElements(said, list...))
	if usage := wire.SumNumbers(wire.Find(first, "usage"), wire.Find(next, "usage")); usage != nil {
		out = wire.SetMember(out, "usage", usage)
	}
	return out, nil
}

// Continuation begins to join streamed answers.
func (*Codec) Continuation() *wire.Continuation { return wire.NewContinuation(&joiner{}) }

// A joiner joins streamed answers: the entries of all are numbered on, and what it took
// to make them is added up.
type joiner struct {
	entries int // of all answers so far
	before  int // of those before this one
	total   []byte
	ended   bool
}

// Join implements [wire.Joiner]: the ending is all from the end of the response on.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	typ := wire.TextIn(e.Data, "type")
	j.ended = j.ended || typ == responseDone || typ == responseError || e.Data[0] != '{'
	switch {
	case j.ended:
		return nil, true
	case typ == responseStarted && answer > 0:
		return nil, false
	}
	index := wire.Find(e.Data, "output_index")
	n, err := wire.Ordinal(index)
	if err != nil {
		return e.Raw, false
	}
	j.entries = max(j.entries, j.before+n+1)
	if j.before == 0 {
		return e.Raw, false
	}
	return wire.AppendEvent(nil, e.Type, wire.SetMember(e.Data, "output_index", number(j.before+n))), false
}

// Begin implements [wire.Joiner]. A notice is an entry of its own, so that nothing has
// to stand between the two.
func (j *joiner) Begin(ending []wire.Event) []byte {
	for _, e := range ending {
		j.total = wire.SumNumbers(j.total, wire.Find(e.Data, "usage"))
	}
	j.ended, j.before = false, j.entries
	return nil
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		out = wire.AppendEvent(out, e.Type, wire.EditMember(e.Data, "usage", func(usage []byte) []byte { return wire.SumNumbers(j.total, usage) }))
	}
	return out
}
