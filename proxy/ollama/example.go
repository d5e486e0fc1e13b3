package ollama

import "github.com/holdgate/holdgate/proxy/wire"

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: "/api/chat", StreamPath: "/api/chat", StreamType: StreamType,
		Head:  `{"model":"bench","stream":%t,"tools":[{"type":"function","function":{"name":"Read","description":"Read a file","parameters":` + wire.ExampleParameter + `}}],"messages":[`,
		Turn:  `{"role":"%s","content":"%s"}`,
		Tail:  "]}",
		Roles: [2]string{"user", "assistant"},
	}
	answer := func(message, end string) string {
		return `{"model":"bench","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",` + message + `},` + end + `}`
	}
	const call = `"tool_calls":[{"function":{"name":"Read","arguments":` + wire.ExampleArguments + `}}]`
	const end = `"done_reason":"stop","done":true,"total_duration":1,"prompt_eval_count":900,"eval_count":200`
	e.Plain = answer(`"content":"`+wire.ExampleText()+`",`+call, end)
	for range wire.ExampleEvents {
		e.Events = append(e.Events, answer(`"content":"`+wire.ExampleWords+`"`, `"done":false`)+"\n")
	}
	e.Events = append(e.Events, answer(`"content":"",`+call, `"done":false`)+"\n", answer(`"content":""`, end)+"\n")
	return e
}
