package ollama_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/ollama"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

// chat is a reply of /api/chat with this text and these calls.
func chat(text string, calls ...string) string {
	b := fmt.Sprintf(`{"model":"m","created_at":"2026-11-22T10:00:00Z","message":{"role":"assistant","content":%s`, quote(text))
	if len(calls) > 0 {
		b += `,"tool_calls":[` + strings.Join(calls, ", ") + `]`
	}
	return b + `},"done":false}`
}

// generate is one of /api/generate.
func generate(text string, calls ...string) string {
	b := fmt.Sprintf(`{"model":"m","response":%s`, quote(text))
	if len(calls) > 0 {
		b += `,"tool_calls":[` + strings.Join(calls, ", ") + `]`
	}
	return b + `,"done":false}`
}

const last = `{"model":"m","created_at":"2026-11-22T10:00:01Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":3}`

func quote(s string) string { return string(wire.AppendText(nil, s)) }

func function(name, args string) string {
	return fmt.Sprintf(`{"function":{"name":%q,"arguments":%s}}`, name, args)
}

func numbered(n int, name string) string {
	return fmt.Sprintf(`{"id":"c%d","function":{"index":%d,"name":%q,"arguments":{}}}`, n, n, name)
}

type answerCase struct {
	name, in string
	verdicts []holdgate.Verdict
	want     string
}

// cases are replies under verdicts, and what becomes of them.
func cases() []answerCase {
	return []answerCase{
		{"no call", chat("hello"), nil, chat("hello")},
		{"a call that is released", chat("a", function("f", `{"x": 1}`)), []holdgate.Verdict{wiretest.Release()}, chat("a", function("f", `{"x": 1}`))},
		{"a call that is refused", chat("", function("f", `{}`)), []holdgate.Verdict{wiretest.Refuse("no")}, chat("no\n")},
		{"a call refused after text", chat("I will", function("f", `{}`)), []holdgate.Verdict{wiretest.Refuse("no")}, chat("I will\n\nno\n")},
		{"one of two refused", chat("", numbered(0, "f"), numbered(1, "g")), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()},
			chat("no\n", `{"id":"c1","function":{"index":0,"name":"g","arguments":{}}}`)},
		{"both refused", chat("", function("f", `{}`), function("g", `{}`)), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("never")}, chat("no\n\n\nnever\n")},
		{"refused without a word", chat("", function("f", `{}`)), []holdgate.Verdict{{}}, chat("[holdgate] This call was not run.\n")},
		{"a call that is edited", chat("", `{"id":"1","function":{"index":0,"name":"f","arguments":{"x":1}},"x":2}`), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)},
			chat("", `{"id":"1","function":{"index":0,"name":"f","arguments":{"x":2}},"x":2}`)},
		{"a call without arguments that is edited", chat("", `{"function":{"name":"f"}}`), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, chat("", function("f", `{"x":2}`))},
		{"a call that goes along with a note", chat("", function("f", `{}`)), []holdgate.Verdict{wiretest.Note("mind the gap")}, chat("mind the gap\n", function("f", `{}`))},
		{"generate", generate("", function("f", `{}`)), []holdgate.Verdict{wiretest.Refuse("no")}, generate("no\n")},
		{"generate, one of two", generate("a", function("f", `{}`), function("g", `{}`)), []holdgate.Verdict{wiretest.Release(), wiretest.Refuse("no")}, generate("a\n\nno\n", function("f", `{}`))},
		{"a message without content", `{"message":{"role":"assistant","tool_calls":[` + function("f", `{}`) + `]},"done":true}`, []holdgate.Verdict{wiretest.Refuse("no")},
			`{"message":{"role":"assistant","content":"no\n"},"done":true}`},
		{"a content that is null", `{"message":{"content":null,"tool_calls":[` + function("f", `{}`) + `]},"done":true}`, []holdgate.Verdict{wiretest.Refuse("no")},
			`{"message":{"content":"no\n"},"done":true}`},
		{"an error", `{"error":"no such model"}`, nil, `{"error":"no such model"}`},
		{"thinking stays", `{"message":{"content":"","thinking":"hm","tool_calls":[` + function("f", `{}`) + `]}}`, []holdgate.Verdict{wiretest.Refuse("no")},
			`{"message":{"content":"no\n","thinking":"hm"}}`},
	}
}

func TestPlainAnswers(t *testing.T) {
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			a, err := (&ollama.Codec{}).Answer([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Calls()) != len(tt.verdicts) {
				t.Fatalf("found %d calls, want %d", len(a.Calls()), len(tt.verdicts))
			}
			got := a.Render(tt.verdicts)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := wire.Strict(got); err != nil {
				t.Errorf("what is sent is not strict: %v", err)
			}
		})
	}
}

func TestAnswerWithoutAVerdictIsRefused(t *testing.T) {
	a, err := (&ollama.Codec{}).Answer([]byte(chat("", function("f", `{}`), function("g", `{}`))))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(a.Render([]holdgate.Verdict{wiretest.Release()})); !strings.Contains(got, `"f"`) || strings.Contains(got, `"g"`) {
		t.Errorf("got %s", got)
	}
}

