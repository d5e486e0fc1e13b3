package mistral

import (
	"fmt"
	"iter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model, whether it streams, the names of the agent's
// tools, and what the provider runs by itself. The body must have passed [wire.Strict].
// One that asks for nothing, such as a request of OpenAI's to make a conversation, is an
// error that wraps [wire.ErrUnsupported].
func (*Codec) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "mistral"}
	asks := false
	for member, err := range body {
		if err == nil {
			err = requestMember(m, member)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a request of a conversation: %w", err)
		}
		switch string(member.Name) {
		case "inputs", "tool_confirmations", "from_entry_id":
			asks = true
		}
	}
	if !asks {
		return nil, fmt.Errorf("reading a request of a conversation: %w: it has no inputs", wire.ErrUnsupported)
	}
	return m, nil
}

func requestMember(m *holdgate.Model, member wire.Member) (err error) {
	switch string(member.Name) {
	case "inputs", "tool_confirmations", "from_entry_id", "store":
	case "model":
		m.Name, err = wire.TextOrNull(member.Value)
	case "stream":
		m.Stream, err = wire.BoolOrNull(member.Value)
	case "tools":
		err = wire.EachElement(member.Value, func(tool []byte) error { return readTool(m, tool) })
	case "agent_id": // whose tools are not in the request
		var id string
		if id, err = wire.TextOrNull(member.Value); id != "" {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "agent", Name: id})
		}
	default:
		return wire.KnownName(member, "inputs", "tool_confirmations", "from_entry_id", "store", "model", "stream", "tools", "agent_id")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", member.Name, err)
	}
	return nil
}

// readTool reads an element of tools. What is no function runs on the provider's side.
func readTool(m *holdgate.Model, tool []byte) error {
	if err := wire.Known(tool, "type", "function", "connector_id"); err != nil {
		return err
	}
	kind, err := wire.TextOrNull(wire.Find(tool, "type"))
	if err != nil {
		return fmt.Errorf("type of a tool: %w", err)
	}
	function := wire.Find(tool, "function")
	if wire.IsNull(function) {
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: kind, Name: wire.TextIn(tool, "connector_id")})
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

// Instruct puts a text of a person's behind what the agent says to the model. All else
// keeps its bytes. It reports false where the request has no place for it: there are no
// inputs, or they end with the model's own words. The body has passed [wire.Strict].
func (*Codec) Instruct(body []byte, text string) ([]byte, bool) {
	if said, err := wire.Text(wire.Find(body, "inputs")); err == nil {
		return wire.SetMember(body, "inputs", wire.AppendText(nil, said+wire.Apart+text)), true
	}
	if wire.TextIn(wire.LastElement(body, "inputs"), "role") == "assistant" {
		return nil, false
	}
	return wire.AppendElement(body, "inputs", []byte(inputEntry(wire.Quote(text))))
}

// inputEntry is an entry with something that the user says, a JSON string.
func inputEntry(content string) string {
	return `{"object":"entry","type":"message.input","role":"user","content":` + content + `}`
}
