package responses

import (
	"errors"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls
// were refused: with the answer's own items in the input, and behind the calls
// the outputs that say why they were not run. It reports false where the answer
// has another call, or reasoning that cannot be given back, and where the
// provider keeps what was said: a client that went on from the response by its
// id would find the calls there, and not what came of them.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	input, ok := asItems(wire.Find(body, "input"))
	if !ok || kept(body, answer) {
		return nil, false
	}
	var items, said [][]byte
	n := 0
	err := wire.EachElement(wire.Find(answer, "output"), func(object []byte) error {
		it, err := readItem(object)
		if err != nil {
			return err
		}
		if it.kind != kindCall {
			items, said = append(items, said...), nil
			if it.typ == "reasoning" && wire.IsEmpty(wire.Find(object, "encrypted_content")) && wire.IsEmpty(wire.Find(object, "content")) {
				return errors.New("reasoning is at the provider only")
			}
			items = append(items, object)
			return nil
		}
		if n >= len(refused) || refused[n].ID != it.key() || refused[n].Name != it.toolName() || !speaks(&refused[n]) {
			return errors.New("a call was not refused")
		}
		items, said = append(items, object), append(said, outputs(&refused[n])...)
		n++
		return nil
	})
	if err != nil || n != len(refused) {
		return nil, false
	}
	return wire.SetMember(body, "input", wire.AppendElements(input, append(items, said...)...)), true
}

// asItems returns the input of a request as a list of items.
func asItems(input []byte) (items []byte, ok bool) {
	switch wire.KindOf(input) {
	case "an array":
		return input, true
	case "a string":
		return slices.Concat([]byte(`[{"type":"message","role":"user","content":`), input, []byte("}]")), true
	}
	return nil, false
}

// kept reports whether the provider keeps the response, or may, or the request
// goes on from what it has kept.
func kept(body, answer []byte) bool {
	store := wire.Find(body, "store")
	if wire.IsNull(store) {
		store = wire.Find(answer, "store") // providers say what they took it for
	}
	background := wire.Find(body, "background")
	return string(store) != "false" || !wire.IsNull(background) && string(background) != "false" ||
		!wire.IsNull(wire.Find(body, "previous_response_id")) || !wire.IsNull(wire.Find(body, "conversation"))
}

// Join makes one response of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	if wire.KindOf(wire.Find(next, "output")) != "an array" {
		return nil, errors.New("joining responses: one has no output")
	}
	return joined(first, next), nil
}

// joined returns a response as the end of the one before: it has the items of
// both and the usage of both, and is the response that the client knows already.
func joined(first, next []byte) []byte {
	items, ok := asItems(wire.Find(first, "output"))
	if !ok {
		items = []byte("[]")
	}
	var more [][]byte
	_ = wire.EachElement(wire.Find(next, "output"), func(object []byte) error { more = append(more, object); return nil }) // it was read before
	out := wire.RewriteMembers(next, func(m wire.Member) []byte {
		if string(m.Name) == "output_text" {
			return nil // some providers': it would no longer be right
		}
		return m.Value
	})
	out = wire.SetMember(out, "output", wire.AppendElements(items, more...))
	for _, name := range []string{"id", "created_at"} {
		if v := wire.Find(first, name); v != nil {
			out = wire.SetMember(out, name, v)
		}
	}
	if usage := wire.SumNumbers(wire.Find(first, "usage"), wire.Find(next, "usage")); usage != nil {
		out = wire.SetMember(out, "usage", usage)
	}
	return out
}

// Continuation begins to join streamed answers.
func (*Codec) Continuation() *wire.Continuation { return wire.NewContinuation(&joiner{last: none}) }

// A joiner joins streamed answers.
type joiner struct {
	last   int64  // the sequence number that the client had last; none where there are none
	items  int    // of the answers so far
	before int    // of the answers before this one
	ended  bool   // this one
	first  []byte // the response that the answers before this one make
}

// Join implements [wire.Joiner]: the client sees one response begin, items
// without a gap, and one end. All from the end on is the ending.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	typ := ""
	if !wire.IsNoOp(e) {
		typ = wire.TextIn(e.Data, "type")
	}
	switch typ {
	case responseCompleted, responseIncomplete, responseFailed:
		j.ended = true
	case responseCreated, responseQueued, responseInProgress:
		if answer > 0 {
			return nil, false
		}
	}
	switch {
	case j.ended:
		return nil, true
	case typ == "":
		return e.Raw, false
	}
	data := j.moved(e.Data, typ, answer)
	if answer == 0 {
		return e.Raw, false
	}
	return wire.AppendEvent(nil, e.Type, data), false
}

// moved returns an event with the numbers that it has in the whole stream, and
// notes them.
func (j *joiner) moved(data []byte, typ string, answer int) []byte {
	return wire.RewriteMembers(data, func(m wire.Member) []byte {
		n, err := number(m.Value)
		if err != nil || n == none {
			return m.Value
		}
		switch string(m.Name) {
		case "output_index":
			n += int64(j.before)
			j.items = max(j.items, int(n)+1)
		case "sequence_number":
			switch {
			case answer > 0 && j.last != none && typ == keepalive: // it repeats what came last
				n = j.last
			case answer > 0 && j.last != none:
				n = j.last + 1
			}
			j.last = n
		default:
			return m.Value
		}
		return strconv.AppendInt(nil, n, 10)
	})
}

// Begin implements [wire.Joiner].
func (j *joiner) Begin(ending []wire.Event) []byte {
	for _, e := range ending {
		if r := wire.Find(e.Data, "response"); r != nil {
			if j.first != nil {
				r = joined(j.first, r)
			}
			j.first = r
		}
	}
	j.before, j.ended = j.items, false
	return nil
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, answer int) (out []byte) {
	for _, e := range ending {
		if wire.IsNoOp(e) {
			out = append(out, e.Raw...)
			continue
		}
		data := j.moved(e.Data, wire.TextIn(e.Data, "type"), answer)
		if r := wire.Find(data, "response"); r != nil && j.first != nil {
			data = wire.SetMember(data, "response", joined(j.first, r))
		}
		out = wire.AppendEvent(out, e.Type, data)
	}
	return out
}
