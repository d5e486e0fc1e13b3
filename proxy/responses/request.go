package responses

import (
	"fmt"
	"iter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a request for a response. The body must have passed
// [wire.Strict].
//
// The tools that the client runs are among Tools, under the names that their
// calls will have. All others, of unknown types too, are among ServerTools: a
// hosted MCP server with its label and its URL, or its connector's id; and a
// stored prompt, for it may bring tools of its own. Tools may also stand in
// the input, where a search found them or the client added them.
func (c *Codec) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "openai"}
	asks := false
	for member, err := range body {
		if err != nil {
			return nil, fmt.Errorf("reading a request for a response: %w", err)
		}
		switch string(member.Name) {
		case "model":
			m.Name, err = wire.TextOrNull(member.Value)
			asks = asks || m.Name != ""
		case "stream":
			m.Stream, err = wire.BoolOrNull(member.Value)
		case "tools":
			err = addTools(m, "", member.Value)
		case "input":
			asks = true
			err = addInputTools(m, member.Value)
		case "prompt":
			asks = asks || !wire.IsNull(member.Value)
			err = addPrompt(m, member.Value)
		default:
			err = wire.KnownName(member, "model", "stream", "tools", "input", "prompt", "tool_choice", "background", "previous_response_id", "conversation")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of a request for a response: %w", member.Name, err)
		}
	}
	if !asks {
		return nil, fmt.Errorf("reading a request for a response: it has no model, no input and no prompt")
	}
	return m, nil
}

// addTools reads a list of tools; those of a namespace have its name before
// theirs.
func addTools(m *holdgate.Model, namespace string, tools []byte) error {
	if wire.IsNull(tools) {
		return nil
	}
	for e, err := range wire.Elements(tools) {
		if err != nil {
			return err
		}
		if err := addTool(m, namespace, e.Value); err != nil {
			return err
		}
	}
	return nil
}

func addTool(m *holdgate.Model, namespace string, object []byte) error {
	t, err := readTool(object)
	if err != nil {
		return err
	}
	name := (&item{namespace: namespace, name: t.name}).toolName()
	switch t.typ {
	case "function", "custom":
		if t.name == "" {
			return fmt.Errorf("a tool of type %q has no name", t.typ)
		}
	case "namespace":
		return addTools(m, t.name, t.tools)
	case "local_shell", "apply_patch":
		name = t.typ
	case "computer", "computer_use_preview":
		name = "computer"
	case "shell":
		if inContainer(t.environment) {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: t.typ})
			return nil
		}
		name = t.typ
	case "tool_search":
		if t.execution != "client" {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: t.typ})
			return nil
		}
		name = t.typ
	case "mcp":
		url := t.url
		if url == "" {
			url = t.connector
		}
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: t.typ, Name: t.label, URL: url})
		return nil
	default:
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: t.typ, Name: t.name})
		return nil
	}
	m.Tools = append(m.Tools, name)
	return nil
}

// A tool is one element of a list of tools, as far as it is read here.
type tool struct {
	typ, name, execution, label, url, connector string
	tools, environment                          []byte
}

func readTool(object []byte) (tool, error) {
	var t tool
	for m, err := range wire.Members(object) {
		if err != nil {
			return t, err
		}
		switch string(m.Name) {
		case "type":
			t.typ, err = wire.Text(m.Value)
		case "name":
			t.name, err = wire.TextOrNull(m.Value)
		case "execution":
			t.execution, err = wire.TextOrNull(m.Value)
		case "server_label":
			t.label, err = wire.TextOrNull(m.Value)
		case "server_url":
			t.url, err = wire.TextOrNull(m.Value)
		case "connector_id":
			t.connector, err = wire.TextOrNull(m.Value)
		case "tools":
			t.tools = m.Value
		case "environment":
			t.environment = m.Value
		default:
			err = wire.KnownName(m, "type", "name", "execution", "server_label", "server_url", "connector_id", "tools", "environment")
		}
		if err != nil {
			return t, fmt.Errorf("reading %s of a tool: %w", m.Name, err)
		}
	}
	if t.typ == "" {
		return t, fmt.Errorf("reading a tool: it has no type")
	}
	return t, nil
}

// addInputTools reads the tools that stand in the input.
func addInputTools(m *holdgate.Model, input []byte) error {
	if wire.KindOf(input) != "an array" {
		return nil // a text
	}
	for e, err := range wire.Elements(input) {
		if err != nil {
			return err
		}
		if wire.KindOf(e.Value) != "an object" {
			continue
		}
		switch string(wire.Find(e.Value, "type")) {
		case `"message"`, `"reasoning"`:
			continue
		}
		if tools := wire.Find(e.Value, "tools"); wire.KindOf(tools) == "an array" && !isListing(e.Value) {
			if err := addTools(m, "", tools); err != nil {
				return err
			}
		}
	}
	return nil
}

// isListing reports whether an item lists the tools of a hosted MCP server,
// which the provider runs.
func isListing(object []byte) bool {
	typ, err := wire.Text(wire.Find(object, "type"))
	return err == nil && typ == "mcp_list_tools"
}

func addPrompt(m *holdgate.Model, prompt []byte) error {
	if wire.IsNull(prompt) {
		return nil
	}
	if wire.KindOf(prompt) != "an object" {
		return fmt.Errorf("an object was expected, not %s", wire.KindOf(prompt))
	}
	id, err := wire.TextOrNull(wire.Find(prompt, "id"))
	m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "prompt", Name: id})
	return err
}
