package openai

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole stream into the plain answer that says the same: texts
// are joined as they are written, calls are whole, and of every other member
// the last value counts. A stream that ends in an error has no plain form.
func (*Codec) Collect(raw []byte) ([]byte, error) {
	s := newStream() // finds the calls, and refuses what is not understood
	if _, err := s.Push(raw); err != nil {
		return nil, err
	}
	if _, err := s.End(); err != nil {
		return nil, err
	}
	a := assembly{choices: make(map[int]*assembled)}
	var events wire.EventScanner
	events.Push(raw)
	events.End()
	for {
		ev, ok, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("collecting a chat stream: %w", err)
		}
		if !ok {
			return a.bytes(s), nil
		}
		data := bytes.Trim(ev.Data, blanks)
		if len(data) == 0 || string(data) == "[DONE]" {
			continue
		}
		if err := a.add(data); err != nil {
			return nil, fmt.Errorf("collecting a chat stream: %w", err)
		}
	}
}

// An assembly gathers the chunks of a stream.
type assembly struct {
	top     node
	choices map[int]*assembled
}

// An assembled choice has its own members, and those of its message but for
// the calls.
type assembled struct{ members, message node }

func (a *assembly) add(chunk []byte) error {
	for m, err := range wire.Members(chunk) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "choices":
			if err := a.addChoices(m.Value); err != nil {
				return err
			}
		case "error":
			if !wire.IsNull(m.Value) {
				return errors.New("the stream ends in an error")
			}
		case "object":
		default:
			a.top.member(string(m.Name)).set(m.Value)
		}
	}
	return nil
}

func (a *assembly) addChoices(array []byte) error {
	if wire.IsNull(array) {
		return nil
	}
	n := 0
	for e, err := range wire.Elements(array) {
		if err != nil {
			return err
		}
		index, err := readIndex(wire.Find(e.Value, "index"), n)
		if err != nil {
			return err
		}
		n++
		c := a.choices[index]
		if c == nil {
			c = &assembled{}
			c.message.member("role").set([]byte(`"assistant"`))
			c.message.member("content").set([]byte("null"))
			a.choices[index] = c
		}
		for m, err := range wire.Members(e.Value) {
			if err != nil {
				return err
			}
			switch string(m.Name) {
			case "index":
			case "delta":
				c.message.merge("", m.Value)
			case "logprobs":
				c.members.member("logprobs").merge("logprobs", m.Value)
			default:
				c.members.member(string(m.Name)).set(m.Value)
			}
		}
	}
	return nil
}

// bytes writes the plain answer with the calls that s has found.
func (a *assembly) bytes(s *stream) []byte {
	b := []byte(`{"object":"chat.completion"`)
	for _, name := range a.top.names {
		b = append(wire.AppendText(append(b, ','), name), ':')
		b = a.top.members[name].append(b)
	}
	b = append(b, `,"choices":[`...)
	for i, index := range slices.Sorted(maps.Keys(a.choices)) {
		if i > 0 {
			b = append(b, ',')
		}
		c := a.choices[index]
		b = strconv.AppendInt(append(b, `{"index":`...), int64(index), 10)
		b = append(b, `,"message":`...)
		b = append(b, appendCalls(c.message.append(nil), s.choices[index])...)
		for _, name := range c.members.names {
			b = append(wire.AppendText(append(b, ','), name), ':')
			b = c.members.members[name].append(b)
		}
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

func appendCalls(message []byte, st *choiceState) []byte {
	if st == nil {
		return message
	}
	var elements [][]byte
	for _, k := range st.calls {
		if k.legacy {
			message = wire.AppendMember(message, "function_call", k.appendBody(nil))
		} else {
			elements = append(elements, k.appendElement(nil, -1))
		}
	}
	if len(elements) == 0 {
		return message
	}
	list := append([]byte{'['}, bytes.Join(elements, []byte{','})...)
	return wire.AppendMember(message, "tool_calls", append(list, ']'))
}

// A node is a JSON value that grows from chunk to chunk.
type node struct {
	kind    byte   // the value's first byte; 0 where there is none yet
	inner   []byte // what stands between quotes or brackets; else the value
	names   []string
	members map[string]*node
}

func (n *node) member(name string) *node {
	c := n.members[name]
	if c == nil {
		if n.members == nil {
			n.kind, n.members = '{', make(map[string]*node)
		}
		c = &node{}
		n.members[name] = c
		n.names = append(n.names, name)
	}
	return c
}

// set replaces the value, but not by null.
func (n *node) set(value []byte) {
	if n.kind == 0 || !wire.IsNull(value) {
		*n = node{kind: 'v', inner: value}
	}
}

// merge adds the value of a member: texts and lists are joined, objects are
// merged, and anything else is replaced. Calls are left out, for they are
// found elsewhere.
func (n *node) merge(name string, value []byte) {
	if wire.IsNull(value) {
		if n.kind == 0 {
			n.set(value)
		}
		return
	}
	switch kind := value[0]; {
	case kind == '{':
		if n.kind != '{' {
			*n = node{kind: '{', members: make(map[string]*node)}
		}
		for m, err := range wire.Members(value) {
			if k := string(m.Name); err == nil && k != "tool_calls" && k != "function_call" {
				n.member(k).merge(k, m.Value)
			}
		}
	case name == "role" || name == "type" || name == "id" || kind != '"' && kind != '[':
		n.set(value)
	default:
		inner := value[1 : len(value)-1]
		if n.kind != kind {
			*n = node{kind: kind}
		} else if kind == '[' && len(n.inner) > 0 && len(bytes.TrimSpace(inner)) > 0 {
			n.inner = append(n.inner, ',')
		}
		n.inner = append(n.inner, inner...)
	}
}

func (n *node) append(b []byte) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, name := range n.names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(wire.AppendText(b, name), ':')
			b = n.members[name].append(b)
		}
		return append(b, '}')
	case '"':
		return append(append(append(b, '"'), n.inner...), '"')
	case '[':
		return append(append(append(b, '['), n.inner...), ']')
	}
	return append(b, n.inner...)
}
