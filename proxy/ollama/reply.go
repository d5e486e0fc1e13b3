package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxCalls is how many calls one reply may have.
const maxCalls = 1024

// A reply is one object of an answer as far as calls are concerned: a line of a
// stream, or the whole answer.
type reply struct {
	chat           bool   // text and calls are in its message, else beside it
	text           bool   // it has some that is not empty
	done           bool   // it says that the answer is over
	failed         bool   // it says an error
	model, created []byte // raw values
	calls          []*call
}

// A call is one element of tool_calls.
type call struct {
	raw      []byte
	id, name string
	args     []byte // as they came; nil where there are none
	verdict  holdgate.Verdict
}

// readReply reads an object. It must have passed [wire.Strict] or
// [wire.StrictEvent].
func readReply(object []byte) (*reply, error) {
	r := &reply{}
	known, beside := false, []*call(nil)
	for m, err := range wire.Members(object) {
		if err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "model":
			r.model = m.Value
		case "created_at":
			r.created = m.Value
		case "error":
			known, r.failed = true, !wire.IsNull(m.Value)
		case "done":
			known = true
			r.done, err = wire.BoolOrNull(m.Value)
		case "response":
			known = true
			err = r.readText(m.Value)
		case "tool_calls":
			known = true
			beside, err = readCalls(m.Value)
		case "message":
			if known = true; !wire.IsNull(m.Value) {
				r.chat = true
				err = r.readMessage(m.Value)
			}
		default:
			err = wire.NoCall(m, "model", "created_at", "error", "done", "response", "tool_calls", "message")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", m.Name, err)
		}
	}
	switch {
	case !known:
		return nil, errors.New("it is no answer of Ollama")
	case r.chat && len(beside) > 0:
		return nil, errors.New("there are calls beside a message, where a client may or may not see them")
	case !r.chat:
		r.calls = beside
	}
	return r, nil
}

func (r *reply) readMessage(object []byte) error {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "content":
			err = r.readText(m.Value)
		case "tool_calls":
			r.calls, err = readCalls(m.Value)
		default:
			err = wire.NoCall(m, "role", "content", "tool_calls")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readText reads the text of a reply, to which a notice can be added only where
// it is a string.
func (r *reply) readText(value []byte) error {
	if !wire.IsNull(value) && value[0] != '"' {
		return fmt.Errorf("a text was expected, not %s", wire.KindOf(value))
	}
	r.text = r.text || !wire.IsEmpty(value)
	return nil
}

func readCalls(array []byte) (calls []*call, err error) {
	err = wire.EachElement(array, func(element []byte) error {
		c, err := readCall(element)
		if calls = append(calls, c); err == nil && len(calls) > maxCalls {
			err = fmt.Errorf("there are more than %d calls", maxCalls)
		}
		return err
	})
	return calls, err
}

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
			return nil, err
		}
	}
	if c.name == "" {
		return nil, errors.New("a call has no name")
	}
	return c, nil
}

func (c *call) readFunction(object []byte) error {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "name":
			c.name, err = wire.TextOrNull(m.Value)
		case "index":
			if !wire.IsNull(m.Value) {
				_, err = wire.Ordinal(m.Value)
			}
		case "arguments":
			c.args = m.Value
		default:
			err = wire.KnownName(m, "name", "index", "arguments")
		}
		if err != nil {
			return fmt.Errorf("%s of a call: %w", m.Name, err)
		}
	}
	return nil
}

// seen returns the call as policy sees it.
func (c *call) seen() *holdgate.Call {
	t := &holdgate.Tool{Name: c.name}
	switch {
	case wire.IsNull(c.args):
		t.Arguments = json.RawMessage("{}")
	case c.args[0] == '{' && wire.Strict(c.args) == nil:
		t.Arguments = bytes.Clone(c.args)
	default:
		t.ArgumentsRaw = string(c.args)
	}
	return &holdgate.Call{ID: c.id, Kind: holdgate.KindToolCall, Tool: t}
}
