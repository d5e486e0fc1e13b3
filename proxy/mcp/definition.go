package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Tools reads the list of tools in one message that a server sent. It is known
// by its form, a result with an array of tools, so that it need not be known
// what was asked: clients take an answer from any stream.
// ok is false where no client could read the message as one; an error says that
// some could, and that two readers could take it differently.
//
// The definitions share no memory with the message.
func Tools(message []byte) (defs []holdgate.Definition, ok bool, err error) {
	if !lists(message) {
		return nil, false, nil
	}
	result := wire.Find(message, "result")
	err = errors.Join(wire.Strict(message), wire.Known(message, "result"), wire.Known(result, "tools"))
	if err == nil {
		err = wire.EachElement(wire.Find(result, "tools"), func(tool []byte) error {
			d, err := definition(tool)
			if err == nil {
				defs = append(defs, d)
			} else {
				err = fmt.Errorf("tool %d: %w", len(defs), err)
			}
			return err
		})
	}
	if err != nil {
		return nil, true, fmt.Errorf("reading a list of tools: %w", err)
	}
	return defs, true, nil
}

// lists reports whether any reader, however lax, finds a list of tools in a
// message.
func lists(message []byte) bool {
	for m, err := range wire.Members(message) {
		if err != nil {
			return false
		}
		if !strings.EqualFold(string(m.Name), "result") || wire.KindOf(m.Value) != "an object" {
			continue
		}
		for r, err := range wire.Members(m.Value) {
			if err == nil && strings.EqualFold(string(r.Name), "tools") && wire.KindOf(r.Value) == "an array" {
				return true
			}
		}
	}
	return false
}

func definition(tool []byte) (d holdgate.Definition, err error) {
	if err := wire.Known(tool, "name", "description", "inputSchema", "annotations"); err != nil {
		return d, err
	}
	if d.Name, err = wire.Text(wire.Find(tool, "name")); err == nil && d.Name == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return d, fmt.Errorf("reading name: %w", err)
	}
	if d.Description, err = wire.TextOrNull(wire.Find(tool, "description")); err != nil {
		return d, fmt.Errorf("reading description: %w", err)
	}
	d.Schema = given(wire.Find(tool, "inputSchema"))
	d.Annotations = given(wire.Find(tool, "annotations"))
	return d, nil
}

func given(value []byte) []byte {
	if wire.IsNull(value) {
		return nil
	}
	return bytes.Clone(value)
}

// hints are the annotations with which a server says what a tool may do.
var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// Hints returns the annotations of a definition that say true or false.
func Hints(annotations []byte) map[string]bool {
	found := map[string]bool{}
	for _, name := range hints {
		switch v := wire.Find(annotations, name); string(v) {
		case "true", "false":
			found[name] = string(v) == "true"
		}
	}
	return found
}

// WithoutTools returns a server's message with a list of tools that leaves
// those out which hide names; all other bytes stay.
func WithoutTools(message []byte, hide func(name string) bool) []byte {
	return wire.RewriteMembers(message, func(m wire.Member) []byte {
		if string(m.Name) != "result" {
			return m.Value
		}
		return wire.RewriteMembers(m.Value, func(m wire.Member) []byte {
			if string(m.Name) != "tools" {
				return m.Value
			}
			return wire.RewriteElements(m.Value, func(_ int, tool []byte) []byte {
				if name, err := wire.Text(wire.Find(tool, "name")); err == nil && hide(name) {
					return nil
				}
				return tool
			})
		})
	})
}
