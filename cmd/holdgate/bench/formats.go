package bench

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A format is what a provider speaks: requests that offer one tool, and answers
// that end in a call of it, which the shipped pack allows.
type format struct {
	name string
	wire.Example
	path, streamPath string // of requests; the upstream answers a query with a stream
}

const anthropicName = "anthropic"

// formats are those that are measured, the one that all scenarios are measured
// with first.
func formats() (all []format) {
	for _, c := range route.Codecs(0) {
		f := format{name: c.Name(), Example: c.Example()}
		f.path, f.streamPath = f.Path, f.StreamPath
		if !strings.Contains(f.streamPath, "?") {
			f.streamPath += "?stream"
		}
		all = append(all, f)
	}
	return all
}

func formatNamed(name string) format {
	for _, f := range formats() {
		if f.name == name {
			return f
		}
	}
	return mcpFormat()
}

// mcpFormat is a call of a tool that the shipped pack allows. No two calls have
// the same arguments.
func mcpFormat() format {
	return format{name: "mcp", path: "/mcp", Example: wire.Example{
		Head:  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"src/main.go","page":` + counterStart + `,"notes":[`,
		Turn:  `{"by":"%s","text":"%s"}`,
		Roles: [2]string{"one", "two"},
		Tail:  "]}}}",
		Plain: `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + wire.ExampleText() + `"}],"isError":false}}`,
	}}
}

// heldStream is a stream with a call that the shipped pack holds.
func heldStream() string {
	events := formatNamed(anthropicName).Events
	s := events[0] + strings.Join(events[len(events)-5:], "")
	return strings.NewReplacer(`"name":"Read"`, `"name":"Bash"`, `{\"file_path\":\"src/main.go\"}`, `{\"command\":\"rm -rf build\"}`, `"index":1`, `"index":0`).Replace(s)
}

// request is a whole request of about size bytes of body.
func (f format) request(uri, host string, size int, stream bool) []byte {
	body := f.body(size, stream)
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Anthropic-Version: 2023-06-01\r\nX-Api-Key: bench\r\nContent-Length: %d\r\n\r\n%s", uri, host, len(body), body)
}

// body is that of a request of about size bytes.
func (f format) body(size int, stream bool) string {
	const text = `Please look at the file and say what it does; quote \"names\" as they are.\nThen go on with the next one.`
	var texts []string
	for n := len(f.Head); len(texts) == 0 || n < size-200; {
		n += len(fmt.Sprintf(f.Turn, f.Roles[len(texts)%2], text)) + 1
		texts = append(texts, text)
	}
	return f.Body(stream, texts...)
}
