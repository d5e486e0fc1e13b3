package interactions

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: roots[0], StreamPath: roots[0], StreamType: "text/event-stream",
		Head:  `{"model":"bench","stream":%t,"store":false,"tools":[{"type":"function","name":"Read","description":"Read a file","parameters":` + wire.ExampleParameter + `}],"input":[`,
		Turn:  `{"type":"%s","content":[{"type":"text","text":"%s"}]}`,
		Tail:  "]}",
		Roles: [2]string{"user_input", modelOutput},
	}
	const top, end = `"id":"v1_bench","object":"interaction","model":"bench"`, `"usage":{"total_input_tokens":900,"total_output_tokens":200,"total_tokens":1100}`
	call := func(arguments string) string {
		return `{"type":"function_call","id":"bench","name":"Read","arguments":` + arguments + `}`
	}
	e.Plain = `{` + top + `,"status":"requires_action","steps":[{"type":"model_output","content":[{"type":"text","text":"` + wire.ExampleText() + `"}]},` +
		call(wire.ExampleArguments) + `],` + end + `}`
	add := func(typ, members string) { e.Event(typ, fmt.Sprintf(`{%s,"event_type":"%s"}`, members, typ)) }
	add(created, `"interaction":{`+top+`,"status":"in_progress"}`)
	add(stepStart, `"index":0,"step":{"type":"model_output"}`)
	for range wire.ExampleEvents {
		add(stepDelta, `"index":0,"delta":{"text":"`+wire.ExampleWords+`","type":"text"}`)
	}
	add(stepStop, `"index":0`)
	add(stepStart, `"index":1,"step":`+call("{}"))
	add(stepDelta, `"index":1,"delta":{"arguments":`+wire.ExampleQuoted+`,"type":"arguments_delta"}`)
	add(stepStop, `"index":1`)
	add(completed, `"interaction":{`+top+`,"status":"requires_action",`+end+`}`)
	return e
}
