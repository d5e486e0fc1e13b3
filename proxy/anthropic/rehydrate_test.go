package anthropic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

const (
	noticeA = "[holdgate] The call to Bash was not run (log entry 1): denied by policy (r: why)."
	noticeB = "[holdgate] The call to Bash was not run (request x1): do this:\n- \"that\""
	useA    = `{"type":"tool_use","id":"a","name":"Bash","input":{"command": "rm  x", "n":1e2}}`
	useB    = `{"type":"tool_use","id":"b","name":"Bash","input":{}}`
)

func refusals(t *testing.T) []wire.Refused {
	t.Helper()
	var out []wire.Refused
	for i, r := range []struct{ notice, id, args string }{{noticeA, "a", `{"command": "rm  x", "n":1e2}`}, {noticeB, "b", `{}`}} {
		call := &holdgate.Call{ID: r.id, Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(r.args)}}
		one, ok := (&Codec{}).Refused(wire.Part{Call: call}, r.notice)
		if !ok {
			t.Fatalf("call %s cannot be put back", r.id)
		}
		one.Place = i
		out = append(out, one)
	}
	return out
}

func textOf(text string) string { return `{"type":"text","text":` + wire.Quote(text) + `}` }

func resultOf(id, notice string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","is_error":true,"content":` + wire.Quote(notice) + `}`
}

func TestRehydrate(t *testing.T) {
	t.Parallel()
	const (
		head = `{ "tools":[{"name":"Bash"}], "messages" : [ {"role":"user","content":"go"} , `
		tail = ` ], "x":1.0 }`
	)
	turn := func(role string, blocks ...string) string {
		return `{"role":"` + role + `", "content":[` + strings.Join(blocks, ",") + `]}`
	}
	released := `{"type":"tool_use","id":"c","name":"Bash","input":{}}`
	result := `{"type":"tool_result","tool_use_id":"c","content":"ok"}`
	thought := `{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`
	cut := `"cache_control":{"type":"ephemeral"}`
	tests := []struct {
		name       string
		body, want string // without head and tail; an empty want is the body
		n          int
	}{
		{"a notice becomes its call, and the result comes first in the user's turn",
			turn("assistant", textOf("So."), textOf(noticeA)) + ", " + turn("user", textOf("go on")),
			turn("assistant", textOf("So."), useA) + ", " + turn("user", resultOf("a", noticeA), textOf("go on")), 1},
		{"what the user says as a string becomes a block",
			turn("assistant", textOf(noticeA)) + `,{"role":"user","content":"go \u006fn"}`,
			turn("assistant", useA) + `,{"role":"user","content":[` + resultOf("a", noticeA) + `,{"type":"text","text":"go \u006fn"}]}`, 1},
		{"a turn that is one string becomes blocks",
			`{"role":"assistant","content":` + wire.Quote("So.\n\n"+noticeA) + `},` + turn("user"),
			`{"role":"assistant","content":[` + textOf("So.") + "," + useA + `]},` + turn("user", resultOf("a", noticeA)), 1},
		{"two calls keep their order",
			turn("assistant", textOf(noticeA), textOf(noticeB)) + "," + turn("user", textOf("?")),
			turn("assistant", useA, useB) + "," + turn("user", resultOf("a", noticeA), resultOf("b", noticeB), textOf("?")), 2},
		{"results come in the order of the calls, though the texts were moved",
			turn("assistant", textOf(noticeB), textOf(noticeA), released) + "," + turn("user", result),
			turn("assistant", useB, useA, released) + "," + turn("user", resultOf("a", noticeA), resultOf("b", noticeB), result), 2},
		{"a thought before it stays as it is",
			turn("assistant", thought, textOf(noticeA)) + "," + turn("user", textOf("?")),
			turn("assistant", thought, useA) + "," + turn("user", resultOf("a", noticeA), textOf("?")), 1},
		{"where the cache is cut stays",
			turn("assistant", `{"type":"text","text":`+wire.Quote(noticeA)+`,`+cut+`}`) + "," + turn("user", textOf("?")),
			turn("assistant", strings.TrimSuffix(useA, "}")+","+cut+"}") + "," + turn("user", resultOf("a", noticeA), textOf("?")), 1},
		{"the same notice again stays a text",
			turn("assistant", textOf(noticeA)) + "," + turn("user", textOf("?")) + "," + turn("assistant", textOf(noticeA)) + "," + turn("user", textOf("?")),
			turn("assistant", useA) + "," + turn("user", resultOf("a", noticeA), textOf("?")) + "," + turn("assistant", textOf(noticeA)) + "," + turn("user", textOf("?")), 1},
		{"a byte more stays a text", turn("assistant", textOf(noticeA+".")) + "," + turn("user", textOf("?")), "", 0},
		{"a byte less stays a text", turn("assistant", textOf(noticeA[:len(noticeA)-1])) + "," + turn("user", textOf("?")), "", 0},
		{"words around it on its line stay a text", turn("assistant", textOf("It said: "+noticeA)) + "," + turn("user", textOf("?")), "", 0},
		{"what looks like one stays a text", turn("assistant", textOf(strings.Replace(noticeA, "entry 1", "entry 2", 1))) + "," + turn("user", textOf("?")), "", 0},
		{"the user's words stay a text", turn("user", textOf(noticeA)) + "," + turn("user", textOf("?")), "", 0},
		{"the last turn stays", turn("assistant", textOf(noticeA)), "", 0},
		{"a turn before another of the assistant's stays", turn("assistant", textOf(noticeA)) + "," + turn("assistant", textOf("and")), "", 0},
		{"beside another call of its id it stays", turn("assistant", textOf(noticeA)) + "," + turn("user", textOf("?")) + "," + turn("assistant", useA) + "," + turn("user", `{"type":"tool_result","tool_use_id":"a"}`), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				tt.want = tt.body
			}
			got, n, err := (&Codec{}).Rehydrate([]byte(head+tt.body+tail), refusals(t))
			if err != nil || n != tt.n {
				t.Fatalf("%d put back, want %d (%v)", n, tt.n, err)
			}
			if diff := cmp.Diff(head+tt.want+tail, string(got)); diff != "" {
				t.Errorf("the request differs (-want +got):\n%s", diff)
			}
			if err := wire.Strict(got); err != nil {
				t.Errorf("it is no strict JSON: %v", err)
			}
		})
	}
}

