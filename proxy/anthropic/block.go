package anthropic

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A kind says what is done with a block.
type kind uint8

const (
	kindOther    kind = iota // flows
	kindText                 // flows, and may stay open while a call waits
	kindCall                 // is kept back
	kindObserved             // flows: the provider has run it already
)

// A block is one content block as its start, or a plain answer, shows it.
type block struct {
	kind   kind
	raw    []byte // the JSON object
	typ    string
	id     string
	name   string
	server string
	text   []byte // JSON value, nil where there is none
	input  []byte // JSON value, nil where there is none
}

// readBlock reads a block. The object must be strict JSON, save for half
// surrogate pairs.
func readBlock(object []byte) (block, error) {
	b := block{raw: object}
	if wire.KindOf(object) != "an object" {
		return b, fmt.Errorf("reading a content block: an object was expected, not %s", wire.KindOf(object))
	}
	for m, err := range wire.Members(object) {
		if err != nil {
			return b, fmt.Errorf("reading a content block: %w", err)
		}
		switch string(m.Name) {
		case "type":
			b.typ, err = wire.Text(m.Value)
		case "id":
			b.id, err = wire.TextOrNull(m.Value)
		case "name":
			b.name, err = wire.TextOrNull(m.Value)
		case "server_name":
			b.server, err = wire.TextOrNull(m.Value)
		case "text":
			b.text = m.Value
		case "input":
			b.input = m.Value
		default:
			err = wire.KnownName(m, "type", "id", "name", "server_name", "text", "input")
		}
		if err != nil {
			return b, fmt.Errorf("reading %s of a content block: %w", m.Name, err)
		}
	}
	if b.typ == "" {
		return b, fmt.Errorf("reading a content block: it has no type")
	}
	b.kind = b.classify()
	if b.kind != kindCall {
		if err := b.hidesNone(); err != nil {
			return b, fmt.Errorf("reading a content block: %w", err)
		}
	}
	if b.kind == kindCall && b.typ == "tool_use" && b.name == "" {
		return b, fmt.Errorf("reading a content block: a tool_use has no name")
	}
	return b, nil
}

func (b *block) classify() kind {
	switch b.typ {
	case "text":
		return kindText
	case "server_tool_use", "mcp_tool_use":
		return kindObserved
	}
	lower := strings.ToLower(b.typ)
	if strings.HasSuffix(lower, "_call") || strings.Contains(lower, "tool_use") || lower == "function" || b.input != nil {
		return kindCall
	}
	return kindOther
}

// hidesNone refuses a block that is no call, and that has one in it.
func (b *block) hidesNone() error {
	for m, err := range wire.Members(b.raw) {
		if err == nil && string(m.Name) != "input" && string(m.Name) != "type" {
			err = wire.NoCall(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fixed reports whether a call's arguments are the whole block, so that others
// could not be put into it.
func (b *block) fixed() bool {
	return b.kind == kindCall && b.input == nil && b.typ != "tool_use"
}
