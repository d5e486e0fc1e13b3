package gemini

import (
	"errors"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Continue returns the request that goes on from an answer all of whose calls
// were refused: with the answer's own content, and a response to each call that
// says why it was not run. It reports false where the answer has another call,
// or another candidate.
func (*Codec) Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	if !isWrapped(answer) {
		return goOn(body, answer, refused)
	}
	request := wire.Find(body, "request")
	if wire.KindOf(request) != "an object" {
		return nil, false
	}
	request, ok := goOn(request, inside(answer), refused)
	return wire.SetMember(body, "request", request), ok
}

// isWrapped reports whether an answer has Code Assist's form.
func isWrapped(answer []byte) bool {
	return wire.KindOf(wire.Find(answer, "response")) == "an object"
}

// inside returns the response in an answer of either form.
func inside(answer []byte) []byte {
	if isWrapped(answer) {
		return wire.Find(answer, "response")
	}
	return answer
}

// within returns an answer of either form with another response in it.
func within(answer []byte, change func(response []byte) []byte) []byte {
	if isWrapped(answer) {
		return wire.SetMember(answer, "response", change(wire.Find(answer, "response")))
	}
	return change(answer)
}

func goOn(body, answer []byte, refused []wire.Refused) ([]byte, bool) {
	content := wire.Find(onlyCandidate(answer), "content")
	contents := wire.Find(body, "contents")
	if wire.KindOf(content) != "an object" || wire.KindOf(contents) != "an array" {
		return nil, false
	}
	var calls []*wire.Refused
	for part, err := range wire.Elements(wire.Find(content, "parts")) {
		if err != nil {
			return nil, false
		}
		for m, err := range wire.Members(part.Value) {
			if err != nil {
				return nil, false
			}
			if plainName(string(m.Name)) != memberFunction {
				continue
			}
			n := len(calls)
			if c := mentioned(m.Value); n >= len(refused) || c.Tool != refused[n].Name || c.ID != refused[n].ID {
				return nil, false
			}
			calls = append(calls, &refused[n])
		}
	}
	if len(calls) != len(refused) {
		return nil, false
	}
	told := slices.Concat([]byte(`{"role":"user","parts":`), wire.AppendElements([]byte("[]"), responses(calls)...), []byte("}"))
	return wire.SetMember(body, "contents", wire.AppendElements(contents, wire.SetMember(content, "role", []byte(`"model"`)), told)), true
}

// onlyCandidate returns the candidate of an answer that has one; else nil.
func onlyCandidate(answer []byte) (only []byte) {
	for e, err := range wire.Elements(wire.Find(answer, "candidates")) {
		if err != nil || only != nil {
			return nil
		}
		only = e.Value
	}
	return only
}

// withParts returns an answer of one candidate with these parts.
func withParts(answer []byte, parts []byte) []byte {
	candidate := onlyCandidate(answer)
	content := wire.Find(candidate, "content")
	if wire.KindOf(content) != "an object" {
		content = []byte(`{"role":"model"}`)
	}
	candidate = wire.SetMember(candidate, "content", wire.SetMember(content, "parts", parts))
	return wire.SetMember(answer, "candidates", wire.AppendElements([]byte("[]"), candidate))
}

// apart are the parts that set a notice apart from what follows it.
func apart() []byte { return appendPart(nil, wire.Apart) }

// Join makes one answer of two, the second of which goes on from the first.
func (*Codec) Join(first, next []byte) ([]byte, error) {
	if isWrapped(first) != isWrapped(next) {
		return nil, errors.New("joining answers of Gemini: one has Code Assist's form and one has not")
	}
	both, err := join(inside(first), inside(next))
	if err != nil {
		return nil, err
	}
	return within(next, func([]byte) []byte { return both }), nil
}