func TestANoticeStaysWhereTheApiWouldRefuseTheCall(t *testing.T) {
	t.Parallel()
	const turns = `"messages":[{"role":"assistant","content":[{"type":"text","text":NOTICE}]},{"role":"user","content":"?"}]`
	for name, body := range map[string]string{
		"without tools":                   `{` + turns + `}`,
		"with no tool":                    `{"tools":[],` + turns + `}`,
		"where thinking was demanded":     `{"tools":[{"name":"B"}],"thinking":{"type":"enabled","budget_tokens":9},` + turns + `}`,
		"where the user's turn has null":  `{"tools":[{"name":"B"}],"messages":[{"role":"assistant","content":[{"type":"text","text":NOTICE}]},{"role":"user","content":null}]}`,
		"in the answer of another format": `{"tools":[{"name":"B"}],"contents":[{"role":"model","parts":[{"text":NOTICE}]},{"role":"user"}]}`,
	} {
		body = strings.ReplaceAll(body, "NOTICE", wire.Quote(noticeA))
		got, n, err := (&Codec{}).Rehydrate([]byte(body), refusals(t))
		if n != 0 || err == nil && string(got) != body {
			t.Errorf("%s: got %s (%d, %v)", name, got, n, err)
		}
	}
}

func TestACallThatNoHistoryCanHaveIsNotRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]holdgate.Call{
		"without an id":              {Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte("{}")}},
		"with arguments as raw text": {ID: "a", Tool: &holdgate.Tool{Name: "Bash", ArgumentsRaw: "{"}},
	} {
		if _, ok := (&Codec{}).Refused(wire.Part{Call: &c}, noticeA); ok {
			t.Errorf("a call %s is remembered", name)
		}
	}
}

// Whatever a request is, what comes out is strict JSON, and no byte of it has
// changed where nothing was put back.
func FuzzRehydrate(f *testing.F) {
	f.Add([]byte(`{"tools":[{}],"messages":[{"role":"assistant","content":[{"type":"text","text":` + wire.Quote("x\n\n"+noticeA) + `}]},{"role":"user","content":[]}]}`))
	f.Add([]byte(`{"tools":[{}],"messages":[{"role":"assistant","content":` + wire.Quote(noticeA+"\n"+noticeB) + `},{"role":"user","content":""}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil {
			return
		}
		if d, err := wire.ReadDocument(body); err == nil {
			_, _ = (&Codec{}).History(d) // must not fall over
		}
		got, n, err := (&Codec{}).Rehydrate(body, refusals(t))
		switch {
		case err != nil:
		case n == 0 && string(got) != string(body):
			t.Errorf("%s became %s", body, got)
		case wire.Strict(got) != nil:
			t.Errorf("%s became %s", body, got)
		}
	})
}
