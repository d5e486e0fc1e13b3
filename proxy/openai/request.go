package openai

import (
	"fmt"
	"iter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model, the names of the agent's own
// tools, and what lets the provider run tools by itself. The body must have
// passed [wire.Strict]. A known key in another case is an error.
func (*Codec) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "openai"}
	for mem, err := range body {
		if err == nil {
			err = requestMember(m, mem)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a chat request: %w", err)
		}
	}
	return m, nil
}

func requestMember(m *holdgate.Model, mem wire.Member) (err error) {
	switch name := string(mem.Name); name {
	case "messages", "tool_choice", "function_call":
	case "model":
		m.Name, err = wire.TextOrNull(mem.Value)
	case "stream":
		m.Stream, err = wire.BoolOrNull(mem.Value)
	case "tools":
		err = wire.EachElement(mem.Value, func(tool []byte) error { return readTool(m, tool) })
	case "functions":
		err = wire.EachElement(mem.Value, func(f []byte) error { return readNamed(m, f) })
	case "web_search_options", "search_parameters", "enable_search", "mcp_servers":
		// OpenAI and OpenRouter; xAI; Alibaba; several.
		if v := string(mem.Value); v != "null" && v != "false" && v != "[]" {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: name})
		}
	case "agent_id": // Mistral, whose agents have tools of their own
		var id string
		if id, err = wire.TextOrNull(mem.Value); id != "" {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "agent", Name: id})
		}
	case "plugins": // OpenRouter
		err = wire.EachElement(mem.Value, func(p []byte) error {
			id, err := wire.TextOrNull(wire.Find(p, "id"))
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "plugin", Name: id})
			return err
		})
	default:
		return wire.KnownName(mem, "messages", "model", "stream", "tools", "tool_choice", "functions", "function_call",
			"web_search_options", "search_parameters", "enable_search", "mcp_servers", "plugins", "agent_id")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", mem.Name, err)
	}
	return nil
}

// readTool reads an element of tools. What is neither a function nor a custom
// tool runs on the provider's side.
func readTool(m *holdgate.Model, tool []byte) error {
	if err := wire.Known(tool, "type", "function", "custom", "name", "server_label", "server_url"); err != nil {
		return err
	}
	kind, err := wire.TextOrNull(wire.Find(tool, "type"))
	if err != nil {
		return fmt.Errorf("type of a tool: %w", err)
	}
	switch function, custom := wire.Find(tool, "function"), wire.Find(tool, "custom"); {
	case (kind == "function" || kind == "") && function != nil:
		return readNamed(m, function)
	case kind == "custom" && custom != nil:
		return readNamed(m, custom)
	case kind == "" || kind == "function" || kind == "custom":
		return fmt.Errorf("a tool of type %q has no definition", kind)
	}
	st := holdgate.ServerTool{Type: kind}
	for name, to := range map[string]*string{"name": &st.Name, "server_url": &st.URL} {
		if *to, err = wire.TextOrNull(wire.Find(tool, name)); err != nil {
			return fmt.Errorf("%s of a tool of type %q: %w", name, kind, err)
		}
	}
	if st.Name == "" {
		if st.Name, err = wire.TextOrNull(wire.Find(tool, "server_label")); err != nil {
			return fmt.Errorf("server_label of a tool of type %q: %w", kind, err)
		}
	}
	m.ServerTools = append(m.ServerTools, st)
	return nil
}

func readNamed(m *holdgate.Model, definition []byte) error {
	if err := wire.Known(definition, "name"); err != nil {
		return err
	}
	name, err := wire.Text(wire.Find(definition, "name"))
	if err != nil {
		return fmt.Errorf("name of a tool: %w", err)
	}
	m.Tools = append(m.Tools, name)
	return nil
}
