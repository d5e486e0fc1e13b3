package interactions

import (
	"errors"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls were
// refused: with the answer's own steps, and a result for each call that says why it was not
// run. It reports false where the provider keeps the interaction, for the client may name
// either of the two then, and where the answer has another call.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	a, err := readAnswer(answer)
	if err != nil || string(wire.Find(body, "store")) != "false" {
		return nil, false
	}
	steps, err := inputSteps(wire.Find(body, "input"))
	if err != nil || len(steps) == 0 {
		return nil, false
	}
	n := 0
	for _, s := range a.steps {
		steps = append(steps, s.raw)
		if s.typ != functionCall {
			continue
		}
		if n == len(refused) || s.id != refused[n].ID {
			return nil, false
		}
		steps = append(steps, result(&refused[n]))
		n++
	}
	if n != len(refused) {
		return nil, false
	}
	return wire.SetMember(body, "input", wire.Array(steps...)), true
}

// Join makes one answer of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	said, then := wire.Find(first, "steps"), wire.Find(next, "steps")
	if wire.KindOf(said) != "an array" || wire.KindOf(then) != "an array" {
		return nil, errors.New("joining interactions: one has no steps")
	}
	list, err := wire.List(then)
	if err != nil {
		return nil, err
	}
	out := wire.SetMember(next, "steps", wire.AppendElements(said, list...))
	if usage := wire.SumNumbers(wire.Find(first, "usage"), wire.Find(next, "usage")); usage != nil {
		out = wire.SetMember(out, "usage", usage)
	}
	return out, nil
}

// Continuation begins to join streamed answers.
func (*Codec) Continuation() *wire.Continuation { return wire.NewContinuation(&joiner{}) }

// A joiner joins streamed answers: the steps of all are numbered on, and what it took to
// make them is added up.
type joiner struct {
	steps  int // of all answers so far
	before int // of those before this one
	total  []byte
	ended  bool
}

// Join implements [wire.Joiner]: the ending is all from the end of the interaction on.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	typ := wire.TextIn(e.Data, "event_type")
	j.ended = j.ended || typ == completed || typ == failed || e.Data[0] != '{'
	switch {
	case j.ended:
		return nil, true
	case typ == created && answer > 0:
		return nil, false
	}
	n, err := wire.Ordinal(wire.Find(e.Data, "index"))
	if err != nil {
		return e.Raw, false
	}
	j.steps = max(j.steps, j.before+n+1)
	if j.before == 0 {
		return e.Raw, false
	}
	return wire.AppendEvent(nil, e.Type, wire.SetMember(e.Data, "index", number(j.before+n))), false
}

// Begin implements [wire.Joiner]. A notice is a step of its own, so that nothing has to
// stand between the two.
func (j *joiner) Begin(ending []wire.Event) []byte {
	for _, e := range ending {
		j.total = wire.SumNumbers(j.total, wire.Find(wire.Find(e.Data, "interaction"), "usage"))
	}
	j.ended, j.before = false, j.steps
	return nil
}

// End implements [wire.Joiner]. Steps that the last answer repeats are not those of all of
// them.
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		data := wire.EditMember(e.Data, "interaction", func(interaction []byte) []byte {
			interaction = wire.EditMember(interaction, "usage", func(usage []byte) []byte { return wire.SumNumbers(j.total, usage) })
			return wire.WithoutMember(interaction, "steps")
		})
		if e.Data[0] != '{' {
			data = e.Data
		}
		out = wire.AppendEvent(out, e.Type, data)
	}
	return out
}
