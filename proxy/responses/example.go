package responses

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: "/v1/responses", StreamPath: "/v1/responses", StreamType: "text/event-stream; charset=utf-8",
		Head:  `{"model":"bench","stream":%t,"tools":[{"type":"function","name":"Read","description":"Read a file","parameters":` + wire.ExampleParameter + `}],"input":[`,
		Turn:  `{"role":"%s","content":"%s"}`,
		Tail:  "]}",
		Roles: [2]string{"user", "assistant"},
	}
	response := func(status, output string) string {
		usage := "null"
		if status == "completed" {
			usage = `{"input_tokens":900,"output_tokens":200,"total_tokens":1100}`
		}
		return `{"id":"resp_bench","object":"response","created_at":1760000000,"status":"` + status + `","model":"bench","output":[` + output + `],"usage":` + usage + `}`
	}
	text := strings.Repeat(wire.ExampleWords, wire.ExampleEvents)
	part := func(text string) string {
		return `{"type":"output_text","text":"` + text + `","annotations":[]}`
	}
	message := func(status, content string) string {
		return `{"id":"msg_bench","type":"message","status":"` + status + `","role":"assistant","content":[` + content + `]}`
	}
	call := func(status, arguments string) string {
		return `{"id":"fc_bench","type":"function_call","status":"` + status + `","call_id":"call_bench","name":"Read","arguments":` + arguments + `}`
	}
	e.Plain = response("completed", message("completed", part(wire.ExampleText()))+","+call("completed", wire.ExampleQuoted))
	add := func(name, rest string) {
		e.Event(name, fmt.Sprintf(`{"type":"%s","sequence_number":%d,%s}`, name, len(e.Events), rest))
	}
	const inMessage, inCall = `"item_id":"msg_bench","output_index":0,"content_index":0,`, `"item_id":"fc_bench","output_index":1,`
	add("response.created", `"response":`+response("in_progress", ""))
	add("response.output_item.added", `"output_index":0,"item":`+message("in_progress", ""))
	add("response.content_part.added", inMessage+`"part":`+part(""))
	for range wire.ExampleEvents {
		add("response.output_text.delta", inMessage+`"delta":"`+wire.ExampleWords+`"`)
	}
	add("response.output_text.done", inMessage+`"text":"`+text+`"`)
	add("response.content_part.done", inMessage+`"part":`+part(text))
	add("response.output_item.done", `"output_index":0,"item":`+message("completed", part(text)))
	add("response.output_item.added", `"output_index":1,"item":`+call("in_progress", `""`))
	add("response.function_call_arguments.delta", inCall+`"delta":`+wire.ExampleQuoted)
	add("response.function_call_arguments.done", inCall+`"arguments":`+wire.ExampleQuoted)
	add("response.output_item.done", `"output_index":1,"item":`+call("completed", wire.ExampleQuoted))
	add("response.completed", `"response":`+response("completed", message("completed", part(text))+","+call("completed", wire.ExampleQuoted)))
	return e
}
