// Package mcp reads and writes the messages of the Model Context Protocol as a
// proxy needs them: which request a message is, which tool it calls, and what
// a refusal, a sign of life or a late answer looks like to the client. It
// holds no state and does no I/O; the bytes of what passes stay as they came.
//
// Only people change what passes. Arguments that one has edited take the place
// of a call's own in its message, byte for byte, and in the headers that mirror
// them ([WithArguments], [MirrorArguments]). What an approver says goes along
// in the _meta of the result ([Notes]).
//
// What a server sends is looked into as far as it asks something of the client
// ([ParseServer]); a result may hold anything, and is left alone.
//
// The protocol's revisions of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25
// and 2026-07-28 are read; a batch is an array, which only the first of them has
// and which is judged member by member all the same.
package mcp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Message is one JSON-RPC 2.0 message. Its fields share the memory of the
// body that it was read from.
type Message struct {
	Raw    []byte
	ID     []byte // as written: a string or a number; nil for a notification
	Method string // empty for a response
	Params []byte // an object; nil where there are none
	Result []byte // of a response that brings one
	Input  string // the name of an input request, or of its answer (revision 2026-07-28)

	params []wire.Member // of Params; nil where they were not walked through
}

// param is a parameter by its exact name, or nil.
func (m Message) param(name string) []byte {
	if m.params == nil {
		return wire.Find(m.Params, name)
	}
	for _, f := range m.params {
		if string(f.Name) == name {
			return f.Value
		}
	}
	return nil
}

// maxBatch bounds the members of a batch.
const maxBatch = 100

// Parse reads the body of a POST: one message, or a batch of them. The body
// must have passed [wire.Strict].
func Parse(body []byte) (msgs []Message, batch bool, err error) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '[' {
		m, err := parseMessage(body)
		return []Message{m}, false, err
	}
	for e, err := range wire.Elements(body) {
		if err != nil {
			return nil, true, fmt.Errorf("reading a batch: %w", err)
		}
		m, err := parseMessage(e.Value)
		if err != nil {
			return nil, true, fmt.Errorf("reading message %d of a batch: %w", len(msgs), err)
		}
		if msgs = append(msgs, m); len(msgs) > maxBatch {
			return nil, true, fmt.Errorf("a batch has more than %d messages", maxBatch)
		}
	}
	if len(msgs) == 0 {
		return nil, true, errors.New("a batch is empty")
	}
	return msgs, true, nil
}

func parseMessage(raw []byte) (Message, error) {
	m := Message{Raw: raw}
	version := ""
	answered := false
	for f, err := range wire.Members(raw) {
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
		case "id":
			m.ID, err = requestID(f.Value)
		case "params":
			m.Params = f.Value
			if f.Value[0] != '{' {
				err = fmt.Errorf("params must be an object, not %s", wire.KindOf(f.Value))
			}
		case "result":
			m.Result, answered = f.Value, true
		case "error":
			answered = true
		}
		if err != nil {
			return Message{}, fmt.Errorf("reading %s: %w", f.Name, err)
		}
	}
	var err error
	if m.params, err = checkParams(m.Method, m.Params); err != nil {
		return Message{}, err
	}
	switch {
	case version != "2.0":
		return Message{}, errors.New(`the message is not JSON-RPC 2.0: "jsonrpc" must be "2.0"`)
	case m.Method == "" && !answered:
		return Message{}, errors.New("the message has no method, no result and no error")
	case m.Method != "" && answered:
		return Message{}, errors.New("the message is a request and a response at once")
	}
	return m, nil
}

// CallsTool reports whether a body that came to a host that is not known to
// speak MCP may call a tool, however a lax server reads it: it is a message
// with the method tools/call, or an array with one. It takes too much rather
// than too little, for [Parse] refuses what it cannot read; the body need not
// be JSON.
func CallsTool(body []byte) bool {
	text := bytes.TrimLeft(body, " \t\r\n\xEF\xBB\xBF")
	if len(text) == 0 || text[0] != '[' {
		return callsTool(text)
	}
	for e, err := range wire.Elements(text) {
		if err != nil {
			return false
		}
		if callsTool(e.Value) {
			return true
		}
	}
	return false
}

func callsTool(object []byte) bool {
	for m, err := range wire.Members(object) {
		if err != nil {
			return false
		}
		if !strings.EqualFold(string(m.Name), "method") {
			continue
		}
		if v, err := wire.Text(m.Value); err == nil && strings.EqualFold(strings.TrimSpace(v), "tools/call") {
			return true
		}
	}
	return false
}

