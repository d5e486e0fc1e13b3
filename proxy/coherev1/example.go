package coherev1

import "github.com/holdgate/holdgate/proxy/wire"

// Example returns an exchange in the format.
func (c *Codec) Example() wire.Example {
	e := wire.Example{
		Path: "/v1/chat", StreamPath: "/v1/chat", StreamType: c.StreamType(),
		Head:  `{"model":"bench","stream":%t,"tools":[{"name":"Read","description":"Read a file","parameter_definitions":{"file_path":{"type":"str"}}}],"message":"Well?","chat_history":[`,
		Turn:  `{"role":"%s","message":"%s"}`,
		Tail:  "]}",
		Roles: [2]string{"USER", "CHATBOT"},
	}
	const calls = `"tool_calls":[{"name":"Read","parameters":` + wire.ExampleArguments + `}]`
	e.Plain = `{"response_id":"bench","text":"` + wire.ExampleText() + `","generation_id":"bench",` + calls + `,"chat_history":[{"role":"USER","message":"Well?"},{"role":"CHATBOT","message":"` +
		wire.ExampleText() + `",` + calls + `}],"finish_reason":"COMPLETE","meta":{"tokens":{"input_tokens":900,"output_tokens":200}}}`
	w := writer{lines: true}
	add := func(typ, members string) { e.Events = append(e.Events, string(w.made(nil, typ, members))) }
	add(streamStart, `"generation_id":"bench"`)
	for range wire.ExampleEvents {
		add(textGeneration, `"text":"`+wire.ExampleWords+`"`)
	}
	add(callsChunk, `"tool_call_delta":{"index":0,"name":"Read"}`)
	add(callsChunk, `"tool_call_delta":{"index":0,"parameters":`+wire.ExampleQuoted+`}`)
	add(callsGeneration, calls)
	add(streamEnd, `"finish_reason":"COMPLETE","response":`+e.Plain)
	return e
}
