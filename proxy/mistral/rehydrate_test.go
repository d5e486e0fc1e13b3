package mistral_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

const (
	noticeA = "[holdgate] The call a was not run."
	resultA = `{"object":"entry","type":"function.result","tool_call_id":"a","result":"` + noticeA + `"}`
)

// refusedIn returns what is remembered of the calls of an answer.
func refusedIn(t *testing.T, answer string) (list []wire.Refused) {
	t.Helper()
	a, err := codec.Answer([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range a.Calls() {
		r, ok := codec.Refused(p, "[holdgate] The call "+p.Call.ID+" was not run.")
		if !ok {
			t.Fatalf("the call %s cannot be remembered", p.Call.ID)
		}
		r.Place = i
		list = append(list, r)
	}
	return list
}

func TestRehydrate(t *testing.T) {
	t.Parallel()
	a := call("a", "f", `"{\"x\":1}"`)
	pending := strings.Replace(call("b", "g", `"{}"`), `"name"`, `"confirmation_status":"pending","name"`, 1)
	for _, tt := range []struct {
		name, body string
		owed       bool
		want       string // empty: as it came
		n          int
	}{
		{"a notice becomes its call", `{"inputs":[{"type":"message.input","role":"user","content":"go"}, {"type":"message.output","role":"assistant","content":"` + noticeA + `"}]}`, false,
			`{"inputs":[{"type":"message.input","role":"user","content":"go"},` + a + `,` + resultA + `]}`, 1},
		{"beside a call of the same id it stays", `{"inputs":[` + a + `,{"type":"message.output","role":"assistant","content":"` + noticeA + `"}]}`, false, "", 0},
		{"a message that says more stays", `{"inputs":[{"role":"assistant","content":"So.\n\n` + noticeA + `"}]}`, false, "", 0},
		{"words of the user's stay", `{"inputs":[{"role":"user","content":"` + noticeA + `"}]}`, false, "", 0},
		{"a text in a conversation that waits", `{"inputs":"go on"}`, true,
			`{"inputs":[` + resultA + `,{"object":"entry","type":"message.input","role":"user","content":"go on"}],"tool_confirmations":[{"tool_call_id":"b","confirmation":"deny"}]}`, 2},
		{"entries in one", `{"inputs":[{"type":"function.result","tool_call_id":"c","result":"ok"}],"tool_confirmations":[{"tool_call_id":"d","confirmation":"allow"}]}`, true,
			`{"inputs":[` + resultA + `,{"type":"function.result","tool_call_id":"c","result":"ok"}],"tool_confirmations":[{"tool_call_id":"d","confirmation":"allow"},{"tool_call_id":"b","confirmation":"deny"}]}`, 2},
		{"no inputs in one", `{"stream":true}`, true, `{"stream":true,"inputs":[` + resultA + `],"tool_confirmations":[{"tool_call_id":"b","confirmation":"deny"}]}`, 2},
		{"results that are there", `{"inputs":[` + resultA + `,{"tool_call_id":"b"}]}`, true, "", 0},
		{"another conversation", `{"inputs":"go"}`, false, "", 0},
	} {
		refused := refusedIn(t, plain(a, pending))
		for i := range refused {
			refused[i].Owed = tt.owed
			if refused[i].Conversation != "conv" {
				t.Errorf("the conversation is %q", refused[i].Conversation)
			}
		}
		if tt.want == "" {
			tt.want = tt.body
		}
		got, n, err := codec.Rehydrate([]byte(tt.body), refused)
		if err != nil || n != tt.n {
			t.Errorf("%s: %d calls, error %v", tt.name, n, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestHistoryHasResultsWithTheirCalls(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]wire.History{
		`{"inputs":"go"}`: {},
		`{"inputs":[` + call("a", "f", `{"x":1}`) + `,{"type":"function.result","tool_call_id":"a","result":"ok"},{"type":"function.result","tool_call_id":"?","result":"ok"}]}`: {Begun: true, Results: []wire.Result{{ID: "a", Tool: "f", Arguments: []byte(`{"x":1}`)}, {ID: "?"}}},
		`{"inputs":[{"type":"message.input","role":"user","content":"x"},{"type":"message.output","role":"assistant","content":"y"}]}`:                                           {Begun: true},
	} {
		document, err := wire.ReadDocument([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.History(document)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", body, err, diff)
		}
	}
}

func TestInstruct(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"inputs":"go"}`: `{"inputs":"go\n\nstop"}`,
		`{"inputs":[{"role":"user","content":"go"}]}`:     `{"inputs":[{"role":"user","content":"go"},{"object":"entry","type":"message.input","role":"user","content":"stop"}]}`,
		`{"inputs":[{"role":"assistant","content":"I"}]}`: "",
		`{}`: "",
	} {
		if got, ok := codec.Instruct([]byte(body), "stop"); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s becomes %s", body, got)
		}
	}
}

func TestContinueGoesOnWhereTheClientKeepsTheEntries(t *testing.T) {
	t.Parallel()
	a := call("a", "f", `"{}"`)
	refused := refusedIn(t, plain(a))
	got, ok := codec.Continue([]byte(`{"store":false,"inputs":"go"}`), []byte(plain(ran, a)), refused)
	if want := `{"store":false,"inputs":[{"object":"entry","type":"message.input","role":"user","content":"go"},` + ran + `,` + a + `,` + resultA + `]}`; !ok || string(got) != want {
		t.Errorf("it goes on with %s", got)
	}
	for body, answer := range map[string]string{
		`{"inputs":"go"}`:               plain(a),
		`{"store":true,"inputs":"go"}`:  plain(a),
		`{"store":false}`:               plain(a),
		`{"store":false,"inputs":"go"}`: plain(a, call("b", "g", `"{}"`)),
	} {
		if got, ok := codec.Continue([]byte(body), []byte(answer), refused); ok {
			t.Errorf("%s goes on with %s", body, got)
		}
	}
}
