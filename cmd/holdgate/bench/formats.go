package bench

import (
	"fmt"
	"strings"
)

// A format is what a provider speaks: requests that offer one tool, and answers
// that end in a call of it, which the shipped pack allows.
type format struct {
	name       string
	path       string // of a request; the upstream answers by it
	streamPath string // of one for a stream
	streamType string

	head  string // of a request's body, up to the turns; may take whether it is for a stream
	turn  string // takes the role and the text
	roles [2]string

	plain  string   // the answer
	events []string // of the answer as a stream
}

// What every answer says, and the one tool that requests offer and answers call.
const (
	words     = "fox jumps over it. "
	parameter = `{"type":"object","properties":{"file_path":{"type":"string"}}}`
	argument  = `{"file_path":"src/main.go"}`
	quoted    = `"{\"file_path\":\"src/main.go\"}"`

	deltas = 193 // of text in a stream
)

const anthropicName = "anthropic"

var sse = "text/event-stream; charset=utf-8"

// formats are those that are measured, the one that all scenarios are measured
// with first.
func formats() []format {
	return []format{anthropicFormat(), chatFormat(), responsesFormat(), geminiFormat(), ollamaFormat()}
}

func formatNamed(name string) format {
	for _, f := range formats() {
		if f.name == name {
			return f
		}
	}
	return mcpFormat()
}

// event is a server-sent event; name may be empty.
func event(name, data string) string {
	if name != "" {
		name = "event: " + name + "\n"
	}
	return name + "data: " + data + "\n\n"
}

func anthropicFormat() format {
	f := format{
		name: anthropicName, path: "/v1/messages", streamPath: "/v1/messages?stream", streamType: sse,
		head:  `{"model":"bench","max_tokens":1024,"stream":%t,"tools":[{"name":"Read","description":"Read a file","input_schema":` + parameter + `}],"messages":[`,
		turn:  `{"role":"%s","content":[{"type":"text","text":"%s"}]}`,
		roles: [2]string{"user", "assistant"},
	}
	const head = `"id":"msg_01Bench","type":"message","role":"assistant","model":"bench",`
	f.plain = `{` + head + `"content":[{"type":"text","text":"` + strings.Repeat(words, 40) + `"},{"type":"tool_use","id":"toolu_01Bench","name":"Read","input":` + argument +
		`}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":200}}`
	add := func(name, rest string) { f.events = append(f.events, event(name, `{"type":"`+name+`"`+rest+`}`)) }
	add("message_start", `,"message":{`+head+`"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":1}}`)
	add("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	for range deltas {
		add("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+words+`"}`)
	}
	add("content_block_stop", `,"index":0`)
	add("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"toolu_01Bench","name":"Read","input":{}}`)
	add("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":`+quoted+`}`)
	add("content_block_stop", `,"index":1`)
	add("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":200}`)
	add("message_stop", "")
	return f
}

func chatFormat() format {
	f := format{
		name: "openai", path: "/v1/chat/completions", streamPath: "/v1/chat/completions?stream", streamType: sse,
		head:  `{"model":"bench","stream":%t,"tools":[{"type":"function","function":{"name":"Read","description":"Read a file","parameters":` + parameter + `}}],"messages":[`,
		turn:  `{"role":"%s","content":"%s"}`,
		roles: [2]string{"user", "assistant"},
	}
	head := func(kind string) string {
		return `{"id":"chatcmpl-bench","object":"` + kind + `","created":1760000000,"model":"bench","choices":[{"index":0,`
	}
	const call = `"id":"call_bench","type":"function","function":{"name":"Read","arguments":`
	f.plain = head("chat.completion") + `"message":{"role":"assistant","content":"` + strings.Repeat(words, 40) + `","tool_calls":[{` + call + quoted +
		`}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":900,"completion_tokens":200,"total_tokens":1100}}`
	add := func(delta, end string) {
		f.events = append(f.events, event("", head("chat.completion.chunk")+`"delta":{`+delta+`},"finish_reason":`+end+`}]}`))
	}
	add(`"role":"assistant","content":""`, "null")
	for range deltas {
		add(`"content":"`+words+`"`, "null")
	}
	add(`"tool_calls":[{"index":0,`+call+`""}}]`, "null")
	add(`"tool_calls":[{"index":0,"function":{"arguments":`+quoted+`}}]`, "null")
	add("", `"tool_calls"`)
	f.events = append(f.events, event("", "[DONE]"))
	return f
}

