package mcp

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Codes of JSON-RPC errors.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeHeaderMismatch = -32020
	CodeRefused        = -31000 // outside the ranges that JSON-RPC and MCP reserve
)

// Refusal answers a request that was refused. A tool call gets a result that
// the model can read (isError), for a JSON-RPC error or an HTTP status ends
// the client's turn; every other request has only an error to get.
func (m Message) Refusal(text string) []byte {
	if m.Method != "tools/call" {
		return Error(m.ID, CodeRefused, text)
	}
	return ToolRefusal(m.ID, text)
}

// ToolRefusal is the result of a tool call that was refused.
func ToolRefusal(id []byte, text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":%s}],"isError":true}}`, id, quote(text))
}

// Error is a JSON-RPC error response. A nil id is written as null.
func Error(id []byte, code int, text string) []byte {
	if id == nil {
		id = []byte("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quote(text))
}

// Progress is the n-th notification of progress for a token.
func Progress(token []byte, n int, text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%s}}`, token, n, quote(text))
}

// Event frames a message as a server-sent event without an id: an id of ours
// would break the resumption of the server's own stream. Every reader takes it
// for one event, whatever ends a line for it.
func Event(message []byte) []byte {
	return wire.AppendEvent(nil, "message", bytes.TrimSpace(message))
}

// Comment is a sign of life that carries nothing.
func Comment() []byte { return []byte(": waiting\n\n") }

// Batch joins responses into the array that answers a batch.
func Batch(responses [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(responses, []byte(","))...), ']')
}

func quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8: what could be read of it
		b, _ = jsontext.AppendQuote(nil, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	return b
}