func join(first, next []byte) ([]byte, error) {
	said, more := onlyCandidate(first), onlyCandidate(next)
	if said == nil || more == nil {
		return nil, errors.New("joining answers of Gemini: one has not exactly one candidate")
	}
	parts := wire.Find(wire.Find(said, "content"), "parts")
	if wire.KindOf(parts) != "an array" {
		parts = []byte("[]")
	}
	added := [][]byte{apart()}
	then := wire.Find(wire.Find(more, "content"), "parts")
	if wire.KindOf(then) == "an array" {
		for e, err := range wire.Elements(then) {
			if err != nil {
				return nil, err
			}
			added = append(added, e.Value)
		}
	}
	out := withParts(next, wire.AppendElements(parts, added...))
	if id := wire.Find(first, "responseId"); id != nil {
		out = wire.SetMember(out, "responseId", id)
	}
	if usage := wire.SumNumbers(wire.Find(first, "usageMetadata"), wire.Find(next, "usageMetadata")); usage != nil {
		out = wire.SetMember(out, "usageMetadata", usage)
	}
	return out, nil
}

// Continuation begins to join streamed answers.
func (*Codec) Continuation() *wire.Continuation { return wire.NewContinuation(&joiner{}) }

// A joiner joins streamed answers.
type joiner struct {
	id    []byte // of the first answer
	ended bool   // this one
	usage []byte // of this one, as far as it has come: each chunk says all
	total []byte // of the answers before
}

// Join implements [wire.Joiner]: the ending is all from the finishReason on.
func (j *joiner) Join(e wire.Event, answer int) ([]byte, bool) {
	chunk := inside(e.Data)
	if u := wire.Find(chunk, "usageMetadata"); !wire.IsNull(u) {
		j.usage = u
	}
	if answer == 0 && j.id == nil {
		j.id = wire.Find(chunk, "responseId")
	}
	j.ended = j.ended || !wire.IsNull(wire.Find(onlyCandidate(chunk), "finishReason"))
	switch {
	case j.ended:
		return nil, true
	case answer == 0:
		return e.Raw, false
	}
	return wire.AppendEvent(nil, e.Type, within(e.Data, j.asFirst)), false
}

// asFirst returns a chunk as one of the first answer.
func (j *joiner) asFirst(chunk []byte) []byte {
	return wire.RewriteMembers(chunk, func(m wire.Member) []byte {
		switch name := string(m.Name); {
		case name == "responseId" && j.id != nil:
			return j.id
		case name == "usageMetadata" && !wire.IsNull(m.Value):
			return wire.SumNumbers(j.total, m.Value)
		}
		return m.Value
	})
}

// Begin implements [wire.Joiner]: what the last chunks say besides that they are
// the last goes on.
func (j *joiner) Begin(ending []wire.Event) (out []byte) {
	for i, e := range ending {
		chunk := within(e.Data, j.asFirst)
		candidate := onlyCandidate(inside(chunk))
		if candidate == nil {
			continue
		}
		open := wire.RewriteMembers(candidate, func(m wire.Member) []byte {
			if name := string(m.Name); name == "finishReason" || name == "finishMessage" {
				return nil
			}
			return m.Value
		})
		chunk = within(chunk, func(response []byte) []byte {
			return wire.SetMember(response, "candidates", wire.AppendElements([]byte("[]"), open))
		})
		out = wire.AppendEvent(out, e.Type, chunk)
		if i == len(ending)-1 {
			between := func(response []byte) []byte {
				return withParts(response, wire.AppendElements([]byte("[]"), apart()))
			}
			out = wire.AppendEvent(out, e.Type, within(chunk, between))
		}
	}
	j.total, j.usage = wire.SumNumbers(j.total, j.usage), nil
	j.ended = false
	return out
}

// End implements [wire.Joiner].
func (j *joiner) End(ending []wire.Event, _ int) (out []byte) {
	for _, e := range ending {
		out = wire.AppendEvent(out, e.Type, within(e.Data, j.asFirst))
	}
	return out
}
