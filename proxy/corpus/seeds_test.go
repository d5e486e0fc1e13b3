package corpus_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A seed is an answer with two calls, or with two things that an MCP server asks, written for this test, of which variants
// are made.
type seed struct {
	name    string
	clients []string // the SDKs that read it
	path    string
	server  string      // the MCP server that is asked, if one is
	asked   http.Header // beside what all requests have
	ask     string
	typ     string
	stream  bool
	events  []event
	frame   func([]event) []byte
}

// An event is one document of a stream, or all of a plain answer.
type event struct{ name, doc string }

func frameSSE(events []event) []byte {
	var b strings.Builder
	for _, e := range events {
		if e.name != "" {
			b.WriteString("event: " + e.name + "\n")
		}
		b.WriteString("data: " + e.doc + "\n\n")
	}
	return []byte(b.String())
}

func frameLines(events []event) []byte {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.doc + "\n")
	}
	return []byte(b.String())
}

func frameArray(events []event) []byte {
	var docs []string
	for _, e := range events {
		docs = append(docs, e.doc)
	}
	return []byte("[" + strings.Join(docs, "\n,\r\n") + "\n]\n")
}

func framePlain(events []event) []byte { return []byte(events[0].doc) }

func frameMessages(events []event) []byte {
	var b []byte
	for _, e := range events {
		b = wire.AppendMessage(b, "event", e.name, []byte(e.doc))
	}
	return b
}

func frameChunks(events []event) []byte {
	var b []byte
	for _, e := range events {
		b = wire.AppendMessage(b, "event", "chunk", []byte(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(e.doc))+`"}`))
	}
	return b
}

const eventStreamType = "application/vnd.amazon.eventstream"

// args are the arguments of both calls, as they stand in a JSON text.
const args = `{\"command\":\"rm -rf x\"}`

// typed are events whose name is the type in their data.
func typed(docs ...string) []event {
	var events []event
	for _, d := range docs {
		name, _ := wire.Text(wire.Find([]byte(d), "type"))
		events = append(events, event{name, d})
	}
	return events
}

func unnamed(docs ...string) []event {
	var events []event
	for _, d := range docs {
		events = append(events, event{doc: d})
	}
	return events
}

func seeds() []seed {
	all := append(openaiSeeds(), anthropicSeeds()...)
	return slices.Concat(all, geminiSeeds(), interactionSeeds(), otherSeeds(), laterSeeds(), mcpAnswers())
}

