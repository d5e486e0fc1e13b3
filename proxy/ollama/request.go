package ollama

import (
	"fmt"
	"iter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model, whether it streams, which it does
// unless it says otherwise, and the names of the agent's tools. The body must
// have passed [wire.Strict].
func (*Codec) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "ollama", Stream: true}
	for mem, err := range body {
		if err == nil {
			err = requestMember(m, mem)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a request to Ollama: %w", err)
		}
	}
	return m, nil
}

func requestMember(m *holdgate.Model, mem wire.Member) (err error) {
	switch string(mem.Name) {
	case "messages", "prompt":
	case "model":
		m.Name, err = wire.TextOrNull(mem.Value)
	case "stream":
		if !wire.IsNull(mem.Value) {
			m.Stream, err = wire.BoolOrNull(mem.Value)
		}
	case "tools":
		err = wire.EachElement(mem.Value, func(tool []byte) error { return readTool(m, tool) })
	default:
		return wire.KnownName(mem, "messages", "prompt", "model", "stream", "tools")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", mem.Name, err)
	}
	return nil
}

// readTool reads an element of tools. What is no function is nothing that an
// agent runs.
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
