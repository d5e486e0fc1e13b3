package mistral

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
	a := assembly{top: wire.Object{{Name: "object", Value: []byte(`"conversation.response"`)}}}
	for _, p := range slices.Concat(parts, rest) {
		switch t := p.Tag.(type) {
		case callTag:
			a.at(t.entry.index).whole = t.whole
		case event:
			if err := a.add(t); err != nil {
				return nil, fmt.Errorf("collecting a streamed answer in a conversation: %w", err)
			}
		}
	}
	return a.json()
}

// An assembly is a plain answer that grows.
type assembly struct {
	top     wire.Object
	entries []*assembled
	ended   bool
}

// An assembled entry grows from event to event.
type assembled struct {
	index   int
	whole   []byte // of a call
	members wire.Object
	typ     string
	joined  []byte   // the inside of the text or the arguments
	chunks  [][]byte // of a content that is a list
}

func (a *assembly) at(index int) *assembled {
	i := slices.IndexFunc(a.entries, func(e *assembled) bool { return e.index == index })
	if i < 0 {
		i = len(a.entries)
		a.entries = append(a.entries, &assembled{index: index, members: wire.Object{{Name: "object", Value: []byte(`"entry"`)}, {Name: "type"}}})
	}
	return a.entries[i]
}

// entryTypes are the types of the entries that events are pieces of.
var entryTypes = map[string]string{
	messageDelta: messageOutput, executionStarted: toolExecution, executionDelta: toolExecution, executionDone: toolExecution,
	handoffStarted: agentHandoff, handoffDone: agentHandoff,
}

func (a *assembly) add(e event) error {
	if e.entry == nil {
		return nil
	}
	switch e.entry.typ {
	case responseError:
		return errors.New("the stream ends in an error")
	case responseStarted:
		a.top.Set("conversation_id", wire.AppendText(nil, e.entry.response))
		return nil
	case responseDone:
		a.ended = true
		for m, err := range wire.Members(e.Data) {
			if name := string(m.Name); err == nil && name != "type" && name != "created_at" {
				a.top.Set(name, m.Value)
			}
		}
		return nil
	}
	typ := entryTypes[e.entry.typ]
	if typ == "" {
		return nil // what nobody knows
	}
	to := a.at(e.entry.index)
	if to.typ != "" && to.typ != typ || to.whole != nil {
		return fmt.Errorf("entry %d is of two types", e.entry.index)
	}
	to.typ = typ
	to.members.Set("type", []byte(`"`+typ+`"`))
	return to.grow(e.Data)
}

func (e *assembled) grow(data []byte) (err error) {
	for m, err := range wire.Members(data) {
		if err != nil {
			return err
		}
		switch name := string(m.Name); {
		case name == "type", name == "output_index", name == "content_index":
		case name == "content" && m.Value[0] != '"':
			e.flush()
			e.chunks = append(e.chunks, m.Value)
		case name == "content", name == "arguments":
			inside, err := wire.Inside(m.Value)
			if err != nil {
				return err
			}
			e.joined = append(e.joined, inside...)
			e.members.Set(name, nil)
		default:
			e.members.Set(name, m.Value)
		}
	}
	return nil
}

// flush makes a chunk of the text that came before another chunk.
func (e *assembled) flush() {
	if len(e.joined) > 0 {
		e.chunks = append(e.chunks, slices.Concat([]byte(`{"type":"text","text":"`), e.joined, []byte(`"}`)))
		e.joined = nil
	}
}

func (e *assembled) json() []byte {
	if e.whole != nil {
		return e.whole
	}
	text := slices.Concat([]byte{'"'}, e.joined, []byte{'"'})
	switch {
	case e.typ == toolExecution:
		e.members.Set("arguments", text)
	case e.typ == messageOutput && len(e.chunks) > 0:
		e.flush()
		e.members.Set("content", wire.Array(e.chunks...))
	case e.typ == messageOutput:
		e.members.Set("content", text)
	}
	return e.members.JSON()
}

