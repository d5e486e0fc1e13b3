package ollama

import (
	"errors"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls
// were refused: with the answer's own message, and a message of the tool for each
// call that says why it was not run. It reports false where the answer has
// another call, and for one of generate, whose requests have no history.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	message, messages := wire.Find(answer, "message"), wire.Find(body, "messages")
	if wire.KindOf(message) != "an object" || wire.KindOf(messages) != "an array" {
		return nil, false
	}
	calls, err := readCalls(wire.Find(message, "tool_calls"))
	if err != nil || len(calls) != len(refused) {
		return nil, false
	}
	turns := [][]byte{message}
	for n, c := range calls {
		if c.id != refused[n].ID || c.name != refused[n].Name {
			return nil, false
		}
		turns = append(turns, result(&refused[n]))
	}
	return wire.SetMember(body, "messages", wire.AppendElements(messages, turns...)), true
}

// Join makes one answer of two, the second of which goes on from the first: what
// it took to make them is added up.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	said, then := wire.Find(first, "message"), wire.Find(next, "message")
	if wire.KindOf(said) != "an object" || wire.KindOf(then) != "an object" {
		return nil, errors.New("joining answers of Ollama: one has no message")
	}
	var o wire.Object
	for _, message := range [][]byte{said, apart, then} {
		for m, err := range wire.Members(message) {
			if err != nil {
				return nil, err
			}
			add(&o, m)
		}
	}
	return wire.SetMember(wire.SumNumbers(first, next), "message", o.JSON()), nil
}

// apart is the message that sets a notice apart from what follows it.
var apart = []byte(`{"content":"\n\n"}`)

// Continuation begins to join streamed answers.
func (*Codec) Continuation() *wire.Continuation { return wire.NewLineContinuation(&joiner{}) }

// A joiner joins streamed answers.
type joiner struct {
	ended bool   // this answer
	total []byte // the last lines of the answers before, added up
}

// Join implements [wire.Joiner]: the ending is all from the line on that says so.
func (j *joiner) Join(e wire.Event, _ int) ([]byte, bool) {
	j.ended = j.ended || string(wire.Find(e.Data, "done")) == "true"
	if j.ended {
		return nil, true
	}
	return e.Raw, false
}

// Begin implements [wire.Joiner]: what the last line says besides that it is the
// last goes on, and sets a notice apart from what follows.
func (j *joiner) Begin(ending []wire.Event) (out []byte) {
	for _, e := range ending {
		message := wire.Find(e.Data, "message")
		if wire.KindOf(message) != "an object" {
			continue
		}
		var o wire.Object
		for _, object := range [][]byte{message, apart} {
			for m, err := range wire.Members(object) {
				if err == nil {
					add(&o, m)
				}
			}
		}
		out = wire.AppendLine(out, wire.RewriteMembers(e.Data, func(m wire.Member) []byte {
			switch string(m.Name) {
			case "model", "created_at":
				return m.Value
			case "message":
				return o.JSON()
			case "done":
				return []byte("false")
			}
			return nil
		}))
		j.total = wire.SumNumbers(j.total, e.Data)
	}
	j.ended = false
	return out
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		out = wire.AppendLine(out, wire.EditMember(wire.SumNumbers(j.total, e.Data), "message", func([]byte) []byte { return wire.Find(e.Data, "message") }))
	}
	return out
}
