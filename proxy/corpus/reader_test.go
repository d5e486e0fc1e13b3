package corpus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// A format is a model API as this test reads it: on its own, with nothing of the
// codecs, so that a call they miss is seen.
type format struct {
	name    string
	clients []string                // the SDKs that read it, as corpus.mjs names them
	calls   func(docs []any) []call // that an agent would run, in the documents of an answer
	trace   string                  // what no answer without calls has
}

type call struct{ id, name string }

// speaks returns the format of a recording by the road that was asked, or nil
// where it is no model API that the proxy reads.
func speaks(r recording) *format {
	path, host := r.url.Path, r.url.Hostname()
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		if strings.HasSuffix(host, "groq.com") {
			return &format{"chat", []string{"openai", "openai helper", "groq", "mistral"}, chatCalls, `"arguments"`}
		}
		return &format{"chat", []string{"openai", "openai helper", "mistral"}, chatCalls, `"arguments"`}
	case strings.HasSuffix(path, "/responses"):
		return &format{"responses", []string{"responses"}, responsesCalls, `_call_`}
	case strings.HasSuffix(path, "/v1/messages"), strings.HasSuffix(path, "awPredict"):
		return &format{"messages", []string{"anthropic"}, messagesCalls, `input_json_delta`}
	case strings.HasSuffix(path, "enerateContent"):
		return &format{"gemini", []string{"gemini"}, geminiCalls, `functionCall`}
	case strings.Contains(path, "/model/") && strings.Contains(path, "anthropic."):
		return &format{"invoke", []string{"bedrock"}, messagesCalls, `input_json_delta`}
	case strings.HasSuffix(path, "/api/chat"):
		return &format{"ollama", []string{"ollama"}, ollamaCalls, `"arguments"`}
	}
	return nil
}

func (r recording) mediaType() string {
	typ, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return typ
}

// streamed reports whether the answer is a stream of documents.
func (r recording) streamed() bool {
	switch r.mediaType() {
	case "text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream":
		return true
	}
	return false
}

// documents are the JSON values of a body in the form of the recorded answer.
func (r recording) documents(body []byte) ([]any, error) {
	var docs []any
	var bad error
	add := func(data []byte) {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			bad = errors.Join(bad, fmt.Errorf("%w in %.80q", err, data))
			return
		}
		if list, ok := v.([]any); ok {
			docs = append(docs, list...)
			return
		}
		docs = append(docs, v)
	}
	switch r.mediaType() {
	case "text/event-stream":
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body))
		for event := range strings.SplitSeq(text, "\n\n") {
			var data []string
			for line := range strings.SplitSeq(event, "\n") {
				if rest, ok := strings.CutPrefix(line, "data:"); ok {
					data = append(data, strings.TrimPrefix(rest, " "))
				}
			}
			if all := strings.Join(data, "\n"); all != "" && all != "[DONE]" {
				add([]byte(all))
			}
		}
	case "application/vnd.amazon.eventstream":
		d, in := eventstream.NewDecoder(), bytes.NewReader(body)
		for {
			m, err := d.Decode(in, nil)
			if errors.Is(err, io.EOF) {
				return docs, bad
			}
			var chunk struct{ Bytes []byte }
			if err == nil {
				err = json.Unmarshal(m.Payload, &chunk)
			}
			if err != nil {
				return nil, err
			}
			add(chunk.Bytes)
		}
	case "application/x-ndjson":
		for line := range bytes.Lines(body) {
			add(line)
		}
	default:
		add(body)
	}
	return docs, bad
}

// at is the member that keys lead to, or nil.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func list(v any, keys ...string) []any {
	l, _ := at(v, keys...).([]any)
	return l
}

func text(v any, keys ...string) string {
	s, _ := at(v, keys...).(string)
	return s
}

func chatCalls(docs []any) []call {
	var found []call
	open := map[string]bool{}
	for _, d := range docs {
		for _, c := range list(d, "choices") {
			if f := at(c, "message", "function_call"); text(f, "name") != "" {
				found = append(found, call{name: text(f, "name")})
			}
			for _, t := range list(c, "message", "tool_calls") {
				found = append(found, call{text(t, "id"), text(t, "function", "name") + text(t, "custom", "name")})
			}
			for _, t := range list(c, "delta", "tool_calls") {
				key := fmt.Sprint(at(c, "index"), "/", at(t, "index"))
				if !open[key] {
					found = append(found, call{text(t, "id"), text(t, "function", "name") + text(t, "custom", "name")})
				}
				open[key] = true
			}
		}
	}
	return found
}

// clientItems are the items of a response that stand for calls that an agent runs.
var clientItems = map[string]bool{"function_call": true, "custom_tool_call": true, "local_shell_call": true, "shell_call": true, "apply_patch_call": true, "computer_call": true}

func responsesCalls(docs []any) []call {
	var found []call
	add := func(item any) {
		if clientItems[text(item, "type")] {
			found = append(found, call{text(item, "call_id"), text(item, "name")})
		}
	}
	for _, d := range docs {
		if text(d, "type") == "response.output_item.done" {
			add(at(d, "item"))
		}
		for _, item := range list(d, "output") {
			add(item)
		}
	}
	return found
}

func messagesCalls(docs []any) []call {
	var found []call
	add := func(block any) {
		if text(block, "type") == "tool_use" {
			found = append(found, call{text(block, "id"), text(block, "name")})
		}
	}
	for _, d := range docs {
		add(at(d, "content_block"))
		for _, b := range append(list(d, "content"), list(d, "message", "content")...) {
			add(b)
		}
	}
	return found
}

func geminiCalls(docs []any) []call {
	var found []call
	for _, d := range docs {
		for _, c := range list(d, "candidates") {
			for _, p := range list(c, "content", "parts") {
				if name := text(p, "functionCall", "name"); name != "" {
					found = append(found, call{text(p, "functionCall", "id"), name})
				}
			}
		}
	}
	return found
}

func ollamaCalls(docs []any) []call {
	var found []call
	for _, d := range docs {
		for _, t := range list(d, "message", "tool_calls") {
			found = append(found, call{text(t, "id"), text(t, "function", "name")})
		}
	}
	return found
}
