package mistral

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of entries.
const (
	functionCall   = "function.call"
	functionResult = "function.result"
	toolExecution  = "tool.execution"
	messageOutput  = "message.output"
	messageInput   = "message.input"
	agentHandoff   = "agent.handoff"
)

// An entry is one of a conversation, or an event of a stream that is a piece of one, as
// far as calls are concerned.
type entry struct {
	raw      []byte // all of it
	typ      string
	index    int // output_index
	id       string
	callID   string
	name     string
	args     []byte // the value
	pending  bool   // the client is to confirm the call
	joined   []byte // the insides of all pieces of the arguments, in a stream
	text     bool   // a message that says something
	response string // conversation_id
}

// readEntry reads an entry or an event. It must be strict JSON, save for half surrogate
// pairs.
func readEntry(object []byte) (*entry, error) {
	e := &entry{raw: object}
	for m, err := range wire.Members(object) {
		if err == nil {
			err = e.readMember(m)
		}
		if err != nil {
			return nil, err
		}
	}
	if e.typ == "" {
		return nil, errors.New("an entry has no type")
	}
	return e, e.check()
}

func (e *entry) readMember(m wire.Member) (err error) {
	switch string(m.Name) {
	case "type":
		e.typ, err = wire.Text(m.Value)
	case "output_index":
		e.index, err = wire.Ordinal(m.Value)
	case "id":
		e.id, err = wire.TextOrNull(m.Value)
	case "tool_call_id":
		e.callID, err = wire.TextOrNull(m.Value)
	case "name":
		e.name, err = wire.TextOrNull(m.Value)
	case "conversation_id":
		e.response, err = wire.TextOrNull(m.Value)
	case "arguments":
		e.args = m.Value
	case "confirmation_status":
		e.pending = !wire.IsNull(m.Value)
	case "content":
		e.text = !wire.IsEmpty(m.Value)
		err = wire.HiddenCall(m.Value)
	default:
		err = wire.NoCall(m, "type", "output_index", "id", "tool_call_id", "name", "conversation_id", "arguments", "confirmation_status", "content")
	}
	if err != nil {
		return fmt.Errorf("reading %s of an entry: %w", m.Name, err)
	}
	return nil
}

// check refuses what some client could take for a call, and others for none.
func (e *entry) check() error {
	switch e.typ {
	case functionCall, functionDelta:
		if e.callID == "" || e.name == "" {
			return errors.New("a call has no id or no name")
		}
		return nil
	case toolExecution, executionStarted, executionDelta:
		if e.callID == "" {
			return nil
		}
	}
	if e.callID != "" || !wire.IsNull(e.args) {
		return fmt.Errorf("an entry of type %.100q looks like a call", e.typ)
	}
	return nil
}

// sameCall reports whether o is a function call that goes by an id of this one.
func (e *entry) sameCall(o *entry) bool {
	return o.typ == functionCall && (o.callID == e.callID || e.id != "" && o.id == e.id)
}

// join adds a piece of the arguments to a call of a stream, or to what the provider runs.
func (e *entry) join(more *entry) error {
	inside, err := wire.Inside(more.args)
	switch {
	case err != nil:
		return err
	case more.callID != e.callID, more.name != "" && more.name != e.name, more.id != e.id:
		return fmt.Errorf("a call of %q becomes one of %q", e.name, more.name)
	}
	e.pending = e.pending || more.pending
	e.joined = append(e.joined, inside...)
	return nil
}

// arguments is the value of all arguments of a call in a stream.
func (e *entry) arguments() []byte { return slices.Concat([]byte{'"'}, e.joined, []byte{'"'}) }

// seen returns the call for policy, by the value of its arguments.
func (e *entry) seen(args []byte) (*holdgate.Call, error) {
	if wire.KindOf(args) == "an object" {
		if err := wire.Strict(args); err != nil {
			return nil, err
		}
		return wire.TextCall(e.callID, e.name, string(args)), nil
	}
	text, err := wire.TextOrNull(args)
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of %q: %w", e.name, err)
	}
	return wire.TextCall(e.callID, e.name, text), nil
}

// whole returns a call of a stream as an entry of a plain answer.
func (e *entry) whole() []byte {
	return wire.SetMember(wire.RewriteMembers(e.raw, func(m wire.Member) []byte {
		switch string(m.Name) {
		case "type":
			return []byte(`"` + functionCall + `"`)
		case "arguments":
			return e.arguments()
		case "output_index":
			return nil
		}
		return m.Value
	}), "object", []byte(`"entry"`))
}

// said returns an entry of a message that stands in the place of a call's, with its id.
// typ is the type of the entry, or of the event.
func said(call []byte, typ, text string, index int) []byte {
	o := wire.Object{{Name: "type", Value: []byte(`"` + typ + `"`)}}
	for _, name := range []string{"object", "created_at", "completed_at", "id", "model", "agent_id"} {
		if value := wire.Find(call, name); value != nil {
			o.Set(name, value)
		}
	}
	if typ == messageDelta {
		o.Set("output_index", number(index))
		o.Set("content_index", []byte("0"))
	}
	o.Set("role", []byte(`"assistant"`))
	o.Set("content", wire.AppendText(nil, text))
	return o.JSON()
}
