package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

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
	case b.fixed():
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
