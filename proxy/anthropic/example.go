package anthropic

import "github.com/holdgate/holdgate/proxy/wire"

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: "/v1/messages", StreamPath: "/v1/messages", StreamType: "text/event-stream; charset=utf-8",
		Head:  `{"model":"bench","max_tokens":1024,"stream":%t,"tools":[{"name":"Read","description":"Read a file","input_schema":` + wire.ExampleParameter + `}],"messages":[`,
		Turn:  `{"role":"%s","content":[{"type":"text","text":"%s"}]}`,
		Tail:  "]}",
		Roles: [2]string{"user", "assistant"},
	}
	const head = `"id":"msg_01Bench","type":"message","role":"assistant","model":"bench",`
	e.Plain = `{` + head + `"content":[{"type":"text","text":"` + wire.ExampleText() + `"},{"type":"tool_use","id":"toolu_01Bench","name":"Read","input":` + wire.ExampleArguments +
		`}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":200}}`
	add := func(name, rest string) { e.Event(name, `{"type":"`+name+`"`+rest+`}`) }
	add("message_start", `,"message":{`+head+`"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":1}}`)
	add("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	for range wire.ExampleEvents {
		add("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+wire.ExampleWords+`"}`)
	}
	add("content_block_stop", `,"index":0`)
	add("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"toolu_01Bench","name":"Read","input":{}}`)
	add("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":`+wire.ExampleQuoted+`}`)
	add("content_block_stop", `,"index":1`)
	add("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":200}`)
	add("message_stop", "")
	return e
}