func responsesFormat() format {
	f := format{
		name: "responses", path: "/v1/responses", streamPath: "/v1/responses?stream", streamType: sse,
		head:  `{"model":"bench","stream":%t,"tools":[{"type":"function","name":"Read","description":"Read a file","parameters":` + parameter + `}],"input":[`,
		turn:  `{"role":"%s","content":"%s"}`,
		roles: [2]string{"user", "assistant"},
	}
	response := func(status, output string) string {
		return `{"id":"resp_bench","object":"response","created_at":1760000000,"status":"` + status + `","model":"bench","output":[` + output + `]}`
	}
	text := strings.Repeat(words, deltas)
	part := func(text string) string {
		return `{"type":"output_text","text":"` + text + `","annotations":[]}`
	}
	message := func(status, content string) string {
		return `{"id":"msg_bench","type":"message","status":"` + status + `","role":"assistant","content":[` + content + `]}`
	}
	call := func(status, arguments string) string {
		return `{"id":"fc_bench","type":"function_call","status":"` + status + `","call_id":"call_bench","name":"Read","arguments":` + arguments + `}`
	}
	f.plain = response("completed", message("completed", part(strings.Repeat(words, 40)))+","+call("completed", quoted))
	add := func(name, rest string) {
		f.events = append(f.events, event(name, fmt.Sprintf(`{"type":"%s","sequence_number":%d,%s}`, name, len(f.events), rest)))
	}
	const inMessage, inCall = `"item_id":"msg_bench","output_index":0,"content_index":0,`, `"item_id":"fc_bench","output_index":1,`
	add("response.created", `"response":`+response("in_progress", ""))
	add("response.output_item.added", `"output_index":0,"item":`+message("in_progress", ""))
	add("response.content_part.added", inMessage+`"part":`+part(""))
	for range deltas {
		add("response.output_text.delta", inMessage+`"delta":"`+words+`"`)
	}
	add("response.output_text.done", inMessage+`"text":"`+text+`"`)
	add("response.content_part.done", inMessage+`"part":`+part(text))
	add("response.output_item.done", `"output_index":0,"item":`+message("completed", part(text)))
	add("response.output_item.added", `"output_index":1,"item":`+call("in_progress", `""`))
	add("response.function_call_arguments.delta", inCall+`"delta":`+quoted)
	add("response.function_call_arguments.done", inCall+`"arguments":`+quoted)
	add("response.output_item.done", `"output_index":1,"item":`+call("completed", quoted))
	add("response.completed", `"response":`+response("completed", message("completed", part(text))+","+call("completed", quoted)))
	return f
}

func geminiFormat() format {
	f := format{
		name: "gemini", path: "/v1beta/models/bench:generateContent", streamPath: "/v1beta/models/bench:streamGenerateContent?alt=sse", streamType: sse,
		head:  `{"tools":[{"functionDeclarations":[{"name":"Read","description":"Read a file","parameters":` + parameter + `}]}],"contents":[`,
		turn:  `{"role":"%s","parts":[{"text":"%s"}]}`,
		roles: [2]string{"user", "model"},
	}
	answer := func(part, end string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},` + end + `"index":0}],"usageMetadata":{"promptTokenCount":900,"totalTokenCount":1100},"modelVersion":"bench"}`
	}
	const call = `{"functionCall":{"name":"Read","args":` + argument + `}}`
	f.plain = answer(`{"text":"`+strings.Repeat(words, 40)+`"},`+call, `"finishReason":"STOP",`)
	for range deltas {
		f.events = append(f.events, event("", answer(`{"text":"`+words+`"}`, "")))
	}
	f.events = append(f.events, event("", answer(call, `"finishReason":"STOP",`)))
	return f
}

func ollamaFormat() format {
	f := format{
		name: "ollama", path: "/api/chat", streamPath: "/api/chat?stream", streamType: "application/x-ndjson",
		head:  `{"model":"bench","stream":%t,"tools":[{"type":"function","function":{"name":"Read","description":"Read a file","parameters":` + parameter + `}}],"messages":[`,
		turn:  `{"role":"%s","content":"%s"}`,
		roles: [2]string{"user", "assistant"},
	}
	answer := func(message, end string) string {
		return `{"model":"bench","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",` + message + `},` + end + `}`
	}
	const call = `"tool_calls":[{"function":{"name":"Read","arguments":` + argument + `}}]`
	const end = `"done_reason":"stop","done":true,"total_duration":1,"prompt_eval_count":900,"eval_count":200`
	f.plain = answer(`"content":"`+strings.Repeat(words, 40)+`",`+call, end)
	for range deltas {
		f.events = append(f.events, answer(`"content":"`+words+`"`, `"done":false`)+"\n")
	}
	f.events = append(f.events, answer(`"content":"",`+call, `"done":false`)+"\n", answer(`"content":""`, end)+"\n")
	return f
}

// mcpFormat is a call of a tool that the shipped pack allows. No two calls have
// the same arguments.
func mcpFormat() format {
	return format{
		name: "mcp", path: "/mcp",
		head:  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"src/main.go","page":` + counterStart + `,"notes":[`,
		turn:  `{"by":"%s","text":"%s"}`,
		roles: [2]string{"one", "two"},
		plain: `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat(words, 40) + `"}],"isError":false}}`,
	}
}

// heldStream is a stream with a call that the shipped pack holds.
func heldStream() string {
	f := anthropicFormat()
	s := f.events[0] + strings.Join(f.events[len(f.events)-5:], "")
	return strings.NewReplacer(`"name":"Read"`, `"name":"Bash"`, `{\"file_path\":\"src/main.go\"}`, `{\"command\":\"rm -rf build\"}`, `"index":1`, `"index":0`).Replace(s)
}

// request is a whole request of about size bytes of body.
func (f format) request(uri, host string, size int, stream bool) []byte {
	body := f.body(size, stream)
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Anthropic-Version: 2023-06-01\r\nX-Api-Key: bench\r\nContent-Length: %d\r\n\r\n%s", uri, host, len(body), body)
}

// body is that of a request of about size bytes.
func (f format) body(size int, stream bool) string {
	body := f.head
	if strings.Contains(body, "%t") {
		body = fmt.Sprintf(body, stream)
	}
	const text = `Please look at the file and say what it does; quote \"names\" as they are.\nThen go on with the next one.`
	for i := 0; i == 0 || len(body) < size-200; i++ {
		if i > 0 {
			body += ","
		}
		body += fmt.Sprintf(f.turn, f.roles[i%2], text)
	}
	return body + f.tail()
}

// tail closes what head opened.
func (f format) tail() string {
	if f.name == "mcp" {
		return "]}}}"
	}
	return "]}"
}
