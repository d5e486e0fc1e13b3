package interactions

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of steps that this package reads or writes.
const (
	functionCall   = "function_call"
	functionResult = "function_result"
	modelOutput    = "model_output"
)

// providerCalls are the types of steps that are calls which the provider has run.
var providerCalls = map[string]bool{
	"google_search_call": true, "google_maps_call": true, "url_context_call": true, "file_search_call": true, "retrieval_call": true,
	"code_execution_call": true, "processing_call": true, "mcp_server_tool_call": true,
}

// A step is one of an interaction, as far as calls are concerned.
type step struct {
	raw    []byte // all of it, in a stream that of its start
	typ    string
	index  int // in a stream
	id     string
	name   string
	server string
	args   []byte // the value
	joined []byte // the insides of all pieces of the arguments, in a stream
	text   bool   // it says something to the user
	over   bool   // its stop has come
}

// readStep reads a step. It must be strict JSON, save for half surrogate pairs.
func readStep(object []byte) (*step, error) {
	s := &step{raw: object}
	typ, err := wire.Text(wire.Find(object, "type"))
	if err != nil {
		return nil, fmt.Errorf("type of a step: %w", err)
	}
	s.typ = typ
	if err := s.readMembers(object); err != nil {
		return nil, fmt.Errorf("reading a step of type %.100q: %w", typ, err)
	}
	if typ == functionCall && (s.id == "" || s.name == "") {
		return nil, errors.New("a call has no id or no name")
	}
	return s, nil
}

// isCall reports whether somebody runs the step.
func (s *step) isCall() bool { return s.typ == functionCall || s.observed() }

// observed reports whether the provider has run the step.
func (s *step) observed() bool { return providerCalls[s.typ] }

// readMembers reads a step, or a piece of one. What is no call must not look like one.
func (s *step) readMembers(object []byte) error {
	if !s.isCall() {
		s.text = s.text || s.typ == modelOutput && !wire.IsEmpty(wire.Find(object, "content"))
		if err := wire.Known(object, "type", "content", "id", "name", "arguments"); err != nil {
			return err
		}
		return wire.HiddenCall(object)
	}
	for m, err := range wire.Members(object) {
		if err == nil {
			err = s.readMember(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *step) readMember(m wire.Member) error {
	switch string(m.Name) {
	case "type":
	case "id":
		return same(&s.id, m)
	case "name":
		return same(&s.name, m)
	case "server_name":
		return same(&s.server, m)
	case "arguments":
		if !wire.IsNull(m.Value) {
			s.args = m.Value
		}
	default:
		return wire.NoCall(m, "type", "id", "name", "server_name", "arguments")
	}
	return nil
}

// same sets a text that stays what it is once it is known.
func same(text *string, m wire.Member) error {
	now, err := wire.TextOrNull(m.Value)
	if err == nil && now != "" && *text != "" && *text != now {
		err = fmt.Errorf("the %s of a call changes from %.100q to %.100q", m.Name, *text, now)
	}
	if now != "" {
		*text = now
	}
	return err
}

// arguments is the value of all arguments of a call.
func (s *step) arguments() []byte {
	if s.joined != nil {
		return slices.Concat([]byte{'"'}, s.joined, []byte{'"'})
	}
	return s.args
}

// seen returns the call for policy. The provider's own go by their types.
func (s *step) seen() (*holdgate.Call, error) {
	name := s.name
	if name == "" {
		name = s.typ
	}
	args := s.arguments()
	text := string(args)
	if wire.KindOf(args) == "a string" {
		var err error
		if text, err = wire.Text(args); err != nil {
			return nil, fmt.Errorf("reading the arguments of %q: %w", name, err)
		}
	} else if wire.IsNull(args) {
		text = ""
	}
	c := wire.TextCall(s.id, name, text)
	c.Tool.Server = s.server
	return c, nil
}

// whole returns a call as a plain answer and later requests have it: its arguments are an
// object where they can be.
func (s *step) whole() []byte {
	args := s.arguments()
	if text, err := wire.TextOrNull(args); err == nil && wire.KindOf(args) == "a string" {
		if text == "" {
			args = []byte("{}")
		} else if wire.Strict([]byte(text)) == nil && text[0] == '{' {
			args = []byte(text)
		}
	}
	if args == nil {
		return s.raw
	}
	return wire.SetMember(s.raw, "arguments", args)
}

// said returns a step with words of our own.
func said(text string) []byte {
	return []byte(`{"type":"` + modelOutput + `","content":[` + string(textContent(wire.AppendText(nil, text))) + `]}`)
}
