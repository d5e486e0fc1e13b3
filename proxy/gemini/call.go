package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxCall is how long one call may be, in bytes with all its fragments.
const maxCall = 8 << 20

// A call is one call of a candidate, gathered from its fragments.
type call struct {
	member    string
	part      []byte // that it began in
	id, name  string
	args      []byte // as it came; nil where there are none
	partial   *tree  // arguments that come in fragments
	signature bool
	open      bool // more is to come
	size      int

	verdict holdgate.Verdict
	begun   bool // its first fragment has been written
}

// observed reports whether the provider has run the call.
func (c *call) observed() bool {
	plain := plainName(c.member)
	return plain == memberTool || plain == memberCode
}

// take adds a fragment: its first, or one that goes on with it.
func (c *call) take(f *fragment) error {
	c.member, c.signature = f.member, c.signature || f.signature
	if c.part == nil {
		c.part = f.raw
	}
	if c.size += len(f.value); c.size > maxCall {
		return fmt.Errorf("%w: a call is longer than %d MiB", wire.ErrTooLarge, maxCall>>20)
	}
	if plainName(f.member) != memberFunction {
		c.args = f.value // what is not known is an argument as a whole
		c.name = f.member
		if c.observed() {
			return c.takeObserved(f.value)
		}
		return nil
	}
	c.open = false
	for m, err := range wire.Members(f.value) {
		if err == nil {
			err = c.takeMember(m)
		}
		if err != nil {
			return fmt.Errorf("reading a function call: %w", err)
		}
	}
	return nil
}

func (c *call) takeMember(m wire.Member) (err error) {
	if wire.IsNull(m.Value) {
		return nil
	}
	switch string(m.Name) {
	case "id":
		c.id, err = wire.Text(m.Value)
	case "name":
		var name string
		if name, err = wire.Text(m.Value); c.name != "" && name != c.name {
			return fmt.Errorf("a call of %q becomes one of %q", c.name, name)
		}
		c.name = name
	case "args":
		if c.args != nil {
			return fmt.Errorf("the arguments of %q come twice", c.name)
		}
		c.args = m.Value
	case "partialArgs", "partial_args":
		if c.partial == nil {
			c.partial = &tree{}
		}
		err = c.partial.add(m.Value)
	case "willContinue", "will_continue":
		c.open = m.Value[0] == 't'
	default:
		return wire.KnownName(m, "id", "name", "args", "partialArgs", "partial_args", "willContinue", "will_continue")
	}
	return err
}

// takeObserved reads what a call of the provider's names itself.
func (c *call) takeObserved(value []byte) (err error) {
	if value[0] != '{' {
		return nil
	}
	if c.id, err = wire.TextOrNull(wire.Find(value, "id")); err != nil {
		return fmt.Errorf("id of a %s: %w", c.member, err)
	}
	return nil
}

// complete returns the call as policy sees it.
func (c *call) complete() (*holdgate.Call, error) {
	if c.name == "" {
		return nil, errors.New("a call has no name")
	}
	args := c.args
	if c.partial != nil {
		if c.args != nil && len(bytes.Trim(c.args, "{} \t\r\n")) > 0 {
			return nil, fmt.Errorf("the arguments of %q come whole and in fragments", c.name)
		}
		args = c.partial.append(nil)
	}
	t := &holdgate.Tool{Name: c.name}
	switch {
	case wire.IsNull(args):
		t.Arguments = json.RawMessage("{}")
	case args[0] == '{' && wire.Strict(args) == nil:
		t.Arguments = bytes.Clone(args)
	default:
		t.ArgumentsRaw = string(args)
	}
	return &holdgate.Call{ID: c.id, Kind: holdgate.KindToolCall, Tool: t}, nil
}

// edited returns the call's member with other arguments, whole.
func (c *call) edited(value []byte) []byte {
	if plainName(c.member) != memberFunction {
		return c.verdict.Arguments
	}
	b := append([]byte(nil), '{')
	for m, err := range wire.Members(value) {
		if err != nil {
			return nil
		}
		switch plainName(string(m.Name)) {
		case "args", "partialargs", "willcontinue":
			continue
		}
		b = append(append(b, value[m.Start:m.End]...), ',')
	}
	return append(append(append(b, `"args":`...), c.verdict.Arguments...), '}')
}
