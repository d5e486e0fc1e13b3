package mistral

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: pathStart, StreamPath: pathStart, StreamType: "text/event-stream",
		Head:  `{"model":"bench","stream":%t,"store":false,"tools":[{"type":"function","function":{"name":"Read","description":"Read a file","parameters":` + wire.ExampleParameter + `}}],"inputs":[`,
		Turn:  `{"object":"entry","type":"message.input","role":"%s","content":"%s"}`,
		Tail:  "]}",
		Roles: [2]string{"user", "assistant"},
	}
	const usage = `"usage":{"prompt_tokens":900,"completion_tokens":200,"total_tokens":1100}`
	const message, call = `"id":"msg_bench","role":"assistant","model":"bench"`, `"id":"fc_bench","tool_call_id":"bench","name":"Read","arguments":` + wire.ExampleQuoted
	e.Plain = `{"object":"conversation.response","conversation_id":"conv_bench","outputs":[{"object":"entry","type":"message.output",` + message +
		`,"content":"` + wire.ExampleText() + `"},{"object":"entry","type":"function.call",` + call + `}],` + usage + `}`
	add := func(typ, members string) { e.Event(typ, fmt.Sprintf(`{"type":"%s",%s}`, typ, members)) }
	add(responseStarted, `"conversation_id":"conv_bench"`)
	for range wire.ExampleEvents {
		add(messageDelta, `"output_index":0,"content_index":0,`+message+`,"content":"`+wire.ExampleWords+`"`)
	}
	add(functionDelta, `"output_index":1,`+call)
	add(responseDone, usage)
	return e
}
