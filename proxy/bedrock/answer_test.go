package bedrock_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

func quote(s string) string { return string(wire.AppendText(nil, s)) }

func words(s string) string { return `{"text":` + quote(s) + `}` }

func tool(id, name, input string) string {
	return fmt.Sprintf(`{"toolUse":{"toolUseId":%q,"name":%q,"input":%s}}`, id, name, input)
}

// message is an answer of Converse with these blocks.
func message(stop string, blocks ...string) string {
	return `{"output":{"message":{"role":"assistant","content":[` + strings.Join(blocks, ", ") + `]}},"stopReason":"` + stop + `","usage":{"totalTokens":3},"metrics":{"latencyMs":9}}`
}

// An answerCase is the blocks of an answer under verdicts, and what becomes of
// them.
type answerCase struct {
	name     string
	in       []string
	verdicts []holdgate.Verdict
	want     []string
	ends     bool // the answer no longer ends for its calls
}

func cases() []answerCase {
	const thought = `{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}}`
	return []answerCase{
		{"no call", []string{words("hello")}, nil, []string{words("hello")}, false},
		{"a call that is released", []string{words("a"), tool("1", "f", `{"x": 1}`)}, []holdgate.Verdict{wiretest.Release()}, []string{words("a"), tool("1", "f", `{"x": 1}`)}, false},
		{"a call that is refused", []string{tool("1", "f", `{}`)}, []holdgate.Verdict{wiretest.Refuse("no")}, []string{words("no")}, true},
		{"a call refused after thought and text", []string{thought, words("I will"), tool("1", "f", `{}`)}, []holdgate.Verdict{wiretest.Refuse("no")}, []string{thought, words("I will"), words("no")}, true},
		{"the first of two refused", []string{tool("1", "f", `{}`), tool("2", "g", `{}`)}, []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()}, []string{words("no"), tool("2", "g", `{}`)}, false},
		{"the second of two refused", []string{tool("1", "f", `{}`), tool("2", "g", `{}`)}, []holdgate.Verdict{wiretest.Release(), wiretest.Refuse("no")}, []string{tool("1", "f", `{}`), words("no")}, false},
		{"both refused", []string{tool("1", "f", `{}`), tool("2", "g", `{}`)}, []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("never")}, []string{words("no"), words("never")}, true},
		{"refused without a word", []string{tool("1", "f", `{}`)}, []holdgate.Verdict{{}}, []string{words("[holdgate] This call was not run.")}, true},
		{"a call that is edited", []string{tool("1", "f", `{"x":1}`)}, []holdgate.Verdict{wiretest.Edit(`{"x": 2}`)}, []string{tool("1", "f", `{"x": 2}`)}, false},
		{"a call without arguments that is edited", []string{tool("1", "f", `{}`)}, []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, []string{tool("1", "f", `{"x":2}`)}, false},
		{"a call that goes along with a note", []string{tool("1", "f", `{}`), tool("2", "g", `{}`)}, []holdgate.Verdict{wiretest.Note("mind the gap"), wiretest.Release()},
			[]string{words("mind the gap"), tool("1", "f", `{}`), tool("2", "g", `{}`)}, false},
		{"edited, with a note, and text behind", []string{words("a"), tool("1", "f", `{}`), words("b")}, []holdgate.Verdict{{Release: true, Note: "n", Arguments: json.RawMessage(`{"x":2}`)}},
			[]string{words("a"), words("n"), tool("1", "f", `{"x":2}`), words("b")}, false},
	}
}

func (tt answerCase) plain() (in, want string) {
	stop := map[bool]string{true: "tool_use", false: "end_turn"}
	return message(stop[len(tt.verdicts) > 0], tt.in...), message(stop[len(tt.verdicts) > 0 && !tt.ends], tt.want...)
}

func TestPlainAnswers(t *testing.T) {
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			in, want := tt.plain()
			a, err := (&bedrock.Converse{}).Answer([]byte(in))
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Calls()) != len(tt.verdicts) {
				t.Fatalf("found %d calls, want %d", len(a.Calls()), len(tt.verdicts))
			}
			got := a.Render(tt.verdicts)
			if diff := cmp.Diff(squeezed(want), squeezed(string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := wire.Strict(got); err != nil {
				t.Errorf("what is sent is not strict: %v", err)
			}
		})
	}
}

