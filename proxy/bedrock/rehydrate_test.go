package bedrock_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

func notRun(id string) string { return "[gate] call " + id + " was not run" }

// refusedOf remembers every call of an answer as refused with a notice that
// names it, and returns what a client has of it.
func refusedOf(t testing.TB, blocks ...string) (refused []wire.Refused, rendered string) {
	t.Helper()
	c := &bedrock.Converse{}
	a, err := c.Answer([]byte(message("tool_use", blocks...)))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []holdgate.Verdict
	for i, p := range a.Calls() {
		verdicts = append(verdicts, wiretest.Refuse(notRun(p.Call.ID)))
		if r, ok := c.Refused(p, notRun(p.Call.ID)); ok {
			r.Place = i
			refused = append(refused, r)
		}
	}
	return refused, string(a.Render(verdicts))
}

func result(id string) string {
	return `{"toolResult":{"toolUseId":"` + id + `","content":[{"text":"` + notRun(id) + `"}],"status":"error"}}`
}

func TestRehydrate(t *testing.T) {
	f, g := tool("a", "f", `{ "p": 1.0 }`), tool("b", "g", `{}`)
	refused, _ := refusedOf(t, f, g)
	const (
		head = `{ "toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]}, "messages":[ {"role":"user","content":[{"text":"go"}]} , `
		tail = ` ], "x":1.0 }`
	)
	assistant := func(blocks string) string { return `{"role":"assistant", "content":[` + blocks + `]}` }
	user := func(blocks string) string { return ` , {"role":"user","content":[` + blocks + `]}` }
	tests := []struct {
		name, body, want string // without head and tail; an empty want is the body
		n                int
	}{
		{"a notice becomes its call", assistant(words(notRun("a"))) + user(words("?")), assistant(f) + user(result("a")+","+words("?")), 1},
		{"what the model said stays", assistant(words("So.")+","+words(notRun("b"))) + user(``), assistant(words("So.")+","+g) + user(result("b")), 1},
		{"two in a text", assistant(words("So.\n\n"+notRun("a")+"\n\n"+notRun("b"))) + user(words("?")),
			assistant(words("So.")+","+f+","+g) + user(result("a")+","+result("b")+","+words("?")), 2},
		{"in the last turn it stays", assistant(words(notRun("a"))), "", 0},
		{"before another turn of the model's it stays", assistant(words(notRun("a"))) + "," + assistant(words("x")), "", 0},
		{"beside a call of its id it stays", assistant(words(notRun("a"))+","+f) + user(`{"toolResult":{"toolUseId":"a"}}`), "", 0},
		{"a byte more stays a text", assistant(words(notRun("a")+".")) + user(words("?")), "", 0},
		{"the user's words stay", user(words(notRun("a")))[3:] + user(words("?")), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.body
			}
			got, n, err := (&bedrock.Converse{}).Rehydrate([]byte(head+tt.body+tail), refused)
			if err != nil || n != tt.n {
				t.Fatalf("%d put back, want %d (%v)", n, tt.n, err)
			}
			if diff := cmp.Diff(head+tt.want+tail, string(got)); diff != "" {
				t.Errorf("the request differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatStaysANotice(t *testing.T) {
	refused, _ := refusedOf(t, tool("a", "f", `{}`))
	turns := `"messages":[{"role":"assistant","content":[` + words(notRun("a")) + `]},{"role":"user","content":[]}]}`
	for _, head := range []string{`{`, `{"toolConfig":null,`, `{"toolConfig":{"tools":[]},`,
		`{"toolConfig":{"tools":[{}]},"additionalModelRequestFields":{"thinking":{"type":"enabled"}},`} {
		if got, n, err := (&bedrock.Converse{}).Rehydrate([]byte(head+turns), refused); n != 0 || err != nil || string(got) != head+turns {
			t.Errorf("%s became %s (%d, %v)", head, got, n, err)
		}
	}
	for _, block := range []string{`{"toolUse":{"name":"f","input":{}}}`, tool("a", "f", `[1]`)} {
		if refused, _ := refusedOf(t, block); len(refused) > 0 {
			t.Errorf("the call of %s is remembered", block)
		}
	}
}

func FuzzRehydrate(f *testing.F) {
	refused, _ := refusedOf(f, tool("a", "f", `{}`), tool("b", "g", `{}`))
	f.Add([]byte(`{"toolConfig":{"tools":[{}]},"messages":[{"role":"assistant","content":[` + words("x\n\n"+notRun("a")+"\n"+notRun("b")) + `]},{"role":"user","content":[{}]}]}`))
	f.Add([]byte(strings.Repeat(" ", 3) + `{"toolConfig":{"tools":[{}]},"messages":[{"role":"assistant","content":[` + words(notRun("a")) + `]},{"role":"user","content":[ ]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil {
			return
		}
		got, n, err := (&bedrock.Converse{}).Rehydrate(body, refused)
		switch {
		case err != nil:
		case n == 0 && string(got) != string(body), wire.Strict(got) != nil:
			t.Errorf("%s became %s", body, got)
		}
	})
}
