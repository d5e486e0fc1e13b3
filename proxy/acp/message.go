// Package acp reads and writes the messages of the Agent Client Protocol (protocol
// version 1) as what stands between an editor and an agent needs them: which requests of
// the agent are calls, what they would do, and what an answer in the editor's place looks
// like. It holds no state and does no I/O. What passes keeps its bytes.
//
// A message is one line of JSON-RPC 2.0. The agent asks the editor for three kinds of
// things that act: permission for a tool that it runs itself (session/request_permission),
// files (fs/*) and commands (terminal/*). Each is a tool call for policy, without a server
// and under the method's name; permission is asked under the kind of the tool, such as
// permission/execute. All else is between the two.
package acp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Methods that are looked at.
const (
	MethodPermission = "session/request_permission"
	MethodRead       = "fs/read_text_file"
	MethodWrite      = "fs/write_text_file"
	MethodTerminal   = "terminal/create"
	MethodUpdate     = "session/update"
	MethodCancel     = "session/cancel"   // of the editor: the turn is over
	MethodNew        = "session/new"      // of the editor
	MethodWithdraw   = "$/cancel_request" // of who asked: no answer is wanted any more
	prefixMCP        = "mcp/"             // MCP inside of ACP, which nobody here reads
	metaDecision     = "io.github.holdgate/decision"
)

// Codes of JSON-RPC errors.
const (
	CodeInvalidRequest = -32600
	CodeRefused        = -31000 // outside the ranges that JSON-RPC reserves
	codeCancelled      = -32800
)

// A Message is one message. Its fields share the memory of the line that it was read
// from.
type Message struct {
	Raw    []byte
	ID     []byte // as written: a string or a whole number; nil for a notification
	Method string // empty for a response
	Params []byte // nil where there are none
	Result []byte // of a response that brings one
}

// IsRequest reports whether the message asks for an answer.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsResponse reports whether the message answers a request.
func (m Message) IsResponse() bool { return m.Method == "" }

// Param is a parameter by its exact name, or nil.
func (m Message) Param(name string) []byte { return wire.Find(m.Params, name) }

// Session is the session that the message is about; empty where it names none.
func (m Message) Session() string { return wire.TextIn(m.Params, "sessionId") }

// Parse reads a line. Whatever two readers could take for two different messages is
// refused.
func Parse(line []byte) (Message, error) {
	if bytes.ContainsAny(bytes.TrimRight(line, "\r"), "\r") {
		return Message{}, errors.New("a CR stands within the line, where some readers end it")
	}
	if err := wire.Strict(line); err != nil {
		return Message{}, err
	}
	m := Message{Raw: line}
	version, answers := "", 0
	for f, err := range wire.Members(line) {
		if err == nil {
			err = wire.KnownName(f, "jsonrpc", "id", "method", "params", "result", "error")
		}
		if err != nil {
			return Message{}, err
		}
		switch string(f.Name) {
		case "jsonrpc":
			version, err = wire.Text(f.Value)
		case "method":
			m.Method, err = wire.Text(f.Value)
			if err == nil && m.Method == "" {
				err = errors.New("it is empty")
			}
		case "id":
			m.ID, err = id(f.Value)
		case "params":
			m.Params = f.Value
		case "result":
			m.Result = f.Value
			answers++
		case "error":
			answers++
		}
		if err != nil {
			return Message{}, fmt.Errorf("reading %s: %w", f.Name, err)
		}
	}
	switch {
	case version != "2.0":
		return Message{}, errors.New(`the message is not JSON-RPC 2.0: "jsonrpc" must be "2.0"`)
	case m.Method == "" && answers != 1:
		return Message{}, errors.New("the message is no request, and no response with either a result or an error")
	case m.Method != "" && answers > 0:
		return Message{}, errors.New("the message is a request and a response at once")
	}
	return m, nil
}

// id takes a string, or a number that is written in one way only. Null is the id of an
// answer to what could not be read.
func id(v []byte) ([]byte, error) {
	switch c := v[0]; {
	case c == '"', c == 'n':
		return v, nil
	case (c == '-' || c >= '0' && c <= '9') && !bytes.ContainsAny(v, ".eE"):
		return v, nil
	}
	return nil, fmt.Errorf("an id is a string or a whole number, not %.40s", v)
}

// Key is the id in a form in which equal ids are equal.
func (m Message) Key() string {
	if s, err := wire.Text(m.ID); err == nil {
		return wire.Quote(s)
	}
	return string(m.ID)
}

// Withdraws is the key of the request of which the message says that no answer is wanted
// any more; empty where it says so of none.
func (m Message) Withdraws() string {
	if m.Method != MethodWithdraw {
		return ""
	}
	return Message{ID: m.Param("requestId")}.Key()
}

// Error is an error in answer to a request.
func Error(id []byte, code int, text string) []byte {
	if id == nil {
		id = []byte("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, wire.Quote(text))
}

// Withdraw says that no answer to a request is wanted any more. Who does not know it
// passes over it.
func Withdraw(id []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"requestId":%s}}`, MethodWithdraw, id)
}

// Says is a line for the editor's user in the session.
func Says(session, text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"sessionId":%s,"update":{"sessionUpdate":"agent_message_chunk","content":%s}}}`,
		MethodUpdate, wire.Quote(session), content(text+"\n\n"))
}

// content is a block of text.
func content(text string) string { return `{"type":"text","text":` + wire.Quote(text) + `}` }

// Opened is the session that an answer opens; empty where it opens none.
func (m Message) Opened() string { return wire.TextIn(m.Result, "sessionId") }

// Folder is the folder that a request opens a session in; empty where it opens none.
func (m Message) Folder() string {
	if !strings.HasPrefix(m.Method, "session/") {
		return ""
	}
	return wire.TextIn(m.Params, "cwd")
}
