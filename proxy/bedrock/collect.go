package bedrock

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole stream into the plain answer that says the same: texts,
// thoughts and arguments are joined. Arguments that are no JSON object have no
// plain form, and neither has a stream that ends in an exception.
func (c *Converse) Collect(raw []byte) ([]byte, error) {
	s := c.stream()
	if _, err := s.Push(raw); err != nil {
		return nil, err
	}
	if _, err := s.End(); err != nil {
		return nil, err
	}
	messages := wire.MessageScanner{Limit: len(raw) + 1}
	messages.Push(raw)
	var a assembly
	for {
		m, ok, err := messages.Next()
		if err == nil && ok {
			err = a.take(m)
		}
		if err != nil {
			return nil, fmt.Errorf("collecting a streamed answer of Bedrock: %w", err)
		}
		if !ok {
			break
		}
	}
	body, err := a.bytes()
	if err != nil {
		return nil, fmt.Errorf("collecting a streamed answer of Bedrock: %w", err)
	}
	return body, nil
}

// An assembly gathers the events of a stream.
type assembly struct {
	blocks  []*assembled
	members []byte // of the answer, besides its output
}

// An assembled block is a content block that grows.
type assembled struct {
	index  int
	kind   string // text, toolUse or reasoningContent
	call   *call
	joined map[string][]byte // the insides of strings, by member
}

func (a *assembly) take(m wire.Message) error {
	e, err := decode(m)
	if err != nil {
		return err
	}
	switch e.typ {
	case "":
		if e.Kind != "event" {
			return errors.New("the stream ends in an exception")
		}
	case messageStop, metadata:
		a.keep(e.Payload)
	case blockStart:
		kind, value, err := only(e.start, startKinds)
		if err != nil || kind != toolUse {
			return fmt.Errorf("a plain answer cannot say what a block of the kind %q does: %w", kind, err)
		}
		c, err := readCall(value, e.index)
		if err != nil {
			return err
		}
		a.blocks = append(a.blocks, &assembled{index: e.index, kind: toolUse, call: c})
	case blockDelta:
		return a.add(e)
	}
	return nil
}

// keep keeps the members of an event that are members of the answer.
func (a *assembly) keep(payload []byte) {
	for m, err := range wire.Members(payload) {
		if err == nil && string(m.Name) != "p" { // padding
			a.members = append(append(a.members, ','), payload[m.Start:m.End]...)
		}
	}
}

