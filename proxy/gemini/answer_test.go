package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gemini"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

// content is a response with one candidate that has these parts.
func content(parts ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(parts, ", ") + `],"role":"model"},"index":0}],"modelVersion":"m"}`
}

func text(s string) string { return fmt.Sprintf(`{"text":%q}`, s) }

func function(name, args string) string {
	return fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, name, args)
}

const signed = `{"functionCall":{"name":"a","args":{}},"thoughtSignature":"c2ln"}`

// cases are answers of one response, under verdicts, and what becomes of them.
func cases() []answerCase {
	return []answerCase{
		{"no call", content(text("hello")), nil, content(text("hello"))},
		{"a call that is released", content(text("a"), function("f", `{"x": 1}`)), []holdgate.Verdict{wiretest.Release()}, content(text("a"), function("f", `{"x": 1}`))},
		{"a call that is refused", content(function("f", `{}`)), []holdgate.Verdict{wiretest.Refuse("no")}, content(text("no\n"))},
		{"a call refused after text", content(text("I will"), function("f", `{}`)), []holdgate.Verdict{wiretest.Refuse("no")}, content(text("I will"), text("\n\nno\n"))},
		{"one of two refused", content(function("f", `{}`), function("g", `{}`)), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()}, content(text("no\n"), function("g", `{}`))},
		{"both refused", content(function("f", `{}`), function("g", `{}`)), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("never")}, content(text("no\n"), text("\n\nnever\n"))},
		{"a call that is edited", content(`{"functionCall":{"id":"1","name":"f","args":{"x":1}},"thoughtSignature":"c2ln"}`), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)},
			content(`{"functionCall":{"id":"1","name":"f","args":{"x":2}},"thoughtSignature":"c2ln"}`)},
		{"a call without arguments that is edited", content(`{"functionCall":{"name":"f"}}`), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, content(function("f", `{"x":2}`))},
		{"a call that goes along with a note", content(function("f", `{}`)), []holdgate.Verdict{wiretest.Note("mind the gap")}, content(text("mind the gap\n") + `,` + function("f", `{}`))},
		{"the signature of a refused call is replaced", content(signed, function("g", `{}`)), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()},
			content(text("no\n"), `{"functionCall":{"name":"g","args":{}},"thoughtSignature":"skip_thought_signature_validator"}`)},
		{"a signature that stays is enough", content(signed, function("g", `{}`)), []holdgate.Verdict{wiretest.Release(), wiretest.Refuse("no")}, content(signed, text("no\n"))},
		{"snake case", content(`{"function_call":{"name":"f","args":{"x":1}}}`), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, content(`{"function_call":{"name":"f","args":{"x":2}}}`)},
		{"a kind of call that is not known", content(`{"computerCall":{"click":1}}`), []holdgate.Verdict{wiretest.Refuse("no")}, content(text("no\n"))},
		{"the provider's calls stay", content(`{"executableCode":{"code":"1"}}`, `{"toolCall":{"id":"t"}}`), []holdgate.Verdict{{}, {}},
			content(`{"executableCode":{"code":"1"}}`, `{"toolCall":{"id":"t"}}`)},
		{"two candidates", `{"candidates":[{"content":{"parts":[` + function("f", `{}`) + `]}},{"content":{"parts":[` + function("g", `{}`) + `]}}]}`,
			[]holdgate.Verdict{wiretest.Release(), wiretest.Refuse("no")}, `{"candidates":[{"content":{"parts":[` + function("f", `{}`) + `]}},{"content":{"parts":[` + text("no\n") + `]}}]}`},
		{"Code Assist", `{"response":` + content(function("f", `{}`)) + `,"traceId":"t"}`, []holdgate.Verdict{wiretest.Refuse("no")}, `{"response":` + content(text("no\n")) + `,"traceId":"t"}`},
	}
}

type answerCase struct {
	name, in string
	verdicts []holdgate.Verdict
	want     string
}

