package gemini

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole stream of server-sent events into the plain answer that
// says the same: the parts of each candidate in order, a call that came in
// fragments whole, and of every other member the last value.
func (*Codec) Collect(raw []byte) ([]byte, error) {
	s := newStream(&events{})
	parts, err := s.Push(raw)
	if err != nil {
		return nil, err
	}
	rest, err := s.End()
	if err != nil {
		return nil, err
	}
	a := assembly{candidates: map[int]*assembled{}}
	for _, p := range append(parts, rest...) {
		switch t := p.Tag.(type) {
		case chunk:
			err = a.add(t)
		case callTag:
			if t.last {
				for _, c := range t.group {
					if err == nil {
						err = a.add(c)
					}
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("collecting a streamed answer of Gemini: %w", err)
		}
	}
	return a.bytes(), nil
}

// Expand turns a plain answer into a stream that says the same: one event.
func (*Codec) Expand(plain []byte) ([]byte, error) {
	if _, err := readAnswer(plain); err != nil {
		return nil, fmt.Errorf("expanding an answer of Gemini: %w", err)
	}
	return wire.AppendEvent(nil, "", plain), nil
}

// An assembly gathers the responses of a stream.
type assembly struct {
	wrapped    bool
	outer, top wire.Object // beside and inside the response
	candidates map[int]*assembled
}

// An assembled candidate has its own members, those of its content, and parts.
type assembled struct {
	members, content wire.Object
	parts            [][]byte
}

func (a *assembly) add(c chunk) error {
	if c.response == nil {
		return nil
	}
	if wire.Find(c.frame.data, "error") != nil {
		return fmt.Errorf("the stream ends in an error")
	}
	object, top := c.frame.data, &a.top
	if c.response.wrapped {
		a.wrapped = true
		for m, err := range wire.Members(object) {
			if err == nil && string(m.Name) != "response" {
				a.outer.Set(string(m.Name), m.Value)
			}
		}
		object = wire.Find(object, "response")
	}
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		if string(m.Name) != "candidates" {
			top.Set(string(m.Name), m.Value)
			continue
		}
		n := 0
		for e, err := range wire.Elements(m.Value) {
			if err != nil {
				return err
			}
			if err := a.candidate(&c.response.candidates[n], e.Value); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

func (a *assembly) candidate(c *candidate, object []byte) error {
	to := a.candidates[c.index]
	if to == nil {
		to = &assembled{}
		a.candidates[c.index] = to
	}
	for m, err := range wire.Members(object) {
		switch {
		case err != nil:
			return err
		case string(m.Name) == "index":
		case string(m.Name) != "content" || wire.IsNull(m.Value):
			to.members.Set(string(m.Name), m.Value)
		default:
			if err := to.take(c, m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *assembled) take(c *candidate, content []byte) error {
	for m, err := range wire.Members(content) {
		switch {
		case err != nil:
			return err
		case string(m.Name) != "parts" || wire.IsNull(m.Value):
			t.content.Set(string(m.Name), m.Value)
			continue
		}
		n := 0
		for e, err := range wire.Elements(m.Value) {
			if err != nil {
				return err
			}
			if part := whole(c, n, e.Value); part != nil {
				t.parts = append(t.parts, part)
			}
			n++
		}
	}
	return nil
}

// whole returns the part with its call whole, or nil where that went before.
func whole(c *candidate, n int, part []byte) []byte {
	i := slices.IndexFunc(c.fragments, func(f fragment) bool { return f.part == n })
	if i < 0 {
		return part
	}
	f := c.fragments[i]
	if f.call.partial == nil {
		return part
	}
	if f.call.begun {
		return nil
	}
	f.call.begun = true
	f.call.verdict.Arguments = f.call.partial.append(nil)
	return wire.RewriteMembers(part, func(m wire.Member) []byte {
		if string(m.Name) == f.member {
			return f.call.edited(f.value)
		}
		return m.Value
	})
}

func (a *assembly) bytes() []byte {
	b := []byte(`{"candidates":[`)
	for i, index := range slices.Sorted(maps.Keys(a.candidates)) {
		if i > 0 {
			b = append(b, ',')
		}
		c := a.candidates[index]
		b = append(b, `{"content":{"parts":[`...)
		for j, p := range c.parts {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, p...)
		}
		b = append(c.content.AppendMembers(append(b, ']')), '}')
		b = fmt.Appendf(c.members.AppendMembers(b), `,"index":%d}`, index)
	}
	b = append(a.top.AppendMembers(append(b, ']')), '}')
	if a.wrapped {
		b = append([]byte(`{"response":`), b...)
		b = append(a.outer.AppendMembers(b), '}')
	}
	return b
}
