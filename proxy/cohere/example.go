package cohere

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: "/v2/chat", StreamPath: "/v2/chat", StreamType: "text/event-stream",
		Head:  `{"model":"bench","stream":%t,"tools":[{"type":"function","function":{"name":"Read","description":"Read a file","parameters":` + wire.ExampleParameter + `}}],"messages":[`,
		Turn:  `{"role":"%s","content":"%s"}`,
		Tail:  "]}",
		Roles: [2]string{"user", "assistant"},
	}
	const usage = `"usage":{"tokens":{"input_tokens":900,"output_tokens":200}}`
	call := func(arguments string) string {
		return `{"id":"Read_bench","type":"function","function":{"name":"Read","arguments":` + arguments + `}}`
	}
	e.Plain = `{"id":"bench","message":{"role":"assistant","tool_plan":"I will read the file.","content":[{"type":"text","text":"` + wire.ExampleText() +
		`"}],"tool_calls":[` + call(wire.ExampleQuoted) + `]},"finish_reason":"TOOL_CALL",` + usage + `}`
	add := func(typ, members string) { e.Event(typ, fmt.Sprintf(`{"type":"%s",%s}`, typ, members)) }
	message := func(typ, index, members string) { add(typ, index+`"delta":{"message":{`+members+`}}`) }
	message(messageStart, `"id":"bench",`, `"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]`)
	message(planDelta, "", `"tool_plan":"I will read the file."`)
	message(contentStart, `"index":0,`, `"content":{"type":"text","text":""}`)
	for range wire.ExampleEvents {
		message(contentDelta, `"index":0,`, `"content":{"text":"`+wire.ExampleWords+`"}`)
	}
	add(contentEnd, `"index":0`)
	message(callStart, `"index":0,`, `"tool_calls":`+call(`""`))
	message(callDelta, `"index":0,`, `"tool_calls":{"function":{"arguments":`+wire.ExampleQuoted+`}}`)
	add(callEnd, `"index":0`)
	add(messageEnd, `"delta":{"finish_reason":"TOOL_CALL",`+usage+`}`)
	return e
}
