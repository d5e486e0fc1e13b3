package coherev1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

const notice = "[holdgate] The call to f was not run."

// refused is what is remembered of an answer with one call.
func refused(t *testing.T) []wire.Refused {
	t.Helper()
	a, err := codec.Answer([]byte(plain("", call("f", `{"x":1}`))))
	if err != nil {
		t.Fatal(err)
	}
	r, ok := codec.Refused(a.Calls()[0], notice)
	if !ok {
		t.Fatal("the call cannot be remembered")
	}
	return []wire.Refused{r}
}

func TestRehydrate(t *testing.T) {
	t.Parallel()
	const user = `{"role":"USER","message":"go"}`
	f, g := call("f", `{"x":1}`), call("g", `{}`)
	told := `{"role":"TOOL","tool_results":[{"call":` + f + `,"outputs":[{"error":"` + notice + `"}]}]}`
	request := func(history string) string {
		return `{"message":"well?","tools":[{"name":"f"}],"chat_history":[` + history + `]}`
	}
	for _, tt := range []struct{ name, body, want string }{ // want is empty where it stays as it came
		{"a notice becomes its call", request(user + `, {"role":"CHATBOT","message":"` + notice + `"}`), request(user + `, {"role":"CHATBOT","message":"","tool_calls":[` + f + `]},` + told)},
		{"behind other words", request(`{"role":"CHATBOT","message":"So.\n\n` + notice + `"}`), request(`{"role":"CHATBOT","message":"So.","tool_calls":[` + f + `]},` + told)},
		{"beside a call that was run", request(`{"role":"CHATBOT","message":"` + notice + `","tool_calls":[` + g + `]},{"role":"TOOL","tool_results":[]}`),
			request(`{"role":"CHATBOT","message":"","tool_calls":[` + f + `,` + g + `]},` + told + `,{"role":"TOOL","tool_results":[]}`)},
		{"words of the user's stay", request(`{"role":"USER","message":"` + notice + `"}`), ""},
		{"no tools", `{"message":"","chat_history":[{"role":"CHATBOT","message":"` + notice + `"}]}`, ""},
		{"no history", request(""), ""},
	} {
		n := 1
		if tt.want == "" {
			tt.want, n = tt.body, 0
		}
		got, count, err := codec.Rehydrate([]byte(tt.body), refused(t))
		if err != nil || count != n {
			t.Errorf("%s: %d calls, error %v", tt.name, count, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	f := call("f", `{"x":1}`)
	for body, want := range map[string]wire.History{
		`{"message":"go"}`: {},
		`{"message":"","chat_history":[{"role":"CHATBOT","message":"y"}]}`: {Begun: true},
		`{"message":"","chat_history":[{"role":"TOOL","tool_results":[{"call":` + f + `,"outputs":[]}]}],"tool_results":[{"call":{"name":"g"},"outputs":[]}]}`: {Begun: true,
			Results: []wire.Result{{Tool: "f", Arguments: []byte(`{"x":1}`)}, {Tool: "g", Arguments: []byte("{}")}}},
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
		`{"message":"go"}`: `{"message":"go\n\nstop"}`,
		`{"message":"go","tool_results":[{"call":{"name":"f"}}]}`: "",
		`{"message":""}`: "",
		`{}`:             "",
	} {
		if got, ok := codec.Instruct([]byte(body), "stop"); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s becomes %s", body, got)
		}
	}
}

func TestContinue(t *testing.T) {
	t.Parallel()
	f := call("f", `{"x":1}`)
	answer := plain("So.", f)
	results := `,"tool_results":[{"call":` + f + `,"outputs":[{"error":"` + notice + `"}]}]`
	turn := `{"role":"CHATBOT","message":"So.","tool_calls":[` + f + `]}`
	for body, want := range map[string]string{
		`{"message":"go"}`: `{"message":"","chat_history":[{"role":"USER","message":"go"},` + turn + `]` + results + `}`,
		`{"message":"","tool_results":[{"call":` + f + `,"outputs":[]}],"chat_history":[` + turn + `]}`: `{"message":""` + results + `,"chat_history":[` + turn + `,{"role":"TOOL","tool_results":[{"call":` + f + `,"outputs":[]}]},` + turn + `]}`,
		`{"message":"go","conversation_id":"c"}`:                                                        "",
		`{"message":"go","chat_history":"x"}`:                                                           "",
	} {
		if got, ok := codec.Continue([]byte(body), []byte(answer), refused(t)); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s goes on with %s", body, got)
		}
	}
	if _, ok := codec.Continue([]byte(`{"message":"go"}`), []byte(plain("", f, f)), refused(t)); ok {
		t.Error("it goes on from an answer with another call")
	}
}
