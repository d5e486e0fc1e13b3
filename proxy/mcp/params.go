package mcp

import (
	"bytes"
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// paramNames are the parameters that any request may have, and paramsOf those of
// the protocol's own methods, in all revisions. What policy goes by is found
// under exactly these names.
var (
	paramNames = []string{"_meta", "cursor", "inputResponses", "name", "requestState", "task", "taskId", "uri"}
	paramsOf   = map[string][]string{
		"completion/complete":    {"ref", "argument", "context"},
		"elicitation/create":     {"mode", "message", "requestedSchema", "url", "elicitationId"},
		"initialize":             {"protocolVersion", "capabilities", "clientInfo"},
		"logging/setLevel":       {"level"},
		"prompts/get":            {"arguments"},
		"sampling/createMessage": {"messages", "modelPreferences", "systemPrompt", "includeContext", "temperature", "maxTokens", "stopSequences", "metadata", "tools", "toolChoice"},
		"subscriptions/listen":   {"notifications"},
		"tools/call":             {"arguments"},
	}
	// nestedNames are the members of parameters that say what a request is about.
	nestedNames = map[string][]string{"ref": {"type", "name", "uri"}, "argument": {"name", "value"}}
)

// checkParams refuses parameters with a name that is one of the protocol's in
// another case. Readers in Go take "URI" for "uri": policy would see a request
// about nothing, and the server one about a file. It returns the parameters, or
// nil where they are many.
func checkParams(method string, params []byte) ([]wire.Member, error) {
	if wire.KindOf(params) != "an object" {
		return nil, nil
	}
	own := paramsOf[method]
	all := make([]wire.Member, 0, usualParams)
	for m, err := range wire.Members(params) {
		if err == nil {
			err = wire.KnownName(m, paramNames...)
		}
		if err == nil {
			err = wire.KnownName(m, own...)
		}
		if err == nil && wire.KindOf(m.Value) == "an object" {
			err = wire.Known(m.Value, nestedNames[string(m.Name)]...)
		}
		if err != nil {
			return nil, fmt.Errorf("reading params of %.50q: %w", method, err)
		}
		if len(all) < maxParams {
			all = append(all, m)
		}
	}
	if len(all) == maxParams {
		return nil, nil
	}
	return all, nil
}

// usualParams is room for the parameters of most messages. As many as maxParams
// are not kept: a call may wait for hours, and must not take a multiple of the
// size of its message.
const (
	usualParams = 4
	maxParams   = 64
)

// answerNames are the members of what clients answer to servers, in all revisions:
// to elicitation/create, sampling/createMessage and roots/list.
var answerNames = []string{"_meta", "action", "content", "model", "role", "roots", "stopReason", "task"}

// answerParts are the members of what is in an answer: of roots, and of what a
// model has said. The content of a form has the names that the form gave it.
var answerParts = map[string][]string{
	"roots":   {"uri", "name", "_meta"},
	"content": {"type", "text", "data", "mimeType", "id", "name", "input", "toolUseId", "content", "structuredContent", "isError", "_meta"},
}

// CheckAnswer refuses an answer ([Message.Answers]) with a name that is one of the
// protocol's in another case: policy would see a form that nobody has accepted
// ("Action"), and some server one that was.
func (m Message) CheckAnswer() error {
	if wire.KindOf(m.Result) != "an object" {
		return nil
	}
	said := wire.Find(m.Result, "role") != nil
	for f, err := range wire.Members(m.Result) {
		if err == nil {
			err = wire.KnownName(f, answerNames...)
		}
		if name := string(f.Name); err == nil && (name == "roots" || name == "content" && said) {
			err = checkParts(f.Value, answerParts[name])
		}
		if err != nil {
			return fmt.Errorf("reading an answer to the server: %w", err)
		}
	}
	return nil
}

// checkParts looks at an object, or at those of an array.
func checkParts(value []byte, names []string) error {
	if wire.KindOf(value) == "an object" {
		return wire.Known(value, names...)
	}
	if wire.KindOf(value) != "an array" {
		return nil
	}
	for e, err := range wire.Elements(value) {
		if err == nil && wire.KindOf(e.Value) == "an object" {
			err = wire.Known(e.Value, names...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofOneSending are what clients write into _meta that says which sending of a
// request this is, and nothing of what is asked for: the token of progress, the
// trace (W3C Trace Context and Baggage), and the model's or the client's own id
// of the call.
var ofOneSending = []string{"progressToken", "traceparent", "tracestate", "baggage", "claudecode/toolUseId", "callId", "x-codex-turn-metadata"}

// Key returns what a request and the same request sent again have in common:
// method and parameters, without ids and what in _meta is of one sending. So an
// approval is for what else the client sends too. The parameter task is no part
// of it, for it says how the answer is to come. An answer is known by all that it
// says.
func (m Message) Key() ([]byte, error) {
	if m.IsResponse() {
		return wire.CanonicalWithout(m.Raw)
	}
	if m.Params == nil {
		return []byte(m.Method), nil
	}
	left := []string{"task"}
	meta := m.param("_meta")
	if wire.KindOf(meta) == "an object" {
		var err error
		if meta, err = wire.CanonicalWithout(meta, ofOneSending...); err != nil {
			return nil, err
		}
		left = append(left, "_meta")
	} else {
		meta = nil // it is among the rest, if it is there at all
	}
	rest, err := wire.CanonicalWithout(m.Params, left...)
	if err != nil {
		return nil, err
	}
	key := append([]byte(m.Method+" "), rest...)
	if meta == nil || bytes.Equal(meta, []byte("{}")) {
		return key, nil
	}
	return append(append(key, ' '), meta...), nil
}
