package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of delta that are understood.
const (
	textDelta       = "text_delta"
	inputDelta      = "input_json_delta"
	thinkingDelta   = "thinking_delta"
	signatureDelta  = "signature_delta"
	citationsDelta  = "citations_delta"
	compactionDelta = "compaction_delta"
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
			b.id, err = optionalText(m.Value)
		case "name":
			b.name, err = optionalText(m.Value)
		case "server_name":
			b.server, err = optionalText(m.Value)
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
	if strings.HasSuffix(lower, "_call") || strings.Contains(lower, "tool_use") || b.input != nil {
		return kindCall
	}
	return kindOther
}

// call returns the call that a block is. The fragments are the partial_json of
// its deltas, joined: the inside of a JSON string.
func (b *block) call(fragments []byte) (*holdgate.Call, error) {
	tool := &holdgate.Tool{Name: b.name, Server: b.server}
	if tool.Name == "" {
		tool.Name = b.typ
	}
	args, err := b.arguments(fragments)
	if err == nil {
		tool.Arguments, err = objectOf(args)
	}
	switch {
	case err != nil && b.kind != kindObserved:
		return nil, fmt.Errorf("reading the arguments of %s: %w", tool.Name, err)
	case tool.Arguments == nil:
		tool.ArgumentsRaw = args
	}
	return &holdgate.Call{ID: b.id, Kind: holdgate.KindToolCall, Tool: tool}, nil
}

// arguments returns the text of a call's arguments.
func (b *block) arguments(fragments []byte) (string, error) {
	whole := b.input
	if len(fragments) > 0 {
		if !isEmpty(whole) {
			return "", fmt.Errorf("the input comes both whole and in fragments")
		}
		return wire.Text(append(append([]byte{'"'}, fragments...), '"'))
	}
	switch {
	case whole == nil && b.typ != "tool_use" && b.kind == kindCall:
		return string(b.raw), nil // of an unknown type: all that it says
	case whole == nil:
		return "{}", nil
	case whole[0] == '"': // where the provider could not parse them either
		return wire.Text(whole)
	}
	return string(whole), nil
}

// isEmpty reports whether the input in a block's start leaves the arguments to
// the fragments.
func isEmpty(input []byte) bool {
	switch wire.KindOf(input) {
	case "nothing", "null":
		return true
	case "a string":
		return len(input) == 2
	case "an object":
		for range wire.Members(input) {
			return false
		}
		return true
	}
	return false
}

// objectOf returns the arguments where they are a JSON object, and nil where
// they are anything else. JSON that some parsers refuse and others read in one
// way or another is an error.
func objectOf(args string) (json.RawMessage, error) {
	raw := []byte(args)
	err := wire.Strict(raw)
	if err == nil {
		if strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{") {
			return raw, nil
		}
		return nil, nil
	}
	lenient := jsontext.Value(strings.TrimPrefix(args, "\ufeff"))
	if lenient.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, err
	}
	return nil, nil
}

// optionalText returns what a string says; null says nothing.
func optionalText(value []byte) (string, error) {
	if isNull(value) {
		return "", nil
	}
	return wire.Text(value)
}

// A delta is what a content_block_delta adds to its block.
type delta struct {
	typ   string
	value []byte // JSON value of the member that the type names, nil where missing
}

// addition returns the delta of a content_block_delta.
func (e *event) addition() (delta, error) {
	if e.read.typ != "" {
		return e.read, nil
	}
	return readDelta(e.delta)
}

// readDelta reads a delta. Of a type that is not known it has no value.
func readDelta(object []byte) (delta, error) {
	var d delta
	if wire.KindOf(object) != "an object" {
		return d, fmt.Errorf("reading a delta: an object was expected, not %s", wire.KindOf(object))
	}
	var values [len(deltaMembers)][]byte
	for m, err := range wire.Members(object) {
		if err != nil {
			return d, fmt.Errorf("reading a delta: %w", err)
		}
		if string(m.Name) == "type" {
			if d.typ, err = word(m.Value); err != nil {
				return d, fmt.Errorf("reading type of a delta: %w", err)
			}
			continue
		}
		known := false
		for i := range deltaMembers {
			if string(m.Name) == deltaMembers[i].member {
				values[i], known = m.Value, true
			}
		}
		if !known {
			if err := wire.KnownName(m, "type", "partial_json", "text", "thinking", "signature", "citation", "content"); err != nil {
				return d, fmt.Errorf("reading a delta: %w", err)
			}
		}
	}
	if d.typ == "" {
		return d, fmt.Errorf("reading a delta: it has no type")
	}
	for i := range deltaMembers {
		if deltaMembers[i].typ == d.typ {
			d.value = values[i]
		}
	}
	return d, nil
}

// deltaMembers says which member holds what a type of delta adds.
var deltaMembers = [...]struct{ typ, member string }{
	{textDelta, "text"},
	{inputDelta, "partial_json"},
	{thinkingDelta, "thinking"},
	{signatureDelta, "signature"},
	{citationsDelta, "citation"},
	{compactionDelta, "content"},
}

// inside returns a JSON string without its quotes.
func inside(value []byte) ([]byte, error) {
	if len(value) < 2 || value[0] != '"' {
		return nil, fmt.Errorf("a string was expected, not %s", wire.KindOf(value))
	}
	return value[1 : len(value)-1], nil
}
