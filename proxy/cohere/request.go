package cohere

import (
	"fmt"
	"iter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model, whether it streams, and the names of the
// agent's tools. The body must have passed [wire.Strict].
func (*Codec) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "cohere"}
	for member, err := range body {
		if err == nil {
			err = requestMember(m, member)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a request to Cohere: %w", err)
		}
	}
	return m, nil
}

func requestMember(m *holdgate.Model, member wire.Member) (err error) {
	switch name := string(member.Name); name {
	case "messages", "tool_choice":
	case "model":
		m.Name, err = wire.TextOrNull(member.Value)
	case "stream":
		m.Stream, err = wire.BoolOrNull(member.Value)
	case "tools":
		err = wire.EachElement(member.Value, func(tool []byte) error { return readTool(m, tool) })
	case "connectors": // of version 1, which the provider runs
		if !wire.IsEmpty(member.Value) {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: name})
		}
	default:
		return wire.KnownName(member, "messages", "tool_choice", "model", "stream", "tools", "connectors")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", member.Name, err)
	}
	return nil
}

// readTool reads an element of tools. What is no function runs on the provider's side.
func readTool(m *holdgate.Model, tool []byte) error {
	if err := wire.Known(tool, "type", "function"); err != nil {
		return err
	}
	kind, err := wire.TextOrNull(wire.Find(tool, "type"))
	if err != nil {
		return fmt.Errorf("type of a tool: %w", err)
	}
	function := wire.Find(tool, "function")
	if wire.IsNull(function) {
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: kind})
		return nil
	}
	if err := wire.Known(function, "name"); err != nil {
		return err
	}
	name, err := wire.Text(wire.Find(function, "name"))
	if err != nil {
		return fmt.Errorf("name of a tool: %w", err)
	}
	m.Tools = append(m.Tools, name)
	return nil
}
