package acp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Call is a request of the agent that policy decides.
type Call struct {
	Call holdgate.Call
	// Comes is the call that this permission is for as it will come by once more, as a
	// request for a file; nil where that is not known. A request for a file is its own.
	Comes *holdgate.Tool
	// Fixed says that the arguments cannot be changed: the agent has them.
	Fixed bool
}

// ErrUnread says that a request has calls that nobody here reads.
var ErrUnread = errors.New("MCP inside of ACP is not read by Holdgate, so that nothing of it passes: " +
	"let the agent start its MCP servers with holdgate mcp")

// Acts reports whether the message is a request of the agent's that policy decides, or
// that is refused.
func (m Message) Acts() bool {
	return m.Method == MethodPermission || strings.HasPrefix(m.Method, "fs/") || strings.HasPrefix(m.Method, "terminal/") ||
		strings.HasPrefix(m.Method, prefixMCP)
}

// Call is the request as policy sees it. The message must be one that [Message.Acts].
func (m Message) Call() (Call, error) {
	switch {
	case strings.HasPrefix(m.Method, prefixMCP):
		return Call{}, ErrUnread
	case !m.IsRequest():
		return Call{}, fmt.Errorf("%s has no id, so that nobody could be told what becomes of it", m.Method)
	case len(m.Params) == 0 || m.Params[0] != '{':
		return Call{}, fmt.Errorf("%s has no object as params", m.Method)
	}
	if err := wire.Known(m.Params, known...); err != nil {
		return Call{}, fmt.Errorf("reading params: %w", err)
	}
	if s, err := wire.Text(m.Param("sessionId")); err != nil || s == "" {
		return Call{}, fmt.Errorf("%s names no session", m.Method)
	}
	if m.Method == MethodPermission {
		return m.permission()
	}
	c := Call{Call: holdgate.Call{ID: strings.Trim(string(m.ID), `"`), Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: m.Method}}}
	args := ownArguments(m.Params)
	if m.Method == MethodTerminal {
		var err error
		if args, err = asLine(args); err != nil {
			return Call{}, err
		}
	}
	c.Call.Tool.Arguments = args
	if m.Method == MethodWrite {
		c.Comes = c.Call.Tool
	}
	return c, nil
}

// known are the parameters whose names must be written as they are.
var known = []string{"sessionId", "_meta", "path", "content", "line", "limit", "command", "args", "cwd", "env", "outputByteLimit", "terminalId", "toolCall", "options"}

// ownArguments are the parameters without what says where they belong.
func ownArguments(params []byte) []byte {
	return wire.RewriteMembers(params, func(f wire.Member) []byte {
		if name := string(f.Name); name == "sessionId" || name == "_meta" {
			return nil
		}
		return bytes.Clone(f.Value)
	})
}

// asShell is the argument that Holdgate adds to a command whose words one editor runs as
// they are and another one puts into a line for a shell.
const asShell = "commands"

// asLine adds to a command with words of its own the line that a shell would be given,
// where the two can differ.
func asLine(args []byte) ([]byte, error) {
	command, err := wire.Text(wire.Find(args, "command"))
	if err != nil || command == "" {
		return nil, fmt.Errorf("%s names no command", MethodTerminal)
	}
	if wire.Find(args, asShell) != nil {
		return nil, fmt.Errorf("%s has a parameter %s, which is none of the protocol's", MethodTerminal, asShell)
	}
	words, plain := []string{command}, true
	err = wire.EachElement(wire.Find(args, "args"), func(v []byte) error {
		word, err := wire.Text(v)
		words = append(words, word)
		plain = plain && isPlain(word)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading args: %w", err)
	}
	if len(words) == 1 { // the command may be a line by itself, and is read as one
		return wire.WithoutMember(args, "args"), nil
	}
	if plain && isPlain(command) {
		return args, nil
	}
	return wire.AppendMember(bytes.TrimSpace(args), asShell, wire.Array([]byte(wire.Quote(strings.Join(words, " "))))), nil
}

// isPlain reports whether a word is the same to a shell.
func isPlain(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,@%+", r))
	})
}

// WithArguments is the request with arguments that a person gave it.
func (m Message) WithArguments(arguments []byte) ([]byte, error) {
	arguments = wire.WithoutMember(bytes.TrimSpace(arguments), asShell)
	for f, err := range wire.Members(arguments) {
		if err != nil {
			return nil, err
		}
		if err := wire.KnownName(f, known...); err != nil {
			return nil, err
		}
		if name := string(f.Name); name == "sessionId" || name == "_meta" {
			return nil, fmt.Errorf("%s is no argument", name)
		}
	}
	params := arguments
	for _, name := range []string{"sessionId", "_meta"} {
		if v := m.Param(name); v != nil {
			params = wire.AppendMember(params, name, v)
		}
	}
	return wire.SetMember(m.Raw, "params", params), nil
}
