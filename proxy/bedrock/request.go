package bedrock

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model and whether it streams from the
// path, the names of the agent's tools, and what lets the provider run tools by
// itself. What a model takes beyond Converse may hold tools too: they are read
// as Anthropic's API has them, the only one that has them there. The body must
// have passed [wire.Strict].
func (*Converse) Request(path string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "bedrock"}
	var operation string
	m.Name, operation = target(path)
	m.Stream = streams(operation)
	if strings.Contains(m.Name, ":prompt/") { // stored, and may have tools
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "prompt", Name: m.Name})
	}
	for mem, err := range body {
		if err == nil {
			err = requestMember(m, mem)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a Converse request: %w", err)
		}
	}
	return m, nil
}

func requestMember(m *holdgate.Model, mem wire.Member) (err error) {
	switch string(mem.Name) {
	case "messages":
	case "toolConfig":
		if wire.IsNull(mem.Value) {
			return nil
		}
		if err = wire.Known(mem.Value, "tools"); err == nil {
			err = wire.EachElement(wire.Find(mem.Value, "tools"), func(tool []byte) error { return readTool(m, tool) })
		}
	case "additionalModelRequestFields":
		if wire.KindOf(mem.Value) == "an object" {
			err = readFields(m, mem.Value)
		}
	default:
		return wire.KnownName(mem, "messages", "toolConfig", "additionalModelRequestFields")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", mem.Name, err)
	}
	return nil
}

// readTool reads an element of tools. What is neither a tool of the agent's nor
// the place where a cache is cut runs on the provider's side.
func readTool(m *holdgate.Model, tool []byte) error {
	for mem, err := range wire.Members(tool) {
		if err != nil {
			return err
		}
		if err := wire.KnownName(mem, "toolSpec", "systemTool", "cachePoint"); err != nil {
			return err
		}
		kind := string(mem.Name)
		if kind == "cachePoint" || wire.IsNull(mem.Value) {
			continue
		}
		if err := wire.Known(mem.Value, "name"); err != nil {
			return err
		}
		name, err := wire.TextOrNull(wire.Find(mem.Value, "name"))
		switch {
		case err != nil || kind == "toolSpec" && name == "":
			return fmt.Errorf("a %s has no name: %w", kind, err)
		case kind == "toolSpec":
			m.Tools = append(m.Tools, name)
		default:
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: kind, Name: name})
		}
	}
	return nil
}

// readFields reads what a request has for its model alone.
func readFields(m *holdgate.Model, fields []byte) error {
	if err := wire.Known(fields, "tools", "mcp_servers"); err != nil {
		return err
	}
	err := wire.EachElement(wire.Find(fields, "tools"), func(tool []byte) error {
		texts, err := texts(tool, "type", "name")
		clients := texts[0] == "" || texts[0] == "custom" || slices.ContainsFunc(clientRun, func(prefix string) bool {
			return strings.HasPrefix(texts[0], prefix)
		})
		if clients {
			m.Tools = append(m.Tools, texts[1])
		} else {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: texts[0], Name: texts[1]})
		}
		return err
	})
	if err != nil {
		return err
	}
	return wire.EachElement(wire.Find(fields, "mcp_servers"), func(server []byte) error {
		texts, err := texts(server, "name", "url")
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "mcp", Name: texts[0], URL: texts[1]})
		return err
	})
}

// clientRun are the beginnings of types of Anthropic's own tools that the
// client runs.
var clientRun = []string{"bash_", "text_editor_", "computer_", "memory_"}

// texts returns the texts of these members, empty where there is none.
func texts(object []byte, names ...string) ([]string, error) {
	out := make([]string, len(names))
	if err := wire.Known(object, names...); err != nil {
		return out, err
	}
	for i, name := range names {
		var err error
		if out[i], err = wire.TextOrNull(wire.Find(object, name)); err != nil {
			return out, fmt.Errorf("%s of a tool: %w", name, err)
		}
	}
	return out, nil
}
