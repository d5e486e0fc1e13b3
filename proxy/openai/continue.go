package openai

import (
	"errors"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls
// were refused: with the answer's own message, and a tool message for each call
// that says why it was not run. It reports false where the answer has another
// call, or another choice.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	message, ok := onlyMessage(answer)
	if messages := wire.Find(body, "messages"); !ok || wire.KindOf(messages) != "an array" {
		return nil, false
	}
	calls := wire.Find(message, "tool_calls")
	turns := [][]byte{nil}
	for e, err := range wire.Elements(calls) {
		n := len(turns) - 1
		if err != nil || n >= len(refused) {
			return nil, false
		}
		if id, err := wire.Text(wire.Find(e.Value, "id")); err != nil || id != refused[n].ID {
			return nil, false
		}
		turns = append(turns, result(&refused[n]))
	}
	if len(turns)-1 != len(refused) {
		return nil, false
	}
	content := wire.Find(message, "content")
	if content == nil {
		content = []byte("null")
	}
	turns[0] = []byte(`{"role":"assistant","content":` + string(content) + `,"tool_calls":` + string(calls) + `}`)
	return wire.SetMember(body, "messages", wire.AppendElements(wire.Find(body, "messages"), turns...)), true
}

// onlyMessage returns the message of an answer that has one choice.
func onlyMessage(answer []byte) (message []byte, ok bool) {
	for e, err := range wire.Elements(wire.Find(answer, "choices")) {
		if err != nil || message != nil {
			return nil, false
		}
		message = wire.Find(e.Value, "message")
		ok = message != nil
	}
	return message, ok
}

// Join makes one answer of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	message, ok1 := onlyMessage(first)
	then, ok2 := onlyMessage(next)
	if !ok1 || !ok2 {
		return nil, errors.New("joining chat answers: one has not exactly one choice")
	}
	said, err1 := wire.TextOrNull(wire.Find(message, "content"))
	more, err2 := wire.TextOrNull(wire.Find(then, "content"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if said != "" && more != "" {
		said += wire.Apart
	}
	for m, err := range wire.Members(then) {
		if err != nil {
			return nil, err
		}
		switch name := string(m.Name); name {
		case "role":
		case "content":
			message = wire.SetMember(message, name, wire.AppendText(nil, said+more))
		default:
			message = wire.SetMember(message, name, m.Value)
		}
	}
	var choice []byte
	for e, err := range wire.Elements(wire.Find(next, "choices")) {
		if err != nil {
			return nil, err
		}
		choice = wire.SetMember(e.Value, "message", message)
	}
	out := wire.SetMember(first, "choices", wire.AppendElements([]byte("[]"), choice))
	if usage := wire.SumNumbers(wire.Find(first, "usage"), wire.Find(next, "usage")); usage != nil {
		out = wire.SetMember(out, "usage", usage)
	}
	return out, nil
}

// Continuation begins to join streamed answers.
func (*Codec) Continuation() *wire.Continuation { return wire.NewContinuation(&joiner{}) }

// A joiner joins streamed answers.
type joiner struct {
	id, created []byte // of the first answer
	ended       bool   // this one
	usage       []byte // of this one, as far as it has come
	total       []byte // of the answers before
	begins      bool   // an answer has begun of which nothing was seen
}

// Join implements [wire.Joiner]: chunks are of one answer, whose role is said
// once, and the ending is all from the finish_reason on. No call of the answers
// before reaches the client, so calls are numbered right.
func (j *joiner) Join(e wire.Event, answer int) (out []byte, ending bool) {
	if e.Data[0] != '{' {
		return nil, true // [DONE]
	}
	if u := wire.Find(e.Data, "usage"); !wire.IsNull(u) {
		j.usage = u
	}
	if answer == 0 && j.id == nil {
		j.id, j.created = wire.Find(e.Data, "id"), wire.Find(e.Data, "created")
	}
	j.ended = j.ended || finishes(e.Data)
	if j.ended {
		return nil, true
	}
	if answer == 0 {
		return e.Raw, false
	}
	data := j.asFirst(e.Data)
	if j.begins {
		// A notice ends its line, so that it is known again.
		j.begins = false
		out = wire.AppendEvent(out, e.Type, withChoices(data, `{"index":0,"delta":{"content":"\n\n"},"finish_reason":null}`))
	}
	return append(out, wire.AppendEvent(nil, e.Type, data)...), false
}

// finishes reports whether a chunk ends its choice.
func finishes(chunk []byte) bool {
	for c, err := range wire.Elements(wire.Find(chunk, "choices")) {
		if err != nil {
			return false
		}
		if !wire.IsNull(wire.Find(c.Value, "finish_reason")) {
			return true
		}
	}
	return false
}

// asFirst returns a chunk as one of the first answer.
func (j *joiner) asFirst(chunk []byte) []byte {
	return wire.RewriteMembers(chunk, func(m wire.Member) []byte {
		switch name := string(m.Name); {
		case name == "id" && j.id != nil:
			return j.id
		case name == "created" && j.created != nil:
			return j.created
		case name == "usage" && !wire.IsNull(m.Value):
			return wire.SumNumbers(j.total, m.Value)
		case name == "choices" && wire.KindOf(m.Value) == "an array":
			return wire.RewriteElements(m.Value, func(_ int, choice []byte) []byte { return withoutRole(choice) })
		}
		return m.Value
	})
}

// withoutRole returns a choice of a chunk whose delta says no role: some clients
// add up what they are told.
func withoutRole(choice []byte) []byte {
	delta := wire.Find(choice, "delta")
	if wire.Find(delta, "role") == nil {
		return choice
	}
	return wire.SetMember(choice, "delta", wire.WithoutMember(delta, "role"))
}

func withChoices(chunk []byte, choices string) []byte {
	return wire.SetMember(chunk, "choices", []byte("["+choices+"]"))
}

// Begin implements [wire.Joiner]: what the last chunks say besides that they are
// the last goes on.
func (j *joiner) Begin(ending []wire.Event) (out []byte) {
	for _, e := range ending {
		if chunk := e.Data; chunk[0] == '{' && speaks(chunk) {
			out = wire.AppendEvent(out, e.Type, j.open(chunk))
		}
	}
	j.total, j.usage = wire.SumNumbers(j.total, j.usage), nil
	j.ended, j.begins = false, true
	return out
}

// speaks reports whether a chunk has text.
func speaks(chunk []byte) bool {
	for c, err := range wire.Elements(wire.Find(chunk, "choices")) {
		if err == nil && !wire.IsEmpty(wire.Find(wire.Find(c.Value, "delta"), "content")) {
			return true
		}
	}
	return false
}

// open returns a chunk that ends nothing, as one of the first answer.
func (j *joiner) open(chunk []byte) []byte {
	return wire.RewriteMembers(j.asFirst(chunk), func(m wire.Member) []byte {
		switch string(m.Name) {
		case "usage":
			return nil
		case "choices":
			return wire.RewriteElements(m.Value, func(_ int, choice []byte) []byte {
				return wire.SetMember(choice, "finish_reason", []byte("null"))
			})
		}
		return m.Value
	})
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		if e.Data[0] != '{' {
			out = append(out, e.Raw...)
			continue
		}
		out = wire.AppendEvent(out, e.Type, j.asFirst(e.Data))
	}
	return out
}
