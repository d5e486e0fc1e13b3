package mcp

import (
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Spellings returns the names under which agents offer a server's tool to their
// models, where the agent calls the server as Holdgate does: the tool's own
// name, and those of clients that put the server's before it.
func Spellings(server, tool string) []string {
	s, t := plainName(server), plainName(tool)
	return []string{
		tool,
		"mcp__" + s + "__" + t, // Claude Code, Codex (as a namespace), Qwen Code
		"mcp_" + s + "_" + t,   // Gemini CLI
		s + "__" + t,           // Gemini CLI where two servers have a tool of one name
		s + "_" + t,            // OpenCode
	}
}

// plainName is a name without the characters that model APIs do not take in
// names of tools; clients write "_" in their place.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			return c
		}
		return '_'
	}, name)
}

// ModelCall returns the id that the call has in the model's answer which asked
// for it, where the client tells, or "". It is the agent's word.
func (m Message) ModelCall() string {
	meta := m.param("_meta")
	for _, key := range []string{"claudecode/toolUseId", "callId"} { // Claude Code, Codex
		if id, err := wire.Text(wire.Find(meta, key)); err == nil {
			return id
		}
	}
	return ""
}
