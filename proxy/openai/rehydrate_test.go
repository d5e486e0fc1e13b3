package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// refusedOf remembers every call of an answer, as refused with a notice that
// names it, and returns what a client has of the answer.
func refusedOf(t testing.TB, answer string, keep ...int) (refused []wire.Refused, rendered string) {
	t.Helper()
	a, err := (&Codec{}).Answer([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []holdgate.Verdict
	for i, p := range a.Calls() {
		v := holdgate.Verdict{Notice: "[gate] call " + p.Call.ID + " was not run"}
		for _, k := range keep {
			v.Release = v.Release || k == i
		}
		verdicts = append(verdicts, v)
		if r, ok := (&Codec{}).Refused(p, v.Notice); ok && !v.Release {
			r.Place = i
			refused = append(refused, r)
		}
	}
	return refused, string(a.Render(verdicts))
}

const (
	callA = `{"id":"a","type":"function","sig":{"x": 1},"function":{"name":"ls","arguments":"{ \"p\": 1.0 }"}}`
	callB = `{"id":"b","type":"custom","custom":{"name":"sql","input":"drop \u0074"}}`
	callC = `{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}`
)

func toolMessage(id, content string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":"` + content + `"}`
}

func notRun(id string) string { return "[gate] call " + id + " was not run" }

func TestRehydrate(t *testing.T) {
	t.Parallel()
	answer := `{"choices":[{"message":{"role":"assistant","content":"So.","tool_calls":[` + callA + "," + callB + "," + callC + `]}}]}`
	refused, _ := refusedOf(t, answer)
	assistant := func(members string) string { return `{"role":"assistant", ` + members + `}` }
	const (
		head = `{ "tools":[{"type":"function"}], "messages":[ {"role":"user","content":"go"} , `
		tail = ` , {"role":"user","content":"?"} ], "x":1.0 }`
	)
	tests := []struct {
		name, body, want string // without head and tail; an empty want is the body
		n                int
	}{
		{"a notice that is all there is becomes its call",
			assistant(`"content":"` + notRun("a") + `"`),
			assistant(`"content":null,"tool_calls":[`+callA+`]`) + "," + toolMessage("a", notRun("a")), 1},
		{"what the model said stays",
			assistant(`"content":"So.\n\n` + notRun("a") + `\n\nAnd.", "refusal":null`),
			assistant(`"content":"So.\n\nAnd.", "refusal":null,"tool_calls":[`+callA+`]`) + "," + toolMessage("a", notRun("a")), 1},
		{"what the model said between two stays",
			assistant(`"content":"` + notRun("a") + `\n\nThen.\n\n` + notRun("c") + `"`),
			assistant(`"content":"Then.","tool_calls":[`+callA+","+callC+`]`) + "," + toolMessage("a", notRun("a")) + "," + toolMessage("c", notRun("c")), 2},
		{"a custom tool keeps its text", assistant(`"content":"` + notRun("b") + `"`),
			assistant(`"content":null,"tool_calls":[`+callB+`]`) + "," + toolMessage("b", notRun("b")), 1},
		{"all calls keep their order, and so do their results",
			assistant(`"content":"So.\n\n`+notRun("a")+`\n\n`+notRun("c")+`","tool_calls":[ `+callB+` ]`) + " , " + toolMessage("b", "ok"),
			assistant(`"content":"So.","tool_calls":[`+callA+","+callB+","+callC+`]`) + "," + toolMessage("a", notRun("a")) + " , " + toolMessage("b", "ok") + "," + toolMessage("c", notRun("c")), 2},
		{"a content of blocks keeps the others",
			assistant(`"content":[{"type":"text","text":"So."}, {"type":"text","text":"\n\n` + notRun("a") + `"}]`),
			assistant(`"content":[{"type":"text","text":"So."}],"tool_calls":[`+callA+`]`) + "," + toolMessage("a", notRun("a")), 1},
		{"a byte more stays a text", assistant(`"content":"` + notRun("a") + `."`), "", 0},
		{"a byte less stays a text", assistant(`"content":"` + notRun("a")[1:] + `"`), "", 0},
		{"words before it stay a text", assistant(`"content":"It said ` + notRun("a") + `"`), "", 0},
		{"what looks like one stays a text", assistant(`"content":"` + notRun("d") + `"`), "", 0},
		{"the user's words stay a text", `{"role":"user","content":"` + notRun("a") + `"}`, "", 0},
		{"beside a call of its id it stays", assistant(`"content":"`+notRun("a")+`","tool_calls":[`+callA+`]`) + "," + toolMessage("a", "ok"), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				tt.want = tt.body
			}
			got, n, err := (&Codec{}).Rehydrate([]byte(head+tt.body+tail), refused)
			if err != nil || n != tt.n {
				t.Fatalf("%d put back, want %d (%v)", n, tt.n, err)
			}
			if diff := cmp.Diff(head+tt.want+tail, string(got)); diff != "" {
				t.Errorf("the request differs (-want +got):\n%s", diff)
			}
		})
	}
}