func TestWhatPolicySees(t *testing.T) {
	tests := []struct{ name, call, id, tool, args, raw string }{
		{"a function", function("f", `{"x": 1.0}`), "", "f", `{"x": 1.0}`, ""},
		{"with an id", `{"id":"c","type":"function","function":{"name":"f","arguments":{}}}`, "c", "f", `{}`, ""},
		{"no arguments", `{"function":{"name":"f"}}`, "", "f", `{}`, ""},
		{"arguments that are null", function("f", "null"), "", "f", `{}`, ""},
		{"arguments that are text", function("f", `"{}"`), "", "f", "", `"{}"`},
		{"escapes in the keys", `{"\u0066unction":{"n\u0061me":"f","arguments":{}}}`, "", "f", `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, in := range []string{chat("", tt.call), generate("", tt.call)} {
				a, err := (&ollama.Codec{}).Answer([]byte(in))
				if err != nil {
					t.Fatal(err)
				}
				c := a.Calls()[0].Call
				got := []string{c.ID, c.Tool.Name, string(c.Tool.Arguments), c.Tool.ArgumentsRaw}
				if diff := cmp.Diff([]string{tt.id, tt.tool, tt.args, tt.raw}, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// evasions are replies that a client could read otherwise than the codec does.
func evasions() map[string]string {
	return map[string]string{
		"a call in a third place":              `{"message":{"content":""},"toolCalls":[{"name":"f"}],"done":true}`,
		"a call under an unknown name":         `{"message":{"content":"","mcp_calls":[{"name":"f"}]},"done":true}`,
		"calls in a message and beside it":     `{"message":{"content":"","tool_calls":[` + function("f", `{}`) + `]},"tool_calls":[` + function("g", `{}`) + `]}`,
		"a function_call":                      `{"message":{"content":"","function_call":{"name":"f"}}}`,
		"tool_calls in another case":           `{"message":{"content":"","Tool_Calls":[` + function("f", `{}`) + `]}}`,
		"tool_calls with a long s":             `{"message":{"content":"","tool_callſ":[` + function("f", `{}`) + `]}}`,
		"message in another case":              `{"Message":{"tool_calls":[` + function("f", `{}`) + `]},"done":true}`,
		"a function in another case":           chat("", `{"Function":{"name":"f"}}`),
		"a name in another case":               chat("", `{"function":{"name":"f","Name":"g"}}`),
		"arguments in another case":            chat("", `{"function":{"name":"f","Arguments":{}}}`),
		"a call without a name":                chat("", `{"function":{"arguments":{}}}`),
		"an empty call":                        chat("", `{}`),
		"a call of an unknown type":            chat("", `{"type":"computer","function":{"name":"f"}}`),
		"a call that is a text":                chat("", `"f"`),
		"tool_calls that are an object":        `{"message":{"content":"","tool_calls":{"function":{"name":"f"}}}}`,
		"a name that is no text":               chat("", `{"function":{"name":1}}`),
		"an index that is no number":           chat("", `{"function":{"index":"0","name":"f"}}`),
		"a content that is no text":            `{"message":{"content":[{"type":"tool_use"}]}}`,
		"an answer of another format":          `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}`,
		"a list of replies":                    `[` + chat("", function("f", `{}`)) + `]`,
		"a name with half of a surrogate pair": chat("", `{"function":{"name":"f\ud83d"}}`),
	}
}

func TestWhatTwoReadersCouldTakeDifferentlyIsRefused(t *testing.T) {
	for name, in := range evasions() {
		if a, err := (&ollama.Codec{}).Answer([]byte(in)); err == nil {
			t.Errorf("%s: it was read, with %d calls", name, len(a.Calls()))
		}
		if calls, out, err := wiretest.Run((&ollama.Codec{}).Stream(), in+"\n", 7, nil); err == nil {
			t.Errorf("%s, streamed: it was read, with %d calls, and sent %s", name, len(calls), out)
		}
	}
}

func TestCollectSaysWhatTheStreamSays(t *testing.T) {
	c := &ollama.Codec{}
	for name, tt := range map[string]struct{ in, want string }{
		"a chat": {
			chat("I ") + "\n" + chat("will.", numbered(0, "f")) + "\n\n" + chat("", numbered(1, "g")) + "\r\n" + last,
			`{"model":"m","created_at":"2026-11-22T10:00:01Z","done":true,"done_reason":"stop","eval_count":3,"message":{"role":"assistant","content":"I will.","tool_calls":[` + numbered(0, "f") + "," + numbered(1, "g") + `]}}`,
		},
		"generate": {
			generate("I ") + "\n" + generate("will", function("f", `{"x": 1}`)) + "\n" + `{"model":"m","response":"","done":true,"context":[1]}`,
			`{"model":"m","response":"I will","done":true,"tool_calls":[` + function("f", `{"x": 1}`) + `],"context":[1]}`,
		},
	} {
		got, err := c.Collect([]byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		back, err := c.Expand(append([]byte("\n"), strings.ReplaceAll(tt.want, ",", ",\n")...))
		if err != nil || strings.Count(string(back), "\n") != 1 {
			t.Fatalf("%s: %v, %q", name, err, back)
		}
		calls, _, err := wiretest.Run((&ollama.Codec{}).Stream(), string(back), len(back), nil)
		whole, _, _ := wiretest.Run((&ollama.Codec{}).Stream(), tt.in, len(tt.in), nil)
		if diff := cmp.Diff(names(whole), names(calls)); err != nil || diff != "" {
			t.Errorf("%s, expanded: %v\n%s", name, err, diff)
		}
	}
	for _, in := range []string{chat("a") + "\n" + `{"error":"broken"}` + "\n", `{"a":1}`, "{"} {
		if got, err := c.Collect([]byte(in)); err == nil {
			t.Errorf("%q was collected to %s", in, got)
		}
	}
}

func names(calls []*holdgate.Call) (list []string) {
	for _, c := range calls {
		list = append(list, c.ID+" "+c.Tool.Name)
	}
	return list
}
