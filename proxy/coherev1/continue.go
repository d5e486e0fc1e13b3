package coherev1

import (
	"errors"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls were
// refused: with what was asked and the answer in the history, and a result for each call
// that says why it was not run. It reports false where the provider keeps the history, and
// where the answer has another call.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	a, err := readAnswer(answer)
	history := wire.Find(body, "chat_history")
	if err != nil || len(a.reply.calls) != len(refused) || !wire.IsEmpty(wire.Find(body, "conversation_id")) {
		return nil, false
	}
	if wire.IsNull(history) {
		history = []byte("[]")
	}
	if wire.KindOf(history) != "an array" {
		return nil, false
	}
	if message := wire.Find(body, "message"); !wire.IsEmpty(message) {
		history = wire.AppendElements(history, []byte(`{"role":"USER","message":`+string(message)+`}`))
	}
	if results, err := wire.List(wire.Find(body, "tool_results")); err != nil || len(results) > 0 {
		history = wire.AppendElements(history, toolMessage(results...))
	}
	turn := wire.Object{{Name: "role", Value: []byte(`"CHATBOT"`)}, {Name: "message", Value: wire.Find(answer, "text")}, {Name: "tool_calls", Value: wire.Find(answer, "tool_calls")}}
	history = wire.AppendElements(history, turn.JSON())
	var results [][]byte
	for n, c := range a.reply.calls {
		if c.name != refused[n].Name {
			return nil, false
		}
		results = append(results, result(&refused[n]))
	}
	out := wire.SetMember(wire.SetMember(body, "chat_history", history), "message", []byte(`""`))
	return wire.SetMember(out, "tool_results", wire.Array(results...)), true
}

// Join makes one answer of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	said, err := wire.Text(wire.Find(first, "text"))
	then, err2 := wire.Text(wire.Find(next, "text"))
	if err = errors.Join(err, err2); err != nil {
		return nil, errors.New("joining answers of Cohere: one has no text")
	}
	out := wire.SetMember(next, "text", wire.AppendText(nil, said+wire.Apart+then))
	if meta := wire.SumNumbers(wire.Find(first, "meta"), wire.Find(next, "meta")); meta != nil {
		out = wire.SetMember(out, "meta", meta)
	}
	return out, nil
}

// Continuation begins to join answers that are streamed in lines.
func (*Codec) Continuation() *wire.Continuation { return wire.NewLineContinuation(&joiner{}) }

// A joiner joins streamed answers.
type joiner struct {
	ended  bool
	before string // the text of the answers before
	total  []byte // what it took to make them
}

// Join implements [wire.Joiner]: the ending is the end of the stream.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	typ := wire.TextIn(e.Data, "event_type")
	j.ended = j.ended || typ == streamEnd
	switch {
	case j.ended:
		return nil, true
	case typ == streamStart && answer > 0:
		return nil, false
	}
	return e.Raw, false
}

// Begin implements [wire.Joiner]: a notice is set apart from what follows.
func (j *joiner) Begin(ending []wire.Event) []byte {
	for _, e := range ending {
		response := wire.Find(e.Data, "response")
		j.before += wire.TextIn(response, "text") + wire.Apart
		j.total = wire.SumNumbers(j.total, wire.Find(response, "meta"))
	}
	j.ended = false
	w := writer{lines: true}
	return w.made(nil, textGeneration, `"text":`+wire.Quote(wire.Apart))
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		data := wire.EditMember(e.Data, "response", func(response []byte) []byte {
			response = wire.EditMember(response, "meta", func(meta []byte) []byte { return wire.SumNumbers(j.total, meta) })
			return wire.EditMember(response, "text", func(text []byte) []byte {
				own, _ := wire.TextOrNull(text)
				return wire.AppendText(nil, j.before+own)
			})
		})
		if e.Data == nil {
			out = append(out, e.Raw...)
			continue
		}
		out = wire.AppendLine(out, data)
	}
	return out
}
