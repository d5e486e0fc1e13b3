package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
)

const plain = ` {"id":"m", "content" : [ {"type":"text","text":"hi \ud83d\ude00"} , {"type":"tool_use","id":"a","name":"Bash","input":{"n":1.50, "m":-0}},
	{"type":"mcp_tool_use","id":"b","name":"find","server_name":"docs","input":{}},{"input":"rm -rf","type":"tool_use","id":"c","name":"Bash"}
 ],"stop_reason": "tool_use" ,"type":"message","usage":{"output_tokens":12345678901234567890} }
`

func TestAnswer(t *testing.T) {
	const gone = `{"type":"text","text":"[gate] not run: \"no\" \\ é"}`
	first, last := `{"type":"tool_use","id":"a","name":"Bash","input":{"n":1.50, "m":-0}}`, `{"input":"rm -rf","type":"tool_use","id":"c","name":"Bash"}`
	tests := []struct {
		name     string
		verdicts []holdgate.Verdict
		want     *strings.Replacer
	}{
		{"all released", []holdgate.Verdict{release, refuse, release}, strings.NewReplacer()},
		{"the first refused", []holdgate.Verdict{refuse, refuse, release}, strings.NewReplacer(first, gone)},
		{"the last refused", []holdgate.Verdict{release, refuse, refuse}, strings.NewReplacer(last, gone)},
		{"all refused", []holdgate.Verdict{refuse, refuse, refuse}, strings.NewReplacer(first, gone, last, gone, `"tool_use" ,`, `"end_turn" ,`)},
		{"a verdict is missing", []holdgate.Verdict{release}, strings.NewReplacer(last, `{"type":"text","text":"[holdgate] This call was not run."}`)},
	}
	a, err := new(anthropic.Codec).Answer([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	const calls = `call a Bash, 69 bytes object {"n":1.50, "m":-0}
flow 78 bytes
observed b find server docs object {}
call c Bash, 59 bytes raw "rm -rf"
`
	if diff := cmp.Diff(calls, summary(a.Calls())); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want.Replace(plain), string(a.Render(tt.verdicts))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswerRefuses(t *testing.T) {
	tests := []struct{ name, body string }{
		{"no JSON", `{`},
		{"no object", `[]`},
		{"no content", `{"type":"message"}`},
		{"content in another case", `{"type":"message","content":[],"Content":[` + bash + `]}`},
		{"content only in another case", `{"type":"error","Content":[` + bash + `]}`},
		{"content that is no array", `{"content":` + bash + `}`},
		{"an unknown type", `{"type":"batch","content":[]}`},
		{"a block twice typed", `{"content":[{"type":"text","type":"tool_use","name":"Bash"}]}`},
		{"a type in another case", `{"content":[{"TYPE":"tool_use","type":"text","text":""}]}`},
		{"a block without type", `{"content":[{"name":"Bash","input":{}}]}`},
		{"a tool_use without name", `{"content":[{"type":"tool_use","input":{}}]}`},
		{"half a surrogate pair", `{"content":[{"type":"tool_use","name":"Bash","input":{"a":"\ud83d"}}]}`},
		{"string input with duplicate keys", `{"content":[{"type":"tool_use","name":"Bash","input":"{\"a\":1,\"a\":2}"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, err := new(anthropic.Codec).Answer([]byte(tt.body)); err == nil {
				t.Errorf("no error; calls:\n%s", summary(a.Calls()))
			}
		})
	}
}

func TestAnswerThatIsAnErrorHasNoCalls(t *testing.T) {
	body := `{"type":"error","error":{"type":"overloaded_error","message":"x"},"request_id":"r"}`
	a, err := new(anthropic.Codec).Answer([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(a.Render(nil)); len(a.Calls()) != 0 || got != body {
		t.Errorf("calls %v, rendered %s", a.Calls(), got)
	}
}
