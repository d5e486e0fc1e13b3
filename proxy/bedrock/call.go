package bedrock

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

const toolUse = "toolUse"

// A call is a toolUse, of a stream or of a plain answer.
type call struct {
	index     int // of its block
	id, name  string
	server    bool   // the provider has run it
	whole     []byte // the input as an answer has it
	fragments []byte // of the input in a stream: the inside of a JSON string
}

// readCall reads a toolUse. In a stream it has no input.
func readCall(object []byte, index int) (*call, error) {
	c := &call{index: index}
	for m, err := range wire.Members(object) {
		if err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "toolUseId":
			c.id, err = wire.TextOrNull(m.Value)
		case "name":
			c.name, err = wire.TextOrNull(m.Value)
		case "type":
			var kind string
			if kind, err = wire.TextOrNull(m.Value); err == nil {
				switch kind {
				case "", "tool_use":
				case "server_tool_use":
					c.server = true
				default:
					err = fmt.Errorf("a call of type %q is not understood", kind)
				}
			}
		case "input":
			c.whole = m.Value
		default:
			err = noCall(m, "toolUseId", "name", "type", "input")
		}
		if err != nil {
			return nil, fmt.Errorf("%s of a call: %w", m.Name, err)
		}
	}
	if c.name == "" {
		return nil, errors.New("a call has no name")
	}
	return c, nil
}

// add takes the toolUse of a delta.
func (c *call) add(object []byte, limit int) error {
	for m, err := range wire.Members(object) {
		switch {
		case err != nil:
			return err
		case string(m.Name) != "input":
			if err := noCall(m, "input"); err != nil {
				return err
			}
		case wire.IsNull(m.Value):
		case m.Value[0] != '"':
			return fmt.Errorf("a fragment of arguments is %s, not a text", wire.KindOf(m.Value))
		default:
			c.fragments = append(c.fragments, m.Value[1:len(m.Value)-1]...)
		}
	}
	if len(c.fragments) > limit {
		return fmt.Errorf("the arguments of %q are longer than %d bytes: %w", c.name, limit, wire.ErrTooLarge)
	}
	return nil
}

// seen returns the call as policy sees it.
func (c *call) seen() (*holdgate.Call, error) {
	args := c.whole
	if len(c.fragments) > 0 {
		if !wire.IsEmpty(c.whole) {
			return nil, fmt.Errorf("the arguments of %q come whole and in fragments", c.name)
		}
		// Half a surrogate pair is shown as U+FFFD.
		args, _ = jsontext.AppendUnquote(nil, append(append([]byte{'"'}, c.fragments...), '"'))
	}
	t := &holdgate.Tool{Name: c.name}
	switch {
	case len(args) == 0 || string(args) == "null":
		t.Arguments = json.RawMessage("{}")
	case isObject(args):
		t.Arguments = append(json.RawMessage(nil), args...)
	default:
		t.ArgumentsRaw = string(args)
	}
	return &holdgate.Call{ID: c.id, Kind: holdgate.KindToolCall, Tool: t}, nil
}

func isObject(args []byte) bool {
	for i, b := range args {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return wire.Strict(args[i:]) == nil
		}
		return false
	}
	return false
}
