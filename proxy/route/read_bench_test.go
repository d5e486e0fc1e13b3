package route_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A benchFormat is how a format writes what BenchmarkRead reads: the head of a
// body, a turn of words from either side, and a call of a tool with its result.
type benchFormat struct {
	name, path, head, words, call string
}

const benchWords = `Please look at the file and say what it does; quote \"names\" as they are.\nThen go on with the next one.`

// benchOutput is what a tool gives back: code, as agents read it.
var benchOutput = strings.Repeat(`func main() {\n\tfmt.Println(\"hello, world\")\n}\n// words that explain what this does, at some length\n`, 12)

var benchFormats = []benchFormat{
	{
		"anthropic", "/v1/messages",
		`{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"Read","description":"Read a file","input_schema":{"type":"object"}}],"messages":[`,
		`{"role":"user","content":[{"type":"text","text":"` + benchWords + `"}]},{"role":"assistant","content":[{"type":"text","text":"` + benchWords + `"}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%[1]d","name":"Read","input":{"file_path":"src/%[1]d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[1]d","content":"%[2]s"}]}`,
	},
	{
		"openai", "/v1/chat/completions",
		`{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"Read","parameters":{"type":"object"}}}],"messages":[`,
		`{"role":"user","content":"` + benchWords + `"},{"role":"assistant","content":"` + benchWords + `"}`,
		`{"role":"assistant","tool_calls":[{"id":"call_%[1]d","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"src/%[1]d.go\"}"}}]},{"role":"tool","tool_call_id":"call_%[1]d","content":"%[2]s"}`,
	},
	{
		"responses", "/v1/responses",
		`{"model":"m","stream":true,"tools":[{"type":"function","name":"Read","parameters":{"type":"object"}}],"input":[`,
		`{"role":"user","content":"` + benchWords + `"},{"role":"assistant","content":"` + benchWords + `"}`,
		`{"type":"function_call","id":"fc_%[1]d","call_id":"call_%[1]d","name":"Read","arguments":"{\"file_path\":\"src/%[1]d.go\"}"},{"type":"function_call_output","call_id":"call_%[1]d","output":"%[2]s"}`,
	},
	{
		"gemini", "/v1beta/models/m:generateContent",
		`{"tools":[{"functionDeclarations":[{"name":"Read","parameters":{"type":"object"}}]}],"contents":[`,
		`{"role":"user","parts":[{"text":"` + benchWords + `"}]},{"role":"model","parts":[{"text":"` + benchWords + `"}]}`,
		`{"role":"model","parts":[{"functionCall":{"id":"f%[1]d","name":"Read","args":{"file_path":"src/%[1]d.go"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"f%[1]d","name":"Read","response":{"output":"%[2]s"}}}]}`,
	},
}

// body is a request of about size bytes: of words, or of calls.
func (f benchFormat) body(size int, calls bool) []byte {
	b := []byte(f.head + f.words)
	for i := 0; len(b) < size-200; i++ {
		b = append(b, ',')
		if calls {
			b = fmt.Appendf(b, f.call, i, benchOutput)
		} else {
			b = append(b, f.words...)
		}
	}
	return append(b, "]}"...)
}

// BenchmarkRead is what it takes to read a request for policy: the strict check,
// the model and the tools, and the results of what was done before.
func BenchmarkRead(b *testing.B) {
	all := route.Codecs(8 << 20)
	for _, f := range benchFormats {
		var codec route.Codec
		for _, c := range all {
			if codec == nil && c.Match("POST", f.path) {
				codec = c
			}
		}
		for _, kind := range []string{"words", "calls"} {
			for _, size := range []int{4 << 10, 64 << 10, 512 << 10} {
				body := f.body(size, kind == "calls")
				b.Run(fmt.Sprintf("%s/%s/%dKB", f.name, kind, size>>10), func(b *testing.B) {
					b.SetBytes(int64(len(body)))
					b.ReportAllocs()
					for b.Loop() {
						d, err := wire.ReadDocument(body)
						if err != nil {
							b.Fatal(err)
						}
						if _, err := codec.Request(f.path, d.Members()); err != nil {
							b.Fatal(err)
						}
						h, err := codec.(route.Historian).History(d)
						if err != nil || kind == "calls" && len(h.Results) == 0 {
							b.Fatal(err, len(h.Results))
						}
					}
				})
			}
		}
	}
}
