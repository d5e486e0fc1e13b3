package gemini

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model and whether it streams from the
// path, the names of the agent's own tools, and what lets the provider run
// tools by itself. The body must have passed
// [wire.Strict].
func (*Codec) Request(urlPath string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "gemini"}
	m.Name, m.Stream = target(urlPath)
	if err := readRequest(m, body, true); err != nil {
		return nil, fmt.Errorf("reading a generateContent request: %w", err)
	}
	return m, nil
}

// target reads the model and the method from a path that has matched. One at
// which only the configuration says what is spoken names none.
func target(urlPath string) (model string, stream bool) {
	model, method, tells := strings.Cut(path.Base(urlPath), ":")
	if !tells {
		return "", false
	}
	if strings.HasPrefix(strings.ToLower(model), "v1internal") {
		model = "" // Code Assist names it in the body
	}
	return model, strings.HasPrefix(strings.ToLower(method), methodStream)
}

// PathTells reports whether a path says if the answer is to be a stream.
func (*Codec) PathTells(urlPath string) bool { return strings.Contains(path.Base(urlPath), ":") }

// readRequest reads a request; outer says that it may be wrapped.
func readRequest(m *holdgate.Model, body iter.Seq2[wire.Member, error], outer bool) error {
	for mem, err := range body {
		if err == nil {
			err = requestMember(m, mem, outer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func requestMember(m *holdgate.Model, mem wire.Member, outer bool) (err error) {
	switch name := string(mem.Name); name {
	case "model":
		var model string
		if model, err = wire.TextOrNull(mem.Value); m.Name == "" {
			m.Name = strings.TrimPrefix(model, "models/")
		}
	case "tools":
		err = readTools(m, mem.Value)
	case "request":
		if outer && !wire.IsNull(mem.Value) {
			err = readRequest(m, wire.Members(mem.Value), false)
		}
	default:
		return wire.KnownName(mem, "model", "tools", "request", "contents", "toolConfig", "tool_config", "systemInstruction", "system_instruction", "cachedContent", "cached_content")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", mem.Name, err)
	}
	return nil
}

// readTools reads tools: a list of objects, each of which may hold several. In
// Code Assist's form one object may stand in the place of the list.
func readTools(m *holdgate.Model, value []byte) error {
	if wire.IsNull(value) {
		return nil
	}
	if value[0] == '{' {
		return readTool(m, value)
	}
	for e, err := range wire.Elements(value) {
		if err == nil {
			err = readTool(m, e.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readTool reads one element of tools. What is no function declaration runs on
// the provider's side.
func readTool(m *holdgate.Model, tool []byte) error {
	for mem, err := range wire.Members(tool) {
		if err != nil {
			return err
		}
		name := string(mem.Name)
		switch plain := plainName(name); {
		case wire.IsNull(mem.Value):
		case name == "functionDeclarations" || name == "function_declarations":
			if err := readDeclarations(m, mem.Value); err != nil {
				return err
			}
		case plain == "functiondeclarations":
			return fmt.Errorf("a tool has %q, which two servers could read differently", name)
		case plain == "mcpservers":
			if err := readServers(m, name, mem.Value); err != nil {
				return err
			}
		default:
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: name})
		}
	}
	return nil
}

func readDeclarations(m *holdgate.Model, list []byte) error {
	for e, err := range wire.Elements(list) {
		if err != nil {
			return err
		}
		if err := wire.Known(e.Value, "name"); err != nil {
			return err
		}
		name, err := wire.Text(wire.Find(e.Value, "name"))
		if err != nil {
			return fmt.Errorf("name of a function: %w", err)
		}
		m.Tools = append(m.Tools, name)
	}
	return nil
}

// readServers reads the MCP servers that the provider is to call.
func readServers(m *holdgate.Model, typ string, list []byte) error {
	for e, err := range wire.Elements(list) {
		if err != nil {
			return err
		}
		t := holdgate.ServerTool{Type: typ}
		if t.Name, err = wire.TextOrNull(wire.Find(e.Value, "name")); err != nil {
			return fmt.Errorf("name of an MCP server: %w", err)
		}
		if transport := wire.Find(e.Value, "streamableHttpTransport"); !wire.IsNull(transport) {
			if t.URL, err = wire.TextOrNull(wire.Find(transport, "url")); err != nil {
				return fmt.Errorf("url of an MCP server: %w", err)
			}
		}
		m.ServerTools = append(m.ServerTools, t)
	}
	return nil
}