// What the client has of an answer, streamed or whole, is found again.
func TestWhatAnAnswerSaysIsFoundInTheNextRequest(t *testing.T) {
	t.Parallel()
	answer := `{"choices":[{"message":{"role":"assistant","content":"So.","tool_calls":[` + callA + "," + callC + `]},"finish_reason":"tool_calls"}]}`
	for _, keep := range [][]int{nil, {0}, {1}} {
		refused, rendered := refusedOf(t, answer, keep...)
		_, message, _ := strings.Cut(rendered, `"message":`)
		message, _, _ = strings.Cut(message, `,"finish_reason"`)
		body := `{"tools":[{}],"messages":[` + message + `]}`
		got, n, err := (&Codec{}).Rehydrate([]byte(body), refused)
		if err != nil || n != len(refused) || !strings.Contains(string(got), `"content":"So.","tool_calls":[`+callA+","+callC+"]") {
			t.Errorf("%d of %d put back into %s (%v): %s", n, len(refused), body, err, got)
		}
	}
}

func TestANoticeStaysInARequestWithoutTools(t *testing.T) {
	t.Parallel()
	refused, _ := refusedOf(t, `{"choices":[{"message":{"tool_calls":[`+callA+`]}}]}`)
	for _, tools := range []string{``, `"tools":[],`, `"tools":null,`} {
		body := `{` + tools + `"messages":[{"role":"assistant","content":"` + notRun("a") + `"}]}`
		if got, n, err := (&Codec{}).Rehydrate([]byte(body), refused); n != 0 || err != nil || string(got) != body {
			t.Errorf("%s became %s (%d, %v)", body, got, n, err)
		}
	}
}

func TestACallThatNoHistoryCanHaveIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		`{"tool_calls":[{"type":"function","function":{"name":"ls","arguments":"{}"}}]}`,
		`{"function_call":{"name":"ls","arguments":"{}"}}`,
	} {
		if refused, _ := refusedOf(t, `{"choices":[{"message":`+message+`}]}`); len(refused) > 0 {
			t.Errorf("the call of %s is remembered", message)
		}
	}
}

// Whatever a request is, what comes out is strict JSON, and no byte of it has
// changed where nothing was put back.
func FuzzRehydrate(f *testing.F) {
	refused, _ := refusedOf(f, `{"choices":[{"message":{"tool_calls":[`+callA+","+callB+`]}}]}`)
	f.Add([]byte(`{"tools":[{}],"messages":[{"role":"assistant","content":"x\n\n` + notRun("a") + "\\n" + notRun("b") + `"},{"role":"tool"}]}`))
	f.Add([]byte(`{"tools":[{}],"messages":[{"role":"assistant","content":[{"type":"text","text":"` + notRun("a") + `"}],"tool_calls":null}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil {
			return
		}
		if d, err := wire.ReadDocument(body); err == nil {
			_, _ = (&Codec{}).History(d) // must not fall over
		}
		got, n, err := (&Codec{}).Rehydrate(body, refused)
		switch {
		case err != nil:
		case n == 0 && string(got) != string(body):
			t.Errorf("%s became %s", body, got)
		case wire.Strict(got) != nil:
			t.Errorf("%s became %s", body, got)
		}
	})
}
