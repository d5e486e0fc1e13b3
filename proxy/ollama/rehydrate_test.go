package ollama_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/ollama"
	"github.com/holdgate/holdgate/proxy/wire"
)

func notRun(name string) string { return "[gate] call " + name + " was not run" }

// refusedOf remembers every call of a reply as refused with a notice that names
// it, but for those at the places to keep, and returns what a client has of it.
func refusedOf(t testing.TB, reply string, keep ...int) (refused []wire.Refused, rendered string) {
	t.Helper()
	c := &ollama.Codec{}
	a, err := c.Answer([]byte(reply))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []holdgate.Verdict
	for i, p := range a.Calls() {
		v := holdgate.Verdict{Notice: notRun(p.Call.Tool.Name)}
		for _, k := range keep {
			v.Release = v.Release || k == i
		}
		verdicts = append(verdicts, v)
		if r, ok := c.Refused(p, v.Notice); ok && !v.Release {
			r.Place = i
			refused = append(refused, r)
		}
	}
	return refused, string(a.Render(verdicts))
}

func toolMessage(name, id, content string) string {
	if id != "" {
		id = `,"tool_call_id":"` + id + `"`
	}
	return `{"role":"tool","tool_name":"` + name + `"` + id + `,"content":"` + content + `"}`
}

func TestRehydrate(t *testing.T) {
	f, g := function("f", `{ "p": 1.0 }`), numbered(1, "g")
	refused, _ := refusedOf(t, chat("So.", f, g))
	const (
		head = `{ "tools":[{"type":"function"}], "messages":[ {"role":"user","content":"go"} , `
		tail = ` , {"role":"user","content":"?"} ], "x":1.0 }`
	)
	assistant := func(members string) string { return `{"role":"assistant", ` + members + `}` }
	tests := []struct {
		name, body, want string // without head and tail; an empty want is the body
		n                int
	}{
		{"a notice that is all there is becomes its call", assistant(`"content":"` + notRun("f") + `\n"`),
			assistant(`"content":"","tool_calls":[`+f+`]`) + "," + toolMessage("f", "", notRun("f")), 1},
		{"what the model said stays", assistant(`"content":"So.\n\n` + notRun("g") + `\n", "thinking":"hm"`),
			assistant(`"content":"So.", "thinking":"hm","tool_calls":[`+g+`]`) + "," + toolMessage("g", "c1", notRun("g")), 1},
		{"beside a call that was released", assistant(`"content":"`+notRun("g")+`\n","tool_calls":[`+f+`]`) + " , " + toolMessage("f", "", "ok"),
			assistant(`"content":"","tool_calls":[`+f+","+g+`]`) + " , " + toolMessage("f", "", "ok") + "," + toolMessage("g", "c1", notRun("g")), 1},
		{"before a call that was released", assistant(`"content":"`+notRun("f")+`\n","tool_calls":[`+g+`]`) + " , " + toolMessage("g", "", "ok"),
			assistant(`"content":"","tool_calls":[`+f+","+g+`]`) + "," + toolMessage("f", "", notRun("f")) + " , " + toolMessage("g", "", "ok"), 1},
		{"a byte more stays a text", assistant(`"content":"` + notRun("f") + `."`), "", 0},
		{"the user's words stay a text", `{"role":"user","content":"` + notRun("f") + `"}`, "", 0},
		{"a content that is no text", assistant(`"content":["` + notRun("f") + `"]`), "", 0},
		{"calls that are no list", assistant(`"content":"` + notRun("f") + `","tool_calls":{}`), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.body
			}
			got, n, err := (&ollama.Codec{}).Rehydrate([]byte(head+tt.body+tail), refused)
			if err != nil || n != tt.n {
				t.Fatalf("%d put back, want %d (%v)", n, tt.n, err)
			}
			if diff := cmp.Diff(head+tt.want+tail, string(got)); diff != "" {
				t.Errorf("the request differs (-want +got):\n%s", diff)
			}
		})
	}
}

// What the client has of an answer is found again, whatever was released of it.
func TestWhatAnAnswerSaysIsFoundInTheNextRequest(t *testing.T) {
	f, g := function("f", `{}`), function("g", `{}`)
	for _, keep := range [][]int{nil, {0}, {1}} {
		refused, rendered := refusedOf(t, chat("So.", f, g), keep...)
		_, message, _ := strings.Cut(rendered, `"message":`)
		message, _, _ = strings.Cut(message, `,"done"`)
		got, n, err := (&ollama.Codec{}).Rehydrate([]byte(`{"tools":[{}],"messages":[`+message+`]}`), refused)
		if err != nil || n != len(refused) || !strings.Contains(string(got), `"content":"So.","tool_calls":[`+f) || !strings.Contains(string(got), g+`]`) {
			t.Errorf("%d of %d put back into %s (%v): %s", n, len(refused), message, err, got)
		}
	}
}

func TestWhatStaysANotice(t *testing.T) {
	refused, _ := refusedOf(t, chat("", function("f", `{}`)))
	for _, tools := range []string{``, `"tools":[],`, `"tools":null,`} {
		body := `{` + tools + `"messages":[{"role":"assistant","content":"` + notRun("f") + `"}]}`
		if got, n, err := (&ollama.Codec{}).Rehydrate([]byte(body), refused); n != 0 || err != nil || string(got) != body {
			t.Errorf("%s became %s (%d, %v)", body, got, n, err)
		}
	}
	for _, reply := range []string{generate("", function("f", `{}`)), chat("", function("f", `"raw"`))} {
		if refused, _ := refusedOf(t, reply); len(refused) > 0 {
			t.Errorf("the call of %s is remembered", reply)
		}
	}
}

// Whatever a request is, what comes out is strict JSON, and no byte of it has
// changed where nothing was put back.
func FuzzRehydrate(f *testing.F) {
	refused, _ := refusedOf(f, chat("", function("f", `{}`), numbered(1, "g")))
	f.Add([]byte(`{"tools":[{}],"messages":[{"role":"assistant","content":"x\n\n` + notRun("f") + "\\n" + notRun("g") + `"},{"role":"tool"}]}`))
	f.Add([]byte(`{"tools":[{}],"messages":[{"role":"assistant","content":"` + notRun("f") + `","tool_calls":null}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil {
			return
		}
		got, n, err := (&ollama.Codec{}).Rehydrate(body, refused)
		switch {
		case err != nil:
		case n == 0 && string(got) != string(body), wire.Strict(got) != nil:
			t.Errorf("%s became %s", body, got)
		}
	})
}