func openaiSeeds() []seed {
	const askChat, askResponses = `{"model":"m","messages":[{"role":"user","content":"go"}]`, `{"model":"m","input":"go"`
	chunk := func(delta, finish string) string {
		return `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
	}
	called := func(index, id, name string) string {
		return `{"index":` + index + `,"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}}`
	}
	item := func(id, typ, rest string) string {
		return `{"id":"` + id + `","type":"` + typ + `","status":"completed","call_id":"call_` + id + `","name":"` + id + `",` + rest + `}`
	}
	one, two := item("Bash", "function_call", `"arguments":"`+args+`"`), item("Patch", "custom_tool_call", `"input":"rm -rf x"`)
	const said = `{"id":"msg","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hello","annotations":[]}]}`
	response := func(status, items string) string {
		return `{"id":"resp","object":"response","created_at":1,"model":"m","status":"` + status + `","output":[` + items + `],"parallel_tool_calls":true,"tool_choice":"auto","tools":[]}`
	}
	clients := []string{"openai", "openai helper", "groq"}
	return []seed{{
		name: "chat", clients: append(slices.Clone(clients), "mistral"), path: "/v1/chat/completions", ask: askChat + `}`, typ: "application/json", frame: framePlain,
		events: unnamed(`{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello","tool_calls":[` +
			called("0", "c1", "Bash") + `,` + called("1", "c2", "Read") + `]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`),
	}, {
		name: "chat, streamed", clients: clients, path: "/v1/chat/completions", ask: askChat + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE,
		events: unnamed(chunk(`{"role":"assistant","content":"hello"}`, `null`),
			chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"Bash","arguments":""}}]}`, `null`),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"`+args+`"}}]}`, `null`),
			chunk(`{"tool_calls":[`+called("1", "c2", "Read")+`]}`, `null`),
			chunk(`{}`, `"tool_calls"`), `[DONE]`),
	}, {
		// Mistral's SDK reads no others.
		name: "chat, streamed, calls whole", clients: []string{"mistral"}, path: "/v1/chat/completions", ask: askChat + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE,
		events: unnamed(chunk(`{"role":"assistant","content":"hello"}`, `null`), chunk(`{"tool_calls":[`+called("0", "c1", "Bash")+`]}`, `null`),
			chunk(`{"tool_calls":[`+called("1", "c2", "Read")+`]}`, `"tool_calls"`), `[DONE]`),
	}, {
		name: "legacy chat, streamed", clients: []string{"openai", "openai helper"}, path: "/v1/chat/completions", ask: askChat + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE,
		events: unnamed(chunk(`{"role":"assistant","content":null,"function_call":{"name":"Bash","arguments":""}}`, `null`),
			chunk(`{"function_call":{"arguments":"`+args+`"}}`, `null`), chunk(`{}`, `"function_call"`), `[DONE]`),
	}, {
		name: "responses", clients: []string{"responses"}, path: "/v1/responses", ask: askResponses + `}`, typ: "application/json", frame: framePlain,
		events: unnamed(response("completed", said+","+one+","+two)),
	}, {
		name: "responses, streamed", clients: []string{"responses"}, path: "/v1/responses", ask: askResponses + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE,
		events: typed(`{"type":"response.created","sequence_number":0,"response":`+response("in_progress", "")+`}`,
			`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":`+strings.Replace(one, args, "", 1)+`}`,
			`{"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"Bash","output_index":0,"delta":"`+args+`"}`,
			`{"type":"response.function_call_arguments.done","sequence_number":3,"item_id":"Bash","output_index":0,"arguments":"`+args+`"}`,
			`{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":`+one+`}`,
			`{"type":"response.output_item.added","sequence_number":5,"output_index":1,"item":`+strings.Replace(two, "rm -rf x", "", 1)+`}`,
			`{"type":"response.custom_tool_call_input.delta","sequence_number":6,"item_id":"Patch","output_index":1,"delta":"rm -rf x"}`,
			`{"type":"response.custom_tool_call_input.done","sequence_number":7,"item_id":"Patch","output_index":1,"input":"rm -rf x"}`,
			`{"type":"response.output_item.done","sequence_number":8,"output_index":1,"item":`+two+`}`,
			`{"type":"response.completed","sequence_number":9,"response":`+response("completed", one+","+two)+`}`),
	}}
}

const (
	claudePlain = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"rm -rf x"}},` +
		`{"type":"tool_use","id":"t2","name":"Read","input":{"command":"rm -rf x"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
	claudeStart = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`
)

func claudeEvents() []event {
	tool := func(index, id, name string) []string {
		return []string{
			`{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}}`,
			`{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":"` + args + `"}}`,
			`{"type":"content_block_stop","index":` + index + `}`,
		}
	}
	docs := []string{
		claudeStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`, `{"type":"content_block_stop","index":0}`,
	}
	docs = append(append(docs, tool("1", "t1", "Bash")...), tool("2", "t2", "Read")...)
	return typed(append(docs, `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`)...)
}

func anthropicSeeds() []seed {
	const ask, invoke = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}]`, `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"go"}]}`
	return []seed{
		{name: "messages", clients: []string{"anthropic"}, path: "/v1/messages", ask: ask + `}`, typ: "application/json", frame: framePlain, events: unnamed(claudePlain)},
		{name: "messages, streamed", clients: []string{"anthropic"}, path: "/v1/messages", ask: ask + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE, events: claudeEvents()},
		{name: "invoke", clients: []string{"bedrock"}, path: "/model/anthropic.claude/invoke", ask: invoke, typ: "application/json", frame: framePlain, events: unnamed(claudePlain)},
		{name: "invoke, streamed", clients: []string{"bedrock"}, path: "/model/anthropic.claude/invoke-with-response-stream", ask: invoke, typ: eventStreamType, stream: true, frame: frameChunks, events: claudeEvents()},
	}
}

