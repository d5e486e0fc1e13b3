package facts

import (
	"encoding/json"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// Wrapped is the call that an agent's tool for the tools of all MCP servers
// stands for: Cline and Roo Code send use_mcp_tool with server_name, tool_name
// and the arguments, mostly as text. The name is as other agents write it,
// mcp__server__tool. It reports false for any other tool, for a server's own
// tool of that name, and where the arguments do not name one tool.
func Wrapped(t *holdgate.Tool) (*holdgate.Tool, bool) {
	if t.Server != "" || t.Arguments == nil || normal(t.Name) != "usemcptool" {
		return nil, false
	}
	args, ok := decodeObject(t.Arguments)
	if !ok {
		return nil, false
	}
	server, _ := args["server_name"].(string)
	tool, _ := args["tool_name"].(string)
	if server == "" || tool == "" || strings.Contains(server, "__") || strings.Contains(tool, "__") {
		return nil, false
	}
	for key := range args {
		if key != "server_name" && key != "tool_name" && key != "arguments" {
			return nil, false
		}
	}
	inner := &holdgate.Tool{Name: "mcp__" + server + "__" + tool, Learned: t.Learned}
	switch v := args["arguments"].(type) {
	case nil:
		inner.Arguments = json.RawMessage("{}")
	case string:
		if inner.Arguments = json.RawMessage("{}"); strings.TrimSpace(v) != "" {
			inner.Arguments = json.RawMessage(v)
		}
	case map[string]any:
		text, err := json.Marshal(v)
		if err != nil {
			return nil, false
		}
		inner.Arguments = text
	default:
		return nil, false
	}
	return inner, true
}

// unwrap is [Wrapped] for a call whose own arguments are read for the text in
// them first.
func unwrap(x *collect.Findings, t *holdgate.Tool) (*holdgate.Tool, bool) {
	if len(t.Arguments) > x.Opts.MaxBytes {
		return nil, false
	}
	inner, ok := Wrapped(t)
	if !ok {
		return nil, false
	}
	if args, ok := decodeObject(t.Arguments); ok {
		scan(x, x.At, args)
	}
	return inner, true
}
