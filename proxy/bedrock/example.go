package bedrock

import (
	"encoding/base64"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Example returns an exchange in the format.
func (*Converse) Example() wire.Example {
	e := wire.Example{
		Path: "/model/bench/converse", StreamPath: "/model/bench/converse-stream", StreamType: StreamType,
		Head:  `{"toolConfig":{"tools":[{"toolSpec":{"name":"Read","description":"Read a file","inputSchema":{"json":` + wire.ExampleParameter + `}}}]},"messages":[`,
		Turn:  `{"role":"%s","content":[{"text":"%s"}]}`,
		Tail:  "]}",
		Roles: [2]string{"user", "assistant"},
	}
	const call, usage = `"toolUseId":"tooluse_bench","name":"Read"`, `"usage":{"inputTokens":900,"outputTokens":200,"totalTokens":1100},"metrics":{"latencyMs":9}`
	e.Plain = `{"output":{"message":{"role":"assistant","content":[{"text":"` + wire.ExampleText() + `"},{"toolUse":{` + call + `,"input":` + wire.ExampleArguments +
		`}}]}},"stopReason":"tool_use",` + usage + `}`
	add := func(name, data string) {
		e.Events = append(e.Events, string(wire.AppendMessage(nil, "event", name, []byte(data))))
	}
	add(messageStart, `{"role":"assistant"}`)
	for range wire.ExampleEvents {
		add(blockDelta, `{"contentBlockIndex":0,"delta":{"text":"`+wire.ExampleWords+`"}}`)
	}
	add(blockStop, `{"contentBlockIndex":0}`)
	add(blockStart, `{"contentBlockIndex":1,"start":{"toolUse":{`+call+`}}}`)
	add(blockDelta, `{"contentBlockIndex":1,"delta":{"toolUse":{"input":`+wire.ExampleQuoted+`}}}`)
	add(blockStop, `{"contentBlockIndex":1}`)
	add(messageStop, `{"stopReason":"tool_use"}`)
	add(metadata, `{`+usage+`}`)
	return e
}

// Example returns an exchange in the format: the model's own, in chunks.
func (c *Invoke) Example() wire.Example {
	e := c.Anthropic.Example()
	e.Path, e.StreamPath, e.StreamType = "/model/anthropic.bench/invoke", "/model/anthropic.bench/invoke-with-response-stream", StreamType
	e.Head = strings.Replace(e.Head, `"model":"bench",`, `"anthropic_version":"bedrock-2023-05-31",`, 1)
	e.Head = strings.Replace(e.Head, `"stream":%t,`, "", 1)
	for i, event := range e.Events {
		_, data, _ := strings.Cut(strings.TrimSpace(event), "data: ")
		e.Events[i] = string(wire.AppendMessage(nil, "event", "chunk", []byte(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(data))+`"}`)))
	}
	return e
}