func geminiSeeds() []seed {
	const ask = `{"contents":[{"role":"user","parts":[{"text":"go"}]}]}`
	candidate := func(parts, rest string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + rest + `,"index":0}],"usageMetadata":{"totalTokenCount":1},"modelVersion":"m"}`
	}
	const one, two = `{"functionCall":{"id":"1","name":"Bash","args":{"command":"rm -rf x"}},"thoughtSignature":"c2ln"}`, `{"functionCall":{"name":"Read","args":{"command":"rm -rf x"}}}`
	events := unnamed(candidate(`{"text":"hello"}`, ""), candidate(one, ""), candidate(two, ""), candidate(`{"text":"."}`, `,"finishReason":"STOP"`))
	partial := unnamed(candidate(`{"functionCall":{"name":"Bash","willContinue":true}}`, ""),
		candidate(`{"functionCall":{"partialArgs":[{"jsonPath":"$.command","stringValue":"rm -rf x"}],"willContinue":true}}`, ""),
		candidate(`{"functionCall":{}}`, ""), candidate(`{"text":"."}`, `,"finishReason":"STOP"`))
	const at = "/v1beta/models/m:streamGenerateContent"
	return []seed{
		{name: "gemini", clients: []string{"gemini"}, path: "/v1beta/models/m:generateContent", ask: ask, typ: "application/json", frame: framePlain, events: unnamed(candidate(`{"text":"hello"},`+one+","+two, `,"finishReason":"STOP"`))},
		{name: "gemini, streamed", clients: []string{"gemini"}, path: at + "?alt=sse", ask: ask, typ: "text/event-stream", stream: true, frame: frameSSE, events: events},
		{name: "gemini, in pieces", clients: []string{"gemini"}, path: at + "?alt=sse", ask: ask, typ: "text/event-stream", stream: true, frame: frameSSE, events: partial},
		{name: "gemini, as a list", clients: []string{"list"}, path: at, ask: ask, typ: "application/json", stream: true, frame: frameArray, events: events},
	}
}

// interactionSeeds are those of Google's interactions.
func interactionSeeds() []seed {
	const ask, at = `{"model":"m","input":"go"`, "/v1beta/interactions"
	const said = `{"type":"model_output","content":[{"type":"text","text":"hello"}]}`
	call := func(id, name, arguments string) string {
		return `{"type":"function_call","id":"` + id + `","name":"` + name + `","arguments":` + arguments + `,"signature":""}`
	}
	interaction := func(status, steps string) string {
		return `{"id":"v1","object":"interaction","model":"m","status":"` + status + `",` + steps + `"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","usage":{"total_tokens":2}}`
	}
	of := func(typ, index, members string) string {
		return `{"index":` + index + members + `,"event_type":"` + typ + `"}`
	}
	called := func(index, id, name string) []string {
		return []string{
			of("step.start", index, `,"step":`+call(id, name, "{}")), of("step.delta", index, `,"delta":{"arguments":"`+args[:10]+`","type":"arguments_delta"}`),
			of("step.delta", index, `,"delta":{"arguments":"`+args[10:]+`","type":"arguments_delta"}`), of("step.stop", index, ""),
		}
	}
	const done = `{"command":"rm -rf x"}`
	docs := func(again string) []event {
		all := slices.Concat([]string{
			`{"interaction":{"id":"v1","status":"in_progress","object":"interaction","model":"m"},"event_type":"interaction.created"}`,
			`{"interaction_id":"v1","status":"in_progress","event_type":"interaction.status_update"}`,
			of("step.start", "0", `,"step":{"type":"model_output"}`), of("step.delta", "0", `,"delta":{"text":"hello","type":"text"}`), of("step.stop", "0", ""),
		}, called("1", "c1", "Bash"), called("2", "c2", "Read"), []string{`{"interaction":` + interaction("requires_action", again) + `,"event_type":"interaction.completed"}`})
		var events []event
		for _, d := range all {
			name, _ := wire.Text(wire.Find([]byte(d), "event_type"))
			events = append(events, event{name, d})
		}
		return append(events, event{"done", "[DONE]"})
	}
	steps := `"steps":[` + said + `,` + call("c1", "Bash", done) + `,` + call("c2", "Read", done) + `],`
	clients := []string{"interactions"}
	return []seed{
		{name: "interactions", clients: clients, path: at, ask: ask + `}`, typ: "application/json", frame: framePlain, events: unnamed(interaction("requires_action", steps))},
		{name: "interactions, streamed", clients: clients, path: at, ask: ask + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE, events: docs("")},
		{name: "interactions, streamed and repeated", clients: clients, path: at, ask: ask + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE, events: docs(steps)},
	}
}