func TestPlainAnswers(t *testing.T) {
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			if err := wire.Strict([]byte(tt.in)); err != nil {
				t.Fatal(err)
			}
			a, err := (&gemini.Codec{}).Answer([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Calls()) != len(tt.verdicts) {
				t.Fatalf("found %d calls, want %d", len(a.Calls()), len(tt.verdicts))
			}
			got := string(a.Render(tt.verdicts))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := wire.Strict([]byte(got)); err != nil {
				t.Errorf("what is sent is not strict: %v", err)
			}
		})
	}
}

func TestWhatPolicySees(t *testing.T) {
	tests := []struct {
		name, part, tool, args, raw string
		observed                    bool
	}{
		{"a function", function("f", `{"x": 1.0}`), "f", `{"x": 1.0}`, "", false},
		{"no arguments", `{"functionCall":{"name":"f"}}`, "f", `{}`, "", false},
		{"arguments that are null", function("f", "null"), "f", `{}`, "", false},
		{"arguments that are no object", function("f", `"x"`), "f", "", `"x"`, false},
		{"escapes in the key", `{"\u0066unctionCall":{"n\u0061me":"f","args":{}}}`, "f", `{}`, "", false},
		{"a kind that is not known", `{"computer_call":{"click":1}}`, "computer_call", `{"click":1}`, "", false},
		{"code that has run", `{"executableCode":{"code":"1"}}`, "executableCode", `{"code":"1"}`, "", true},
		{"the provider's tool", `{"toolCall":{"id":"t"}}`, "toolCall", `{"id":"t"}`, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := (&gemini.Codec{}).Answer([]byte(content(tt.part)))
			if err != nil {
				t.Fatal(err)
			}
			p := a.Calls()[0]
			got := []string{p.Call.Tool.Name, string(p.Call.Tool.Arguments), p.Call.Tool.ArgumentsRaw, fmt.Sprint(p.Observed)}
			if diff := cmp.Diff([]string{tt.tool, tt.args, tt.raw, fmt.Sprint(tt.observed)}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatTwoReadersCouldTakeDifferentlyIsRefused(t *testing.T) {
	for name, in := range map[string]string{
		"a third spelling":                  content(`{"FunctionCall":{"name":"f"}}`),
		"two calls in a part":               content(`{"functionCall":{"name":"f"},"function_call":{"name":"g"}}`),
		"a call without a name":             content(`{"functionCall":{"args":{}}}`),
		"a name in another case":            content(`{"functionCall":{"Name":"f"}}`),
		"a call beside the candidates":      `{"candidates":[],"functionCalls":[{"name":"f"}]}`,
		"a tool call beside the candidates": `{"candidates":[],"toolCalls":[{"name":"f"}]}`,
		"a tool use beside the parts":       `{"candidates":[{"content":{"parts":[],"toolUse":{"name":"f"}}}]}`,
		"a call beside the content":         `{"candidates":[{"functionCall":{"name":"f"}}]}`,
		"an answer of another format":       `{"choices":[]}`,
		"candidates in another case":        `{"Candidates":[]}`,
		"parts in another case":             `{"candidates":[{"content":{"Parts":[]}}]}`,
		"candidates inside and outside":     `{"candidates":[{}],"response":{"candidates":[{}]}}`,
		"a call that is not complete":       content(`{"functionCall":{"name":"f","willContinue":true}}`),
		"arguments whole and in fragments":  content(`{"functionCall":{"name":"f","args":{"x":1},"partialArgs":[{"jsonPath":"$.x","stringValue":"2"}]}}`),
		"a path that is not understood":     content(`{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$..x","stringValue":"2"}]}}`),
		"a fragment with two values":        content(`{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.x","stringValue":"2","boolValue":true}]}}`),
		"an index that leaves a gap":        content(`{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.x[1]","stringValue":"2"}]}}`),
	} {
		if a, err := (&gemini.Codec{}).Answer([]byte(in)); err == nil {
			t.Errorf("%s: it was read, with %d calls", name, len(a.Calls()))
		}
	}
}