func requestID(v []byte) ([]byte, error) {
	switch c := v[0]; {
	case c == '"', c == '-', c >= '0' && c <= '9':
		return v, nil
	}
	return nil, fmt.Errorf("an id is a string or a number, not %s", wire.KindOf(v))
}

// IsRequest reports whether the message asks for an answer.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsResponse reports whether the message answers a request.
func (m Message) IsResponse() bool { return m.Method == "" }

// Call returns the message as policy sees it: a tool call, or another request
// or notification. A response is none: ok is false.
func (m Message) Call(server string) (c holdgate.Call, ok bool, err error) {
	if m.Method == "" {
		return c, false, nil
	}
	c.ID = strings.Trim(string(m.ID), `"`)
	if m.Method != "tools/call" {
		c.Kind = holdgate.KindMCPRequest
		c.MCP = &holdgate.MCP{Server: server, Method: m.Method, Name: m.subject(), Params: bytes.Clone(m.Params)}
		return c, true, nil
	}
	if m.Params == nil {
		return c, false, errors.New("tools/call has no params")
	}
	if err := m.knownParams("name", "arguments", "_meta", "task", "inputResponses", "requestState"); err != nil {
		return c, false, fmt.Errorf("reading params: %w", err)
	}
	name, err := wire.Text(m.param("name"))
	if err != nil || name == "" {
		return c, false, errors.New("tools/call names no tool")
	}
	t := &holdgate.Tool{Name: name, Server: server, Arguments: []byte("{}")}
	if args := m.param("arguments"); args != nil {
		if t.Arguments = bytes.Clone(args); args[0] != '{' {
			t.Arguments, t.ArgumentsRaw = nil, string(args)
		}
	}
	c.Kind, c.Tool = holdgate.KindToolCall, t
	return c, true, nil
}

// knownParams is [wire.Known] for the parameters.
func (m Message) knownParams(names ...string) error {
	if m.params == nil {
		return wire.Known(m.Params, names...)
	}
	for _, f := range m.params {
		if err := wire.KnownName(f, names...); err != nil {
			return err
		}
	}
	return nil
}

// subjects are the parameters that say what a request is about, by method:
// those that the header Mcp-Name mirrors (revision 2026-07-28).
var subjects = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

// subject is what a request is about: a resource's URI, a prompt's name, a
// task's id.
func (m Message) subject() string {
	keys := []string{"uri", "name", "taskId"}
	if key, ok := subjects[m.Method]; ok {
		keys = []string{key}
	}
	for _, key := range keys {
		if s, err := wire.Text(m.param(key)); err == nil {
			return s
		}
	}
	return ""
}

// ProgressToken returns the token under which the client wants to hear of
// progress, as written, or nil.
func (m Message) ProgressToken() []byte {
	return wire.Find(m.param("_meta"), "progressToken")
}

// CheckHeaders reports where the headers that mirror a body (revision
// 2026-07-28) do not say what the body says. The body decides; a difference is
// refused with code [CodeHeaderMismatch]. What is missing is the server's to
// judge, and so are the headers Mcp-Param-*, which only a tool's definition
// explains.
func CheckHeaders(h http.Header, msgs []Message, batch bool) error {
	method, says := header(h, "Mcp-Method")
	name, names := header(h, "Mcp-Name")
	if batch {
		if says || names {
			return errors.New("headers Mcp-Method and Mcp-Name mirror one message, and the body is a batch")
		}
		return nil
	}
	m := msgs[0]
	if says && method != m.Method {
		return fmt.Errorf("header Mcp-Method says %q and the body %q", method, m.Method)
	}
	if names && decodeHeader(name) != m.subject() {
		return fmt.Errorf("header Mcp-Name says %q and the body %q", name, m.subject())
	}
	said, ok := header(h, "Mcp-Protocol-Version")
	if version, err := wire.Text(wire.Find(m.param("_meta"), metaVersion)); err == nil && ok && said != version {
		return fmt.Errorf("header MCP-Protocol-Version says %q and the body %q", said, version)
	}
	return nil
}

// metaVersion is where a request of revision 2026-07-28 names its revision.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

func header(h http.Header, name string) (string, bool) {
	v := h.Values(name)
	return strings.Trim(strings.Join(v, ","), " \t"), len(v) > 0
}

// decodeHeader undoes the encoding of values that do not fit into a header.
func decodeHeader(v string) string {
	if s, ok := strings.CutPrefix(v, "=?base64?"); ok {
		if s, ok := strings.CutSuffix(s, "?="); ok {
			if b, err := base64.StdEncoding.DecodeString(s); err == nil {
				return string(b)
			}
		}
	}
	return v
}
