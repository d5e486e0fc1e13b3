package interactions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

const (
	noticeA = "[holdgate] The call a was not run."
	resultA = `{"type":"function_result","call_id":"a","name":"f","is_error":true,"result":"` + noticeA + `"}`
	user    = `{"type":"user_input","content":[{"type":"text","text":"go"}]}`
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
	a := call("a", "f", `{"x":1}`)
	for _, tt := range []struct{ name, body, want string }{ // want is empty where it stays as it came
		{"a notice becomes its call", `{"input":[` + user + `, {"type":"thought","signature":"c2ln"},` + message(noticeA) + `]}`,
			`{"input":[` + user + `,{"type":"thought","signature":"c2ln"},` + a + `,` + resultA + `]}`},
		{"beside a call of the same id it stays", `{"input":[` + a + `,` + message(noticeA) + `]}`, ""},
		{"a step that says more stays", `{"input":[` + message("So.\n\n"+noticeA) + `]}`, ""},
		{"words of the user's stay", `{"input":[{"type":"user_input","content":[{"type":"text","text":"` + noticeA + `"}]}]}`, ""},
		{"a text that goes on from the interaction", `{"previous_interaction_id":"v1","input":"go"}`, `{"previous_interaction_id":"v1","input":[` + resultA + `,` + user + `]}`},
		{"content that does", `{"previous_interaction_id":"v1","input":{"type":"text","text":"go"}}`, `{"previous_interaction_id":"v1","input":[` + resultA + `,` + user + `]}`},
		{"a list of content that does", `{"previous_interaction_id":"v1","input":[{"type":"text","text":"go"}]}`, `{"previous_interaction_id":"v1","input":[` + resultA + `,` + user + `]}`},
		{"the result of another call", `{"previous_interaction_id":"v1","input":[{"type":"function_result","call_id":"c","result":"ok"}]}`,
			`{"previous_interaction_id":"v1","input":[` + resultA + `,{"type":"function_result","call_id":"c","result":"ok"}]}`},
		{"no input", `{"previous_interaction_id":"v1"}`, `{"previous_interaction_id":"v1","input":[` + resultA + `]}`},
		{"a result that is there", `{"previous_interaction_id":"v1","input":[` + resultA + `]}`, ""},
		{"another interaction", `{"previous_interaction_id":"v2","input":"go"}`, ""},
		{"an answer that is taken up again", `{"previous_interaction_id":"v1","continuation_token":"t"}`, ""},
		{"no interaction", `{"input":"go"}`, ""},
	} {
		n := 1
		if tt.want == "" {
			tt.want, n = tt.body, 0
		}
		got, count, err := codec.Rehydrate([]byte(tt.body), refusedIn(t, plain("requires_action", a)))
		if err != nil || count != n {
			t.Errorf("%s: %d calls, error %v", tt.name, count, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A call that came in pieces is remembered as it stands in a plain answer.
func TestWhatIsRememberedOfAStream(t *testing.T) {
	t.Parallel()
	parts, err := codec.Stream().Push([]byte(begin + called(0, "a", "f", `{\"x\":`, `1}`)))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := codec.Refused(parts[len(parts)-1], noticeA)
	if want := (wire.Refused{Notice: noticeA, Call: []byte(call("a", "f", `{"x":1}`)), ID: "a", Name: "f", Response: "v1"}); !ok || cmp.Diff(want, got) != "" {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

func TestHistoryHasResultsWithTheirCalls(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]wire.History{
		`{"input":"go"}`: {},
		`{"input":"go","previous_interaction_id":"v1"}`: {Begun: true},
		`{"input":[` + call("a", "f", `{"x":1}`) + `,{"type":"function_result","call_id":"a","result":"ok"},{"type":"function_result","call_id":"?","name":"g","is_error":true,"result":"no"}]}`: {Begun: true, Results: []wire.Result{
			{ID: "a", Tool: "f", Arguments: []byte(`{"x":1}`), Ended: wire.EndedIn(false)}, {ID: "?", Tool: "g", Ended: wire.EndedIn(true)}}},
		`{"input":[` + user + `,` + message("y") + `]}`: {Begun: true},
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
	const stop = `{"type":"text","text":"stop"}`
	for body, want := range map[string]string{
		`{"input":"go"}`:                          `{"input":"go\n\nstop"}`,
		`{"input":{"type":"text","text":"go"}}`:   `{"input":[{"type":"text","text":"go"},` + stop + `]}`,
		`{"input":[{"type":"text","text":"go"}]}`: `{"input":[{"type":"text","text":"go"},` + stop + `]}`,
		`{"input":[` + user + `]}`:                `{"input":[` + user + `,{"type":"user_input","content":[` + stop + `]}]}`,
		`{"input":[` + resultA + `]}`:             `{"input":[` + resultA + `,{"type":"user_input","content":[` + stop + `]}]}`,
		`{"input":[` + message("I") + `]}`:        "",
		`{}`:                                      "",
	} {
		if got, ok := codec.Instruct([]byte(body), "stop"); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s becomes %s", body, got)
		}
	}
}

func TestContinueGoesOnWhereTheClientKeepsTheSteps(t *testing.T) {
	t.Parallel()
	a := call("a", "f", `{}`)
	refused := refusedIn(t, plain("requires_action", a))
	got, ok := codec.Continue([]byte(`{"store":false,"input":"go"}`), []byte(plain("requires_action", searched, a)), refused)
	if want := `{"store":false,"input":[` + user + `,` + searched + `,` + a + `,` + resultA + `]}`; !ok || string(got) != want {
		t.Errorf("it goes on with %s", got)
	}
	for body, answer := range map[string]string{
		`{"input":"go"}`:               plain("requires_action", a),
		`{"store":true,"input":"go"}`:  plain("requires_action", a),
		`{"store":false}`:              plain("requires_action", a),
		`{"store":false,"input":"go"}`: plain("requires_action", a, call("b", "g", `{}`)),
	} {
		if got, ok := codec.Continue([]byte(body), []byte(answer), refused); ok {
			t.Errorf("%s goes on with %s", body, got)
		}
	}
}
