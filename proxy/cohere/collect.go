package cohere

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole stream into the plain answer that says the same: texts and
// arguments are joined as they are written.
func (c *Codec) Collect(raw []byte) ([]byte, error) {
	s := c.stream()
	parts, err := s.Push(raw)
	if err != nil {
		return nil, err
	}
	rest, err := s.End()
	if err != nil {
		return nil, err
	}
	a := assembly{}
	for _, p := range slices.Concat(parts, rest) {
		switch t := p.Tag.(type) {
		case callTag:
			a.calls = append(a.calls, withArguments(t.call.raw, quoted(t.call.args)))
		case event:
			if err := a.add(t); err != nil {
				return nil, fmt.Errorf("collecting a streamed answer of Cohere: %w", err)
			}
		}
	}
	return a.json()
}

// An assembly is a plain answer that grows.
type assembly struct {
	top       wire.Object
	plan      []byte
	blocks    []block
	calls     [][]byte
	citations [][]byte
	ended     bool
}

// A block is one of the content: its members, and the text that grows.
type block struct {
	index   int
	members wire.Object
	name    string // of the member with the text
	text    []byte
}

func (a *assembly) add(e event) (err error) {
	delta := wire.Find(e.Data, "delta")
	message := wire.Find(delta, "message")
	content := wire.Find(message, "content")
	switch e.typ {
	case messageStart:
		if id := wire.Find(e.Data, "id"); id != nil {
			a.top.Set("id", id)
		}
	case planDelta:
		a.plan, err = joined(a.plan, wire.Find(message, "tool_plan"))
	case contentStart:
		var b block
		if b.members, err = wire.ObjectOf(content); err == nil {
			b.index = e.index
			a.blocks = append(a.blocks, b)
			err = a.grow(e.index, content)
		}
	case contentDelta:
		err = a.grow(e.index, content)
	case citationStart:
		if citation := wire.Find(message, "citations"); wire.KindOf(citation) == "an object" {
			a.citations = append(a.citations, citation)
		}
	case messageEnd:
		a.ended = true
		for m, err := range wire.Members(delta) {
			switch {
			case err != nil:
				return err
			case string(m.Name) == "error" && !wire.IsNull(m.Value):
				return errors.New("the stream ends in an error")
			case string(m.Name) != "message":
				a.top.Set(string(m.Name), m.Value)
			}
		}
	}
	return err
}

// grow adds what a content says to the block of this index.
func (a *assembly) grow(index int, content []byte) (err error) {
	at := slices.IndexFunc(a.blocks, func(b block) bool { return b.index == index })
	if at < 0 {
		return fmt.Errorf("block %d has no start", index)
	}
	b := &a.blocks[at]
	for _, name := range []string{"text", "thinking"} {
		if value := wire.Find(content, name); !wire.IsNull(value) {
			b.name = name
			if b.text, err = joined(b.text, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined returns the inside of a text with that of another behind it.
func joined(text, value []byte) ([]byte, error) {
	more, err := wire.Inside(value)
	return append(text, more...), err
}

func quoted(inside []byte) []byte { return slices.Concat([]byte{'"'}, inside, []byte{'"'}) }

func (a *assembly) json() ([]byte, error) {
	message := wire.Object{{Name: "role", Value: []byte(`"assistant"`)}}
	if len(a.plan) > 0 {
		message.Set("tool_plan", quoted(a.plan))
	}
	var blocks [][]byte
	for _, b := range a.blocks {
		if b.name != "" {
			b.members.Set(b.name, quoted(b.text))
		}
		blocks = append(blocks, b.members.JSON())
	}
	for _, l := range []struct {
		name   string
		values [][]byte
	}{{"content", blocks}, {"tool_calls", a.calls}, {"citations", a.citations}} {
		if len(l.values) > 0 {
			message.Set(l.name, wire.Array(l.values...))
		}
	}
	a.top.Set("message", message.JSON())
	out := a.top.JSON()
	err := wire.Strict(out)
	if err == nil && !a.ended {
		err = errors.New("it has no end")
	}
	if err != nil {
		return nil, fmt.Errorf("collecting a streamed answer of Cohere: %w", err)
	}
	return out, nil
}

// Expand turns a plain answer into a stream that says the same: each block and each
// call whole.
func (*Codec) Expand(plain []byte) ([]byte, error) {
	a, err := readAnswer(plain)
	if err != nil {
		return nil, err
	}
	var out []byte
	id := wire.Find(plain, "id")
	if id == nil {
		id = []byte(`""`)
	}
	out = appendEvent(out, messageStart, `"id":`+string(id)+`,"delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}`)
	message := wire.Find(plain, "message")
	if plan := wire.Find(message, "tool_plan"); !wire.IsEmpty(plan) {
		out = appendEvent(out, planDelta, `"delta":{"message":{"tool_plan":`+string(plan)+`}}`)
	}
	if out, err = expandContent(out, wire.Find(message, "content")); err != nil {
		return nil, fmt.Errorf("expanding an answer of Cohere: %w", err)
	}
	n := 0
	_ = wire.EachElement(wire.Find(message, "citations"), func(citation []byte) error {
		out = appendEvent(out, citationStart, fmt.Sprintf(`"index":%d,"delta":{"message":{"citations":%s}}`, n, citation))
		out = appendEvent(out, citationEnd, fmt.Sprintf(`"index":%d`, n))
		n++
		return nil
	})
	for i, c := range a.calls {
		out = appendEvent(out, callStart, fmt.Sprintf(`"index":%d,"delta":{"message":{"tool_calls":%s}}`, i, withArguments(c.raw, []byte(`""`))))
		if len(c.args) > 0 {
			out = appendArguments(out, i, string(quoted(c.args)))
		}
		out = appendEvent(out, callEnd, fmt.Sprintf(`"index":%d`, i))
	}
	var end wire.Object
	for m, err := range wire.Members(plain) {
		if name := string(m.Name); err == nil && name != "id" && name != "message" {
			end.Set(name, m.Value)
		}
	}
	return appendEvent(out, messageEnd, `"id":`+string(id)+`,"delta":`+string(end.JSON())), nil
}

// expandContent appends the blocks of a content, which may be a text.
func expandContent(out, content []byte) ([]byte, error) {
	if wire.KindOf(content) == "a string" {
		return appendText(out, 0, string(content)), nil
	}
	n := 0
	err := wire.EachElement(content, func(b []byte) error {
		start, delta := b, []byte("{}")
		for _, name := range []string{"text", "thinking"} {
			if value := wire.Find(b, name); !wire.IsNull(value) {
				start, delta = wire.SetMember(start, name, []byte(`""`)), wire.SetMember(delta, name, value)
			}
		}
		out = appendEvent(out, contentStart, fmt.Sprintf(`"index":%d,"delta":{"message":{"content":%s}}`, n, start))
		out = appendEvent(out, contentDelta, fmt.Sprintf(`"index":%d,"delta":{"message":{"content":%s}}`, n, delta))
		out = appendEvent(out, contentEnd, fmt.Sprintf(`"index":%d`, n))
		n++
		return nil
	})
	return out, err
}
