package gemini

import "github.com/holdgate/holdgate/proxy/wire"

// Example returns an exchange in the format.
func (*Codec) Example() wire.Example {
	e := wire.Example{
		Path: "/v1beta/models/bench:generateContent", StreamPath: "/v1beta/models/bench:streamGenerateContent?alt=sse", StreamType: "text/event-stream; charset=utf-8",
		Head:  `{"tools":[{"functionDeclarations":[{"name":"Read","description":"Read a file","parameters":` + wire.ExampleParameter + `}]}],"contents":[`,
		Turn:  `{"role":"%s","parts":[{"text":"%s"}]}`,
		Tail:  "]}",
		Roles: [2]string{"user", "model"},
	}
	answer := func(part, end string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},` + end + `"index":0}],"usageMetadata":{"promptTokenCount":900,"candidatesTokenCount":200,"totalTokenCount":1100},"modelVersion":"bench"}`
	}
	const call = `{"functionCall":{"name":"Read","args":` + wire.ExampleArguments + `}}`
	e.Plain = answer(`{"text":"`+wire.ExampleText()+`"},`+call, `"finishReason":"STOP",`)
	for range wire.ExampleEvents {
		e.Event("", answer(`{"text":"`+wire.ExampleWords+`"}`, ""))
	}
	e.Event("", answer(call, `"finishReason":"STOP",`))
	return e
}
