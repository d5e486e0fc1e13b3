package anthropic

import (
	"fmt"

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
			if err := wire.NoCall(m, "type", "partial_json", "text", "thinking", "signature", "citation", "content"); err != nil {
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

// commonDeltas is how many of deltaMembers, from the first on, are common.
const commonDeltas = 3

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
