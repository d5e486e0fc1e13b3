package openai

import "github.com/holdgate/holdgate/proxy/wire"

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: "/v1/chat/completions", StreamPath: "/v1/chat/completions", StreamType: "text/event-stream; charset=utf-8",
		Head:  `{"model":"bench","stream":%t,"tools":[{"type":"function","function":{"name":"Read","description":"Read a file","parameters":` + wire.ExampleParameter + `}}],"messages":[`,
		Turn:  `{"role":"%s","content":"%s"}`,
		Tail:  "]}",
		Roles: [2]string{"user", "assistant"},
	}
	head := func(kind string) string {
		return `{"id":"chatcmpl-bench","object":"` + kind + `","created":1760000000,"model":"bench","choices":[{"index":0,`
	}
	const call = `"id":"call_bench","type":"function","function":{"name":"Read","arguments":`
	e.Plain = head("chat.completion") + `"message":{"role":"assistant","content":"` + wire.ExampleText() + `","tool_calls":[{` + call + wire.ExampleQuoted +
		`}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":900,"completion_tokens":200,"total_tokens":1100}}`
	add := func(delta, end string) {
		e.Event("", head("chat.completion.chunk")+`"delta":{`+delta+`},"finish_reason":`+end+`}]}`)
	}
	add(`"role":"assistant","content":""`, "null")
	for range wire.ExampleEvents {
		add(`"content":"`+wire.ExampleWords+`"`, "null")
	}
	add(`"tool_calls":[{"index":0,`+call+`""}}]`, "null")
	add(`"tool_calls":[{"index":0,"function":{"arguments":`+wire.ExampleQuoted+`}}]`, "null")
	add("", `"tool_calls"`)
	e.Event("", `{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1760000000,"model":"bench","choices":[],"usage":{"prompt_tokens":900,"completion_tokens":200,"total_tokens":1100}}`)
	e.Event("", "[DONE]")
	return e
}
