package openai

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A document is a chunk of a stream or a whole answer, as far as calls are
// concerned.
type document struct {
	id, model, created []byte // raw values, nil where absent
	isError            bool
	usage              []byte
	choices            []choice
}

// A choice is one element of choices: a delta of a stream, or a message.
type choice struct {
	index    int
	elements []element // of calls
	finish   string    // empty where there is none yet
	content  bool      // there is content that is not empty
}

// An element is what one element of tool_calls, or a function_call, says.
// In a stream that may be a fragment.
type element struct {
	raw    []byte
	at     int // its place in the list
	index  int // -1 where absent
	legacy bool
	custom bool
	body   bool // it has a function or a custom member
	id     string
	name   string
	args   []byte // the arguments' text as in the JSON, without quotes
	whole  []byte // arguments that are an object and no string
}

// empty reports whether an element says nothing: then it begins no call.
func (e *element) empty() bool {
	return e.id == "" && e.name == "" && len(e.args) == 0 && e.whole == nil
}

// form tells a stream's chunks from a whole answer: where a choice has its
// message, and where it may have no calls.
type form struct{ body, other string }

func streamForm() form { return form{body: "delta", other: "message"} }
func plainForm() form  { return form{body: "message", other: "delta"} }

// read reads a document; the room is for its choices.
func (f form) read(data []byte, room []choice) (document, error) {
	d := document{choices: room}
	for m, err := range wire.Members(data) {
		if err != nil {
			return d, err
		}
		switch string(m.Name) {
		case "id":
			d.id = m.Value
		case "model":
			d.model = m.Value
		case "created":
			d.created = m.Value
		case "error":
			d.isError = !wire.IsNull(m.Value)
		case "choices":
			if wire.IsNull(m.Value) {
				continue
			}
			if d.choices, err = f.readChoices(m.Value, room); err != nil {
				return d, err
			}
		default:
			if string(m.Name) == "usage" {
				d.usage = m.Value
			}
			if err := wire.NoCall(m, "id", "model", "created", "choices", "error"); err != nil {
				return d, err
			}
		}
	}
	return d, nil
}

func (f form) readChoices(array []byte, all []choice) ([]choice, error) {
	for e, err := range wire.Elements(array) {
		if err != nil {
			return nil, err
		}
		n := len(all)
		all = append(all, choice{index: n})
		if err := f.readChoice(&all[n], e.Value); err != nil {
			return nil, fmt.Errorf("choice %d: %w", n, err)
		}
	}
	return all, nil
}

func (f form) readChoice(c *choice, object []byte) (err error) {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "index":
			c.index, err = readIndex(m.Value, c.index)
		case "finish_reason":
			c.finish, err = wire.TextOrNull(m.Value)
		case f.body:
			if !wire.IsNull(m.Value) {
				err = readMessage(c, m.Value)
			}
		case f.other: // some providers send both; calls are where they belong
			var other choice
			if !wire.IsNull(m.Value) {
				err = readMessage(&other, m.Value)
			}
			if err == nil && other.calls() {
				err = fmt.Errorf("there are calls in %q, where a client may or may not see them", f.other)
			}
		default:
			err = wire.NoCall(m, "index", "finish_reason", "delta", "message")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readMessage(c *choice, object []byte) error {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "role":
		case "content":
			c.content = !wire.IsEmpty(m.Value)
			if err := wire.HiddenCall(m.Value); err != nil {
				return err
			}
		case "tool_calls":
			if wire.IsNull(m.Value) {
				continue
			}
			at := 0
			for e, err := range wire.Elements(m.Value) {
				if err == nil {
					err = c.add(element{raw: e.Value, at: at, index: -1})
				}
				if err != nil {
					return fmt.Errorf("tool_calls: %w", err)
				}
				at++
			}
		case "function_call":
			if wire.IsNull(m.Value) {
				continue
			}
			if err := c.add(element{raw: m.Value, index: -1, legacy: true}); err != nil {
				return fmt.Errorf("function_call: %w", err)
			}
		default:
			if err := wire.NoCall(m, "role", "content", "tool_calls", "function_call"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *choice) add(e element) error {
	if err := e.read(e.raw); err != nil {
		return err
	}
	c.elements = append(c.elements, e)
	return nil
}

// calls reports whether an element says something of a call.
func (c *choice) calls() bool {
	return slices.ContainsFunc(c.elements, func(e element) bool { return !e.empty() })
}

func (e *element) read(object []byte) (err error) {
	if e.legacy {
		e.body = true
		return e.readBody(object, "arguments")
	}
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "index":
			e.index, err = readIndex(m.Value, -1)
		case "id":
			e.id, err = wire.TextOrNull(m.Value)
		case "type":
			var kind string
			if kind, err = wire.TextOrNull(m.Value); err == nil && kind != "" && kind != "function" && kind != "custom" {
				err = fmt.Errorf("a call of type %q is not understood", kind)
			}
		case "function", "custom":
			if !wire.IsNull(m.Value) {
				err = e.add(m)
			}
		default:
			err = wire.KnownName(m, "index", "id", "type", "function", "custom")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add takes a function or a custom member. Some providers send both, one of
// them empty.
func (e *element) add(m wire.Member) error {
	body, arguments := element{custom: m.Name[0] == 'c'}, "arguments"
	if body.custom {
		arguments = "input"
	}
	switch err := body.readBody(m.Value, arguments); {
	case err != nil:
		return err
	case body.empty():
		return nil
	case e.body:
		return errors.New("a call is both function and custom")
	}
	e.body, e.custom, e.name, e.args, e.whole = true, body.custom, body.name, body.args, body.whole
	return nil
}

// readBody reads the name and the arguments, which a custom tool calls input.
func (e *element) readBody(object []byte, arguments string) (err error) {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "name":
			if e.name, err = wire.TextOrNull(m.Value); err != nil {
				return fmt.Errorf("name of a call: %w", err)
			}
		case arguments:
			switch {
			case wire.IsNull(m.Value):
			case m.Value[0] == '"':
				e.args = m.Value[1 : len(m.Value)-1]
			case m.Value[0] == '{':
				e.whole = m.Value
			default: // JavaScript that appends a list of one text reads the text
				return fmt.Errorf("the arguments of a call are %s", wire.KindOf(m.Value))
			}
		default:
			if err := wire.KnownName(m, "name", arguments); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxIndex bounds the numbers of choices and calls.
const maxIndex = 1 << 16

func readIndex(value []byte, absent int) (int, error) {
	if wire.IsNull(value) {
		return absent, nil
	}
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 0 || n > maxIndex {
		return 0, fmt.Errorf("an index is %.20s, not a number from 0 to %d", value, maxIndex)
	}
	return n, nil
}