func (a *assembly) json() ([]byte, error) {
	slices.SortStableFunc(a.entries, func(x, y *assembled) int { return x.index - y.index })
	var list [][]byte
	for _, e := range a.entries {
		list = append(list, e.json())
	}
	a.top.Set("outputs", wire.Array(list...))
	out := a.top.JSON()
	err := wire.Strict(out)
	if err == nil && !a.ended {
		err = errors.New("it has no end")
	}
	if err != nil {
		return nil, fmt.Errorf("collecting a streamed answer in a conversation: %w", err)
	}
	return out, nil
}

// Expand turns a plain answer into a stream that says the same: each entry whole.
func (*Codec) Expand(plain []byte) ([]byte, error) {
	a, err := readAnswer(plain)
	if err != nil {
		return nil, err
	}
	out := appendEvent(nil, responseStarted, wire.Object{{Name: "conversation_id", Value: orEmpty(wire.Find(plain, "conversation_id"))}})
	for _, e := range a.entries {
		if out, err = expandEntry(out, e); err != nil {
			return nil, fmt.Errorf("expanding an answer in a conversation: %w", err)
		}
	}
	var done wire.Object
	for m, err := range wire.Members(plain) {
		switch name := string(m.Name); {
		case err != nil:
			return nil, err
		case name != "object" && name != "conversation_id" && name != "outputs":
			done.Set(name, m.Value)
		}
	}
	return appendEvent(out, responseDone, done), nil
}

func orEmpty(text []byte) []byte {
	if wire.IsNull(text) {
		return []byte(`""`)
	}
	return text
}

// appendEvent appends an event with these members behind its type.
func appendEvent(dst []byte, typ string, members wire.Object) []byte {
	return wire.AppendEvent(dst, typ, append(members.AppendMembers([]byte(`{"type":"`+typ+`"`)), '}'))
}

// expandEntry appends the events of an entry.
func expandEntry(out []byte, e *entry) ([]byte, error) {
	members, err := wire.ObjectOf(wire.RewriteMembers(e.raw, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "type", "object", "completed_at", "content", "info", "next_agent_id", "next_agent_name":
			return nil
		case "arguments":
			if m.Value[0] != '"' {
				return wire.AppendText(nil, string(m.Value))
			}
		}
		return m.Value
	}))
	if err != nil {
		return nil, err
	}
	members.Set("output_index", number(e.index))
	if e.id == "" {
		members.Set("id", fmt.Appendf(nil, `"entry_%d"`, e.index))
	}
	last := wire.Object{{Name: "output_index", Value: number(e.index)}, {Name: "id", Value: members.Value("id")}}
	with := func(o wire.Object, names ...string) wire.Object {
		for _, name := range names {
			if value := wire.Find(e.raw, name); value != nil {
				o.Set(name, value)
			}
		}
		return o
	}
	switch e.typ {
	case functionCall:
		return appendEvent(out, functionDelta, members), nil
	case toolExecution:
		return appendEvent(appendEvent(out, executionStarted, members), executionDone, with(last, "name", "info")), nil
	case agentHandoff:
		return appendEvent(appendEvent(out, handoffStarted, members), handoffDone, with(last, "next_agent_id", "next_agent_name")), nil
	case messageOutput:
		return expandMessage(out, members, orEmpty(wire.Find(e.raw, "content")))
	}
	return nil, fmt.Errorf("an entry of type %.100q has no events", e.typ)
}

func expandMessage(out []byte, members wire.Object, content []byte) ([]byte, error) {
	chunks := [][]byte{content}
	if wire.KindOf(content) == "an array" {
		var err error
		if chunks, err = wire.List(content); err != nil {
			return nil, err
		}
	}
	for n, chunk := range chunks {
		members.Set("content_index", number(n))
		members.Set("content", chunk)
		out = appendEvent(out, messageDelta, members)
	}
	return out, nil
}