func (a *assembly) add(e event) error {
	kind, value, err := only(e.delta, deltaKinds)
	if err != nil {
		return err
	}
	b := a.block(e.index, kind)
	switch kind {
	case toolUse:
		if b.call == nil {
			return errors.New("arguments come outside of any call")
		}
		return b.call.add(value, len(e.Raw)+len(b.call.fragments))
	case "text":
		return b.join("text", value)
	case "reasoningContent":
		for m, err := range wire.Members(value) {
			if err == nil && !wire.IsNull(m.Value) {
				err = b.join(string(m.Name), m.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a plain answer cannot say what a delta of the kind %q does", kind)
}

// block returns the block that a delta goes on with, or a new one.
func (a *assembly) block(index int, kind string) *assembled {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].index == index && a.blocks[n-1].kind == kind {
		return a.blocks[n-1]
	}
	b := &assembled{index: index, kind: kind}
	a.blocks = append(a.blocks, b)
	return b
}

func (b *assembled) join(member string, value []byte) error {
	if wire.KindOf(value) != "a string" {
		return fmt.Errorf("%s of a delta is %s, not a text", member, wire.KindOf(value))
	}
	if b.joined == nil {
		b.joined = map[string][]byte{}
	}
	b.joined[member] = append(b.joined[member], value[1:len(value)-1]...)
	return nil
}

func (b *assembled) bytes() ([]byte, error) {
	quoted := func(member string) string { return `"` + string(b.joined[member]) + `"` }
	switch {
	case b.call != nil:
		seen, err := b.call.seen()
		if err != nil || seen.Tool.Arguments == nil {
			return nil, fmt.Errorf("the arguments of %q are no JSON object: %w", b.call.name, err)
		}
		kind := ""
		if b.call.server {
			kind = `,"type":"server_tool_use"`
		}
		return fmt.Appendf(nil, `{"toolUse":{"toolUseId":%s,"name":%s,"input":%s%s}}`, wire.Quote(b.call.id), wire.Quote(b.call.name), seen.Tool.Arguments, kind), nil
	case b.kind == "text":
		return []byte(`{"text":` + quoted("text") + `}`), nil
	case b.joined["redactedContent"] != nil:
		return []byte(`{"reasoningContent":{"redactedContent":` + quoted("redactedContent") + `}}`), nil
	}
	signature := ""
	if b.joined["signature"] != nil {
		signature = `,"signature":` + quoted("signature")
	}
	return []byte(`{"reasoningContent":{"reasoningText":{"text":` + quoted("text") + signature + `}}}`), nil
}

func (a *assembly) bytes() ([]byte, error) {
	var content [][]byte
	for _, b := range a.blocks {
		block, err := b.bytes()
		if err != nil {
			return nil, err
		}
		content = append(content, block)
	}
	body := append([]byte(`{"output":{"message":{"role":"assistant","content":[`), bytes.Join(content, []byte{','})...)
	body = append(append(append(body, `]}}`...), a.members...), '}')
	return body, wire.Strict(body)
}

// Expand turns a plain answer into a stream that says the same.
func (c *Converse) Expand(plain []byte) ([]byte, error) {
	if _, err := c.Answer(plain); err != nil {
		return nil, err
	}
	message := wire.Find(wire.Find(plain, "output"), "message")
	out := wire.AppendMessage(nil, "event", messageStart, []byte(`{"role":"assistant"}`))
	n := 0
	err := wire.EachElement(wire.Find(message, "content"), func(block []byte) (err error) {
		out, err = expandBlock(out, n, block)
		n++
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("expanding an answer of Converse: %w", err)
	}
	var stop, rest []byte
	for m, err := range wire.Members(plain) {
		if err != nil {
			return nil, err
		}
		switch member := plain[m.Start:m.End]; string(m.Name) {
		case "output":
		case "stopReason", "additionalModelResponseFields":
			stop = append(append(stop, member...), ',')
		default:
			rest = append(append(rest, member...), ',')
		}
	}
	out = wire.AppendMessage(out, "event", messageStop, object(stop))
	return wire.AppendMessage(out, "event", metadata, object(rest)), nil
}

// object returns an object of members, each with a comma behind.
func object(members []byte) []byte {
	return append(append([]byte{'{'}, bytes.TrimSuffix(members, []byte{','})...), '}')
}

func expandBlock(out []byte, n int, block []byte) ([]byte, error) {
	kind, value, err := only(block, blockKinds)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "text":
		out = appendDelta(out, n, `"text":`+string(value))
	case toolUse:
		start := wire.RewriteMembers(value, func(m wire.Member) []byte {
			if string(m.Name) == "input" {
				return nil
			}
			return m.Value
		})
		out = appendEvent(out, blockStart, n, `,"start":{"toolUse":`+string(start)+`}`)
		if input := wire.Find(value, "input"); !wire.IsNull(input) {
			out = appendDelta(out, n, `"toolUse":{"input":`+wire.Quote(string(input))+`}`)
		}
	case "reasoningContent":
		thought, value, err := only(value, []string{"reasoningText", "redactedContent"})
		if err != nil {
			return nil, err
		}
		if thought != "reasoningText" {
			out = appendDelta(out, n, `"reasoningContent":{`+wire.Quote(thought)+`:`+string(value)+`}`)
			break
		}
		for m, err := range wire.Members(value) {
			if err != nil {
				return nil, err
			}
			out = appendDelta(out, n, `"reasoningContent":{`+wire.Quote(string(m.Name))+`:`+string(m.Value)+`}`)
		}
	default:
		return nil, fmt.Errorf("a stream cannot say what a block of the kind %q does", kind)
	}
	return appendEvent(out, blockStop, n, ""), nil
}