func otherSeeds() []seed {
	const askOllama, askConverse = `{"model":"m","messages":[{"role":"user","content":"go"}]`, `{"messages":[{"role":"user","content":[{"text":"go"}]}]}`
	ollama := func(content, calls, rest string) string {
		return `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"` + content + `"` + calls + `},` + rest + `}`
	}
	tools := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, `{"id":"call_`+n+`","function":{"index":0,"name":"`+n+`","arguments":{"command":"rm -rf x"}}}`)
		}
		return `,"tool_calls":[` + strings.Join(list, ",") + `]`
	}
	const done = `"done":true,"done_reason":"stop","eval_count":1`
	use := func(id, name string) string {
		return `{"toolUse":{"toolUseId":"` + id + `","name":"` + name + `","input":{"command":"rm -rf x"}}}`
	}
	block := func(index, id, name string) []event {
		return []event{
			{"contentBlockStart", `{"contentBlockIndex":` + index + `,"start":{"toolUse":{"toolUseId":"` + id + `","name":"` + name + `"}}}`},
			{"contentBlockDelta", `{"contentBlockIndex":` + index + `,"delta":{"toolUse":{"input":"` + args + `"}}}`},
			{"contentBlockStop", `{"contentBlockIndex":` + index + `}`},
		}
	}
	converse := []event{
		{"messageStart", `{"role":"assistant","p":"abc"}`}, {"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hello"}}`}, {"contentBlockStop", `{"contentBlockIndex":0}`},
	}
	converse = append(append(converse, block("1", "t1", "Bash")...), block("2", "t2", "Read")...)
	converse = append(converse, event{"messageStop", `{"stopReason":"tool_use"}`}, event{"metadata", `{"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1}}`})
	return []seed{
		{name: "ollama", clients: []string{"ollama"}, path: "/api/chat", ask: askOllama + `,"stream":false}`, typ: "application/json", frame: framePlain, events: unnamed(ollama("hello", tools("Bash", "Read"), done))},
		{name: "ollama, streamed", clients: []string{"ollama"}, path: "/api/chat", ask: askOllama + `,"stream":true}`, typ: "application/x-ndjson", stream: true, frame: frameLines,
			events: unnamed(ollama("hello", "", `"done":false`), ollama("", tools("Bash"), `"done":false`), ollama("", tools("Read"), `"done":false`), ollama("", "", done))},
		{name: "converse", clients: []string{"converse"}, path: "/model/m/converse", ask: askConverse, typ: "application/json", frame: framePlain,
			events: unnamed(`{"metrics":{"latencyMs":1},"output":{"message":{"role":"assistant","content":[{"text":"hello"},` + use("t1", "Bash") + `,` + use("t2", "Read") + `]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`)},
		{name: "converse, streamed", clients: []string{"converse"}, path: "/model/m/converse-stream", ask: askConverse, typ: eventStreamType, stream: true, frame: frameMessages, events: converse},
	}
}