// squeezed is JSON without blanks between blocks, which a rewritten answer does
// not keep.
func squeezed(s string) string { return strings.ReplaceAll(s, "}, {", "},{") }

func TestAnswerWithoutAVerdictIsRefused(t *testing.T) {
	a, err := (&bedrock.Converse{}).Answer([]byte(message("tool_use", tool("1", "f", `{}`), tool("2", "g", `{}`))))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(a.Render([]holdgate.Verdict{wiretest.Release()})); !strings.Contains(got, `"f"`) || strings.Contains(got, `"g"`) {
		t.Errorf("got %s", got)
	}
}

func TestWhatPolicySees(t *testing.T) {
	tests := []struct {
		name, block, tool, args, raw string
		observed                     bool
	}{
		{"a tool", tool("1", "f", `{"x": 1.0}`), "f", `{"x": 1.0}`, "", false},
		{"of a type", `{"toolUse":{"toolUseId":"1","name":"f","input":{},"type":"tool_use"}}`, "f", `{}`, "", false},
		{"no arguments", `{"toolUse":{"toolUseId":"1","name":"f"}}`, "f", `{}`, "", false},
		{"arguments that are no object", tool("1", "f", `"x"`), "f", "", `"x"`, false},
		{"escapes in the keys", `{"t\u006folUse":{"n\u0061me":"f","input":{}}}`, "f", `{}`, "", false},
		{"beside nulls", `{"text":null,"toolUse":{"name":"f","input":null}}`, "f", `{}`, "", false},
		{"the provider's tool", `{"toolUse":{"toolUseId":"1","name":"nova_grounding","input":{"q":"x"},"type":"server_tool_use"}}`, "nova_grounding", `{"q":"x"}`, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := (&bedrock.Converse{}).Answer([]byte(message("tool_use", tt.block)))
			if err != nil {
				t.Fatal(err)
			}
			p := a.Calls()[0]
			got := []string{p.Call.Tool.Name, string(p.Call.Tool.Arguments), p.Call.Tool.ArgumentsRaw, fmt.Sprint(p.Observed)}
			if diff := cmp.Diff([]string{tt.tool, tt.args, tt.raw, fmt.Sprint(tt.observed)}, got); diff != "" {
				t.Error(diff)
			}
			if out := string(a.Render([]holdgate.Verdict{wiretest.Refuse("no")})); tt.observed != strings.Contains(out, tt.tool) {
				t.Errorf("refused, it is %s", out)
			}
		})
	}
}

func TestWhatTwoReadersCouldTakeDifferentlyIsRefused(t *testing.T) {
	for name, in := range map[string]string{
		"a call in another case":        message("tool_use", `{"ToolUse":{"name":"f"}}`),
		"a call under an unknown name":  message("tool_use", `{"mcpToolUse":{"name":"f"}}`),
		"a function call":               message("tool_use", `{"functionCall":{"name":"f"}}`),
		"a call beside a text":          message("tool_use", `{"text":"a","toolUse":{"name":"f"}}`),
		"a call beside what is unknown": message("tool_use", `{"toolUse":{"name":"f"},"audio":{}}`),
		"a call of an unknown type":     message("tool_use", `{"toolUse":{"name":"f","type":"remote"}}`),
		"a call without a name":         message("tool_use", `{"toolUse":{"input":{}}}`),
		"a name in another case":        message("tool_use", `{"toolUse":{"Name":"f"}}`),
		"input in another case":         message("tool_use", `{"toolUse":{"name":"f","Input":{}}}`),
		"a call beside the content":     `{"output":{"message":{"toolUse":{"name":"f"},"content":[]}}}`,
		"calls beside the message":      `{"output":{"toolUses":[{"name":"f"}],"message":{"content":[]}}}`,
		"calls beside the output":       `{"output":{"message":{"content":[]}},"tool_calls":[{}]}`,
		"output in another case":        `{"Output":{"message":{"content":[{"toolUse":{"name":"f"}}]}}}`,
		"content in another case":       `{"output":{"message":{"Content":[{"toolUse":{"name":"f"}}]}}}`,
		"an answer of another format":   `{"content":[{"type":"tool_use","name":"f"}]}`,
		"an empty block":                message("end_turn", `{}`),
		"a block that is no object":     message("end_turn", `"f"`),
	} {
		if a, err := (&bedrock.Converse{}).Answer([]byte(in)); err == nil {
			t.Errorf("%s: it was read, with %d calls", name, len(a.Calls()))
		}
	}
}
