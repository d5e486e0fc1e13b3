package cohere

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxCalls is how many calls one answer may have.
const maxCalls = 1024

// A call is one call of an answer.
type call struct {
	raw      []byte // the element as it came, in a stream that of its start
	index    int    // in a stream
	id, name string
	args     []byte // the text of the arguments as it stands in the JSON, without quotes
}

// readCall reads an element of tool_calls.
func readCall(element []byte) (*call, error) {
	c := &call{raw: element}
	for m, err := range wire.Members(element) {
		if err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "id":
			c.id, err = wire.TextOrNull(m.Value)
		case "type":
			var kind string
			if kind, err = wire.TextOrNull(m.Value); err == nil && kind != "" && kind != "function" {
				err = fmt.Errorf("a call of type %q is not understood", kind)
			}
		case "function":
			err = c.readFunction(m.Value)
		default:
			err = wire.NoCall(m, "id", "type", "function")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of a call: %w", m.Name, err)
		}
	}
	return c, nil
}

func (c *call) readFunction(object []byte) error {
	if wire.IsNull(object) {
		return nil
	}
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "name":
			c.name, err = wire.TextOrNull(m.Value)
		case "arguments":
			c.args, err = wire.Inside(m.Value)
		default:
			err = wire.NoCall(m, "name", "arguments")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add joins a piece of the arguments to a call that has begun. It must be of this call.
func (c *call) add(element []byte) error {
	more, err := readCall(element)
	switch {
	case err != nil:
		return err
	case more.id != "" && more.id != c.id, more.name != "" && more.name != c.name:
		return fmt.Errorf("a call of %q becomes one of %q", c.name, more.name)
	}
	c.args = append(c.args, more.args...)
	return nil
}

// part returns what the call is for policy.
func (c *call) part() (*holdgate.Call, error) {
	if c.name == "" {
		return nil, errors.New("a call has no name")
	}
	arguments, err := wire.Text(slices.Concat([]byte{'"'}, c.args, []byte{'"'}))
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of %q: %w", c.name, err)
	}
	return wire.TextCall(c.id, c.name, arguments), nil
}

// withArguments returns an element of tool_calls with other arguments, a JSON string.
func withArguments(element, arguments []byte) []byte {
	function := wire.Find(element, "function")
	if wire.IsNull(function) {
		function = []byte("{}")
	}
	return wire.SetMember(element, "function", wire.SetMember(function, "arguments", arguments))
}