// laterSeeds are those of Cohere and of Mistral's conversations.
func laterSeeds() []seed {
	const askCohere, askCohere1, askMistral = `{"model":"m","messages":[{"role":"user","content":"go"}]`, `{"model":"m","message":"go"`, `{"model":"m","inputs":"go"`
	function := func(id, name string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}}`
	}
	message := func(typ, index, members string) string {
		return `{"type":"` + typ + `",` + index + `"delta":{"message":{` + members + `}}}`
	}
	call := func(index, id, name string) []string {
		return []string{
			message("tool-call-start", `"index":`+index+`,`, `"tool_calls":`+strings.Replace(function(id, name), args, "", 1)),
			message("tool-call-delta", `"index":`+index+`,`, `"tool_calls":{"function":{"arguments":"`+args+`"}}`),
			`{"type":"tool-call-end","index":` + index + `}`,
		}
	}
	const usage = `"usage":{"tokens":{"input_tokens":1,"output_tokens":1}}`
	cohere := []string{
		message("message-start", `"id":"x",`, `"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]`), message("tool-plan-delta", "", `"tool_plan":"hello"`),
		message("content-start", `"index":0,`, `"content":{"type":"text","text":""}`), message("content-delta", `"index":0,`, `"content":{"text":"hello"}`), `{"type":"content-end","index":0}`,
	}
	cohere = slices.Concat(cohere, call("0", "c1", "Bash"), call("1", "c2", "Read"), []string{`{"type":"message-end","delta":{"finish_reason":"TOOL_CALL",` + usage + `}}`})

	const done = `{"command":"rm -rf x"}`
	const twice = `"tool_calls":[{"name":"Bash","parameters":` + done + `},{"name":"Read","parameters":` + done + `}]`
	const first = `{"response_id":"r","text":"hello","generation_id":"g",` + twice + `,"chat_history":[{"role":"USER","message":"go"},{"role":"CHATBOT","message":"hello",` + twice + `}],"finish_reason":"COMPLETE","meta":{"tokens":{"input_tokens":1,"output_tokens":1}}}`
	line := func(typ, rest string) string {
		return fmt.Sprintf(`{"is_finished":%t,"event_type":"%s",%s}`, typ == "stream-end", typ, rest)
	}
	delta := func(index, rest string) string {
		return line("tool-calls-chunk", `"tool_call_delta":{"index":`+index+`,`+rest+`}`)
	}
	one := unnamed(line("stream-start", `"generation_id":"g"`), line("text-generation", `"text":"hello"`), line("tool-calls-chunk", `"text":"I will."`),
		delta("0", `"name":"Bash"`), delta("0", `"parameters":"`+args[:10]+`"`), delta("0", `"parameters":"`+args[10:]+`"`), delta("1", `"name":"Read"`), delta("1", `"parameters":"`+args+`"`),
		line("tool-calls-generation", twice), line("stream-end", `"finish_reason":"COMPLETE","response":`+first))

	entry := func(typ, rest string) string {
		return `{"object":"entry","type":"` + typ + `","created_at":"2026-01-01T00:00:00Z",` + rest + `}`
	}
	piece := func(index, id, name, args string) string {
		return `{"type":"function.call.delta","created_at":"2026-01-01T00:00:00Z","output_index":` + index + `,"id":"` + id + `","model":"m","name":"` + name + `","tool_call_id":"call_` + id + `","arguments":"` + args + `"}`
	}
	const used = `"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`
	said := `"id":"msg","role":"assistant","content":"hello"`
	return []seed{
		{name: "cohere", clients: []string{"cohere"}, path: "/v2/chat", ask: askCohere + `}`, typ: "application/json", frame: framePlain,
			events: unnamed(`{"id":"x","message":{"role":"assistant","tool_plan":"hello","content":[{"type":"text","text":"hello"}],"tool_calls":[` + function("c1", "Bash") + `,` + function("c2", "Read") + `]},"finish_reason":"TOOL_CALL",` + usage + `}`)},
		{name: "cohere, streamed", clients: []string{"cohere"}, path: "/v2/chat", ask: askCohere + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE, events: typed(cohere...)},
		{name: "cohere v1", clients: []string{"cohere v1"}, path: "/v1/chat", ask: askCohere1 + `}`, typ: "application/json", frame: framePlain, events: unnamed(first)},
		{name: "cohere v1, streamed", clients: []string{"cohere v1"}, path: "/v1/chat", ask: askCohere1 + `,"stream":true}`, typ: "application/stream+json", stream: true, frame: frameLines, events: one},
		{name: "conversation", clients: []string{"conversation"}, path: "/v1/conversations", ask: askMistral + `}`, typ: "application/json", frame: framePlain,
			events: unnamed(`{"object":"conversation.response","conversation_id":"conv","outputs":[` + entry("message.output", said) + `,` +
				entry("function.call", `"id":"f1","tool_call_id":"c1","name":"Bash","arguments":"`+args+`"`) + `,` + entry("function.call", `"id":"f2","tool_call_id":"c2","name":"Read","arguments":{"command":"rm -rf x"}`) + `],` + used + `}`)},
		{name: "conversation, streamed", clients: []string{"conversation"}, path: "/v1/conversations", ask: askMistral + `,"stream":true}`, typ: "text/event-stream", stream: true, frame: frameSSE,
			events: typed(`{"type":"conversation.response.started","created_at":"2026-01-01T00:00:00Z","conversation_id":"conv"}`,
				`{"type":"message.output.delta","output_index":0,"content_index":0,`+said+`}`,
				piece("1", "f1", "Bash", args[:10]), piece("1", "f1", "Bash", args[10:]), piece("2", "f2", "Read", args),
				`{"type":"conversation.response.done",`+used+`}`)},
	}
}
