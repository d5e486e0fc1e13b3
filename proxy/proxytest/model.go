package proxytest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
)

// ModelCalls is an answer of the Messages API with one call of a tool.
func ModelCalls(id, tool, arguments string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1},` +
		`"content":[{"type":"tool_use","id":"` + id + `","name":"` + tool + `","input":` + arguments + `}]}`
}

// RemoveGated are arguments of the tool remove that are held.
const RemoveGated = `{"path":"gated", "deep":{"b":1,"a":2.50}}`

// EmptyDelta is a sign of life in the format.
func EmptyDelta(i string) string {
	return Event("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"text_delta","text":""}}`)
}

// Without is a text without another.
func Without(s, what string) string { return strings.ReplaceAll(s, what, "") }

// Zipped is a body, compressed.
func Zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(b)
	Must(t, err)
	Must(t, w.Close())
	return buf.Bytes()
}

// WithBodyLimit bounds bodies.
func WithBodyLimit(n int64) Option { return func(c *proxy.Config) { c.Limits.Body = n } }

// EmptyMessage is a whole message that calls nothing.
const EmptyMessage = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`

// WithBudget has clients wait so long for headers.
func WithBudget(d time.Duration) Option { return func(c *proxy.Config) { c.Limits.Budget = d } }

// GatedPlain is a whole message with a call that is held.
const GatedPlain = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"before"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"gated"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`

// Calling answers each request with a message that calls Bash.
func Calling(seen *Counter, command string) http.Handler {
	return Answer(seen, 200, fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":%q}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, command))
}

// InSession sends a model request of a session, and returns its answer's body.
func (g *Sidecar) InSession(session, body string) <-chan string {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), http.MethodPost, g.URL+Messages, strings.NewReader(body))
	Must(g.T, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", session)
	answered := make(chan string, 1)
	go func() {
		resp, err := g.Client.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		answered <- ReadAll(g.T, resp.Body)
	}()
	return answered
}

// WithGates lays a configuration over the types of gate.
func WithGates(configured map[string]sessions.Gate) Parts {
	return Parts{Queue: func(c *approvals.Config) {
		all, err := sessions.NewGates(configured)
		if err != nil {
			panic(err)
		}
		c.Gates = all
	}}
}

// MessageWithCall is a whole message with a call.
const MessageWithCall = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"x"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`

// Asking answers one request after another with a message that calls a tool: each
// call is its name and its input. Where a call was refused it says no more.
func Asking(calls ...[2]string) http.Handler {
	var next atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), NoticeWord) {
			_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
			return
		}
		i := next.Add(1) - 1
		c := calls[i]
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_%d","name":%q,"input":%s}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, i, c[0], c[1])
	})
}

// Stream answers with the events given, flushed one by one.
func Stream(seen *Counter, events ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Saw(r)
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			_ = rc.Flush()
		}
	})
}

// Answer answers with a document.
func Answer(seen *Counter, status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Saw(r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// MessageStart, MessageText, MessageTool and MessageEnd are the events of a message of the Messages API.
func MessageStart() string {
	return Event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`)
}

// MessageText is a block of text.
func MessageText(i, text string) string {
	return Event("content_block_start", `{"type":"content_block_start","index":`+i+`,"content_block":{"type":"text","text":""}}`) +
		Event("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"text_delta","text":"`+text+`"}}`) +
		Event("content_block_stop", `{"type":"content_block_stop","index":`+i+`}`)
}

// MessageTool is a call of the tool Bash.
func MessageTool(i, id, command string) string {
	return Event("content_block_start", `{"type":"content_block_start","index":`+i+`,"content_block":{"type":"tool_use","id":"`+id+`","name":"Bash","input":{}}}`) +
		Event("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"input_json_delta","partial_json":"{\"command\": "}}`) +
		Event("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"input_json_delta","partial_json":"\"`+command+`\"}"}}`) +
		Event("content_block_stop", `{"type":"content_block_stop","index":`+i+`}`)
}

// MessageEnd ends the message.
func MessageEnd(reason string) string {
	return Event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":9}}`) +
		Event("message_stop", `{"type":"message_stop"}`)
}

// Event is an event of a stream.
func Event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// Requests of the Messages API, and where they go. A notice begins with NoticeWord.
const (
	Messages   = "/up/test/v1/messages"
	AskStream  = `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"go"}]}`
	AskPlain   = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}]}`
	NoticeWord = "[holdgate]"
)
