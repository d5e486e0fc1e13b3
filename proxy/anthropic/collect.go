package anthropic

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole streamed answer into the plain message that says the
// same. A call's arguments are embedded byte for byte where they are a JSON
// object; anything else is embedded as a string, which [Codec.Answer] and
// [Codec.Expand] read as the same arguments.
//
// A stream that failed, or that has no message_delta, is an error.
func (c *Codec) Collect(stream []byte) ([]byte, error) {
	if err := c.check(stream); err != nil {
		return nil, err
	}
	events := wire.EventScanner{Limit: c.EventLimit}
	events.Push(stream)
	events.End()
	var k collector
	for {
		ev, ok, err := events.Next()
		if err == nil && ok {
			err = k.take(ev)
		}
		if err != nil {
			return nil, fmt.Errorf("collecting a streamed message: %w", err)
		}
		if !ok {
			break
		}
	}
	body, err := k.finish()
	if err != nil {
		return nil, fmt.Errorf("collecting a streamed message: %w", err)
	}
	return body, nil
}

// check reads a stream as it would be read on its way to a client.
func (c *Codec) check(stream []byte) error {
	s := c.Stream()
	if _, err := s.Push(stream); err != nil {
		return err
	}
	_, err := s.End()
	return err
}

// A collector puts a message together from events that were checked before.
type collector struct {
	message wire.Object
	usage   wire.Object
	content []byte // the blocks, with commas between them
	ended   bool
	block   growing
}

func (k *collector) take(ev wire.Event) error {
	e, err := decode(ev)
	if err != nil {
		return err
	}
	switch e.typ {
	case messageStart:
		return k.begin(e.message)
	case blockStart:
		k.block, err = newGrowing(e.block)
		return err
	case blockDelta:
		return k.block.add(e)
	case blockStop:
		b, err := k.block.finish()
		if err != nil {
			return err
		}
		k.add(b)
	case messageDelta:
		return k.end(e)
	case failure:
		return errors.New("the provider ended the answer with an error")
	}
	return nil
}

func (k *collector) add(block []byte) {
	if len(k.content) > 0 {
		k.content = append(k.content, ',')
	}
	k.content = append(k.content, block...)
}

func (k *collector) begin(message []byte) (err error) {
	if k.message, err = wire.ObjectOf(message); err != nil {
		return err
	}
	blocks, err := contentOf(message)
	if err != nil {
		return err
	}
	for i := range blocks {
		k.add(blocks[i].raw)
	}
	k.message.Set("content", nil) // keeps its place
	if usage := k.message.Value("usage"); usage != nil && !wire.IsNull(usage) {
		k.usage, err = wire.ObjectOf(usage)
	}
	return err
}

// end takes a message_delta: what it says replaces what message_start said.
func (k *collector) end(e event) error {
	k.ended = true
	for m, err := range wire.Members(e.delta) {
		if err != nil {
			return err
		}
		k.message.Set(string(m.Name), m.Value)
	}
	if e.context != nil {
		k.message.Set("context_management", e.context)
	}
	if e.usage == nil || wire.IsNull(e.usage) {
		return nil
	}
	for m, err := range wire.Members(e.usage) {
		if err != nil {
			return err
		}
		if !wire.IsNull(m.Value) || k.usage.Value(string(m.Name)) == nil {
			k.usage.Set(string(m.Name), m.Value)
		}
	}
	return nil
}

func (k *collector) finish() ([]byte, error) {
	if !k.ended {
		return nil, errors.New("it is not whole")
	}
	k.message.Set("content", bytes.Join([][]byte{{'['}, k.content, {']'}}, nil))
	if k.usage != nil {
		k.message.Set("usage", k.usage.JSON())
	}
	body := k.message.JSON()
	if err := wire.Strict(body); err != nil {
		return nil, err
	}
	if _, err := readAnswer(body); err != nil {
		return nil, err
	}
	return body, nil
}

// A growing block is one whose deltas are being put together.
type growing struct {
	block
	members   wire.Object
	joined    wire.Object // the insides of strings, by member
	citations []byte
}

func newGrowing(object []byte) (growing, error) {
	b, err := readBlock(object)
	if err != nil {
		return growing{}, err
	}
	members, err := wire.ObjectOf(object)
	return growing{block: b, members: members}, err
}

func (g *growing) add(e event) error {
	d, err := e.addition()
	if err != nil {
		return err
	}
	switch d.typ {
	case textDelta:
		return g.join("text", d.value)
	case thinkingDelta:
		return g.join("thinking", d.value)
	case inputDelta:
		return g.join("input", d.value)
	case compactionDelta:
		if wire.IsNull(d.value) {
			return nil
		}
		return g.join("content", d.value)
	case signatureDelta:
		g.members.Set("signature", d.value)
		return nil
	case citationsDelta:
		if len(g.citations) > 0 {
			g.citations = append(g.citations, ',')
		}
		g.citations = append(g.citations, d.value...)
		return nil
	}
	return fmt.Errorf("a plain message cannot say what a delta of type %q does", d.typ)
}

func (g *growing) join(member string, value []byte) error {
	fragment, err := inside(value)
	if err != nil {
		return fmt.Errorf("reading %s of a delta: %w", member, err)
	}
	g.joined.Set(member, append(g.joined.Value(member), fragment...))
	return nil
}

func (g *growing) finish() ([]byte, error) {
	for _, m := range g.joined {
		if m.Name == "input" {
			continue
		}
		first := []byte{}
		if own := g.members.Value(m.Name); own != nil && !wire.IsNull(own) {
			var err error
			if first, err = inside(own); err != nil {
				return nil, fmt.Errorf("reading %s of a content block: %w", m.Name, err)
			}
		}
		g.members.Set(m.Name, bytes.Join([][]byte{{'"'}, first, m.Value, {'"'}}, nil))
	}
	if g.citations != nil {
		g.members.Set("citations", bytes.Join([][]byte{{'['}, g.citations, {']'}}, nil))
	}
	if fragments := g.joined.Value("input"); len(fragments) > 0 || g.input == nil && takesInput(g.typ) {
		args, err := g.arguments(fragments)
		if err != nil {
			return nil, err
		}
		g.members.Set("input", embedded(args))
	}
	return g.members.JSON(), nil
}

// takesInput reports whether blocks of a type have an input that comes in
// deltas.
func takesInput(typ string) bool {
	return typ == "tool_use" || typ == "server_tool_use" || typ == "mcp_tool_use"
}

// embedded returns the JSON value that stands for a call's arguments.
func embedded(args string) []byte {
	if object, err := objectOf(args); err == nil && object != nil {
		return object
	}
	return []byte(wire.Quote(args))
}
