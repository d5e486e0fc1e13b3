package responses_test

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/responses"
	"github.com/holdgate/holdgate/proxy/wire"
)

const (
	custom   = `{"id":"ctc_1","type":"custom_tool_call","call_id":"call_1","name":"sql","input":"drop"}`
	approval = `{"id":"mcpr_1","type":"mcp_approval_request","server_label":"s","name":"t","arguments":"{}"}`
)

func notRun(id string) string { return "[holdgate] " + id + " was not run" }

// refusedIn remembers every call of a response as refused, and returns the
// messages in their places too.
func refusedIn(t testing.TB, items ...string) (refused []wire.Refused, messages []string) {
	t.Helper()
	a, err := (&responses.Codec{}).Answer([]byte(response("completed", items...)))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []holdgate.Verdict
	for i, p := range a.Calls() {
		v := holdgate.Verdict{Notice: notRun(p.Call.ID)}
		verdicts = append(verdicts, v)
		r, ok := (&responses.Codec{}).Refused(p, v.Notice)
		if !ok {
			t.Fatalf("call %s cannot be put back", p.Call.ID)
		}
		r.Place = i
		refused = append(refused, r)
	}
	for e, err := range wire.Elements(wire.Find(a.Render(verdicts), "output")) {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, string(e.Value))
	}
	return refused, messages
}

func outputOf(id string) string {
	return `{"type":"function_call_output","call_id":"` + id + `","output":"` + notRun(id) + `"}`
}

func TestRehydrate(t *testing.T) {
	t.Parallel()
	first := function(0, "ls", "{}", "completed")
	third := function(2, "ls", `{"x":1}`, "completed")
	refused, messages := refusedIn(t, first, custom, third, approval)
	idOf := func(n int) string { return refused[n].Message }
	user := `{"role":"user","content":"?"}`
	thought := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gA=="}`
	customOutput := `{"type":"custom_tool_call_output","call_id":"call_1","output":"` + notRun("call_1") + `"}`
	tests := []struct {
		name, body, want string // an empty want is the body
		n                int
	}{
		{"a message becomes its call, its output behind it, and the thought before stays",
			`{ "input":[ ` + thought + ` , ` + messages[0] + ` , ` + user + ` ], "x":1.0 }`,
			`{ "input":[ ` + thought + ` , ` + first + "," + outputOf("call_0") + ` , ` + user + ` ], "x":1.0 }`, 1},
		{"without an id the call has none either",
			`{"input":[{"role":"assistant","content":[{"type":"output_text","text":"` + notRun("call_0") + `"}]}]}`,
			`{"input":[` + strings.Replace(first, `"id":"fc_0",`, "", 1) + "," + outputOf("call_0") + `]}`, 1},
		{"a text that is the whole content counts",
			`{"input":[{"role":"assistant","content":"` + notRun("call_0") + `"},` + user + `]}`,
			`{"input":[` + strings.Replace(first, `"id":"fc_0",`, "", 1) + "," + outputOf("call_0") + "," + user + `]}`, 1},
		{"outputs follow all calls that stand together",
			`{"input":[` + messages[0] + "," + custom + "," + messages[2] + `,{"type":"custom_tool_call_output","call_id":"call_1","output":"ok"},` + user + `]}`,
			`{"input":[` + first + "," + custom + "," + third + "," + outputOf("call_0") + "," + outputOf("call_2") + `,{"type":"custom_tool_call_output","call_id":"call_1","output":"ok"},` + user + `]}`, 2},
		{"a reference becomes one to the call",
			`{"input":[{"type":"item_reference","id":"` + idOf(1) + `"},` + user + `]}`,
			`{"input":[{"type":"item_reference","id":"ctc_1"},` + customOutput + "," + user + `]}`, 1},
		{"a question for an approval is answered with no",
			`{"input":[` + messages[3] + "]}",
			`{"input":[` + approval + `,{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":false,"reason":"` + notRun("mcpr_1") + `"}]}`, 1},
		{"what the provider keeps needs the outputs only",
			`{"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"call_2","output":"x"},{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}]}`,
			`{"previous_response_id":"resp_1","input":[` + outputOf("call_0") + "," + customOutput + `,{"type":"function_call_output","call_id":"call_2","output":"x"},{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}]}`, 2},
		{"a byte more stays a text", strings.Replace(`{"input":[`+messages[0]+`]}`, "not run", "not run.", 1), "", 0},
		{"a byte less stays a text", strings.Replace(`{"input":[`+messages[0]+`]}`, "[holdgate]", "[holdgate", 1), "", 0},
		{"words around it stay a text", strings.Replace(`{"input":[`+messages[0]+`]}`, "[holdgate]", `So.\n\n[holdgate]`, 1), "", 0},
		{"the user's words stay a text", strings.Replace(`{"input":[`+messages[0]+`]}`, `"assistant"`, `"user"`, 1), "", 0},
		{"another reference stays", `{"input":[{"type":"item_reference","id":"msg_1"}]}`, "", 0},
		{"another response's outputs are not owed", `{"previous_response_id":"resp_2","input":"?"}`, "", 0},
		{"beside its call a message stays", `{"input":[` + messages[0] + "," + first + "," + outputOf("call_0") + `]}`, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				tt.want = tt.body
			}
			got, n, err := (&responses.Codec{}).Rehydrate([]byte(tt.body), refused)
			if err != nil || n != tt.n {
				t.Fatalf("%d put back, want %d (%v)", n, tt.n, err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("the request differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOutputsThatAreOwedGoIntoAnyInput(t *testing.T) {
	t.Parallel()
	refused, _ := refusedIn(t, function(0, "ls", "{}", "completed"))
	for body, want := range map[string]string{
		`{"previous_response_id":"resp_1","input":"g\u006f"}`: `{"previous_response_id":"resp_1","input":[` + outputOf("call_0") + `,{"type":"message","role":"user","content":"g\u006f"}]}`,
		`{"previous_response_id":"resp_1","input":[ ]}`:       `{"previous_response_id":"resp_1","input":[` + outputOf("call_0") + ` ]}`,
		`{"previous_response_id":"resp_1"}`:                   `{"previous_response_id":"resp_1","input":[` + outputOf("call_0") + `]}`,
	} {
		if got, n, err := (&responses.Codec{}).Rehydrate([]byte(body), refused); n != 1 || err != nil || string(got) != want {
			t.Errorf("got %s (%d, %v), want %s", got, n, err, want)
		}
	}
}

func TestAStreamedRefusalIsRememberedAsAPlainOne(t *testing.T) {
	t.Parallel()
	want, messages := refusedIn(t, function(0, "ls", "{}", "completed"))
	s := begin().asks(0, "ls", "{}").ends(function(0, "ls", "{}", "completed"))
	st := (&responses.Codec{}).Stream()
	for _, p := range mustParts(t, st, s.String()) {
		if p.Call == nil {
			st.Render(p, release)
			continue
		}
		got, ok := (&responses.Codec{}).Refused(p, notRun("call_0"))
		if diff := cmp.Diff(want[0], got); !ok || diff != "" {
			t.Errorf("remembered (-plain +streamed):\n%s", diff)
		}
		if out := string(st.Render(p, holdgate.Verdict{Notice: notRun("call_0")})); !strings.Contains(out, messages[0]) {
			t.Errorf("the stream has %s, the plain answer %s", out, messages[0])
		}
	}
}

// Whatever a request is, what comes out is strict JSON, and no byte of it has
// changed where nothing was put back.
func FuzzRehydrate(f *testing.F) {
	refused, messages := refusedIn(f, function(0, "ls", "{}", "completed"), custom, approval)
	f.Add([]byte(`{"previous_response_id":"resp_1","input":[` + strings.Join(messages, ",") + `]}`))
	f.Add([]byte(`{"input":[` + messages[0] + `,{"type":"item_reference","id":"` + refused[1].Message + `"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil || wire.KindOf(body) != "an object" {
			return
		}
		if d, err := wire.ReadDocument(body); err == nil {
			_, _ = (&responses.Codec{}).History(d) // must not fall over
		}
		got, n, err := (&responses.Codec{}).Rehydrate(body, refused)
		switch {
		case err != nil:
		case n == 0 && string(got) != string(body):
			t.Errorf("%s became %s", body, got)
		case wire.Strict(got) != nil:
			t.Errorf("%s became %s", body, got)
		}
	})
}

// Without an output for each of its calls a response that the provider has kept
// takes no further request.
func TestEveryKeptCallIsOwedAnOutput(t *testing.T) {
	t.Parallel()
	const said = `{"type":"message","role":"developer","content":"NOTICE"}`
	for call, want := range map[string]string{
		`{"type":"local_shell_call","id":"i","call_id":"c","action":{"type":"exec","command":["rm","a"]}}`: `{"type":"local_shell_call_output","call_id":"c","id":"c","output":"NOTICE"}`,
		`{"type":"computer_call","id":"i","call_id":"c","action":{"type":"click"}}`:                        `{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"PICTURE"}},` + said,
		`{"type":"tool_search_call","id":"i","call_id":"c","execution":"client","arguments":{"q":"x"}}`:    `{"type":"tool_search_output","call_id":"c","execution":"client","status":"completed","tools":[]},` + said,
		`{"type":"robot_call","id":"i","call_id":"c","action":{"move":"left"}}`:                            `{"type":"robot_call_output","call_id":"c","output":"NOTICE"}`,
	} {
		refused, messages := refusedIn(t, call)
		got, n, err := (&responses.Codec{}).Rehydrate([]byte(`{"previous_response_id":"resp_1"}`), refused)
		if err != nil || n != 1 {
			t.Fatalf("%s: %d owed (%v)", call, n, err)
		}
		picture := ""
		if _, rest, ok := strings.Cut(string(got), `"image_url":"`); ok {
			picture, _, _ = strings.Cut(rest, `"`)
			data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(picture, "data:image/png;base64,"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := png.Decode(bytes.NewReader(data)); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
		shown := strings.NewReplacer(notRun("c"), "NOTICE").Replace(string(got))
		if picture != "" {
			shown = strings.ReplaceAll(shown, picture, "PICTURE")
		}
		if diff := cmp.Diff(`{"previous_response_id":"resp_1","input":[`+want+`]}`, shown); diff != "" {
			t.Errorf("%s (-want +got):\n%s", call, diff)
		}
		if strings.Contains(call, "local_shell") {
			continue
		}
		whole := `{"input":[` + messages[0] + `]}`
		if got, n, err := (&responses.Codec{}).Rehydrate([]byte(whole), refused); n != 0 || err != nil || string(got) != whole {
			t.Errorf("%s: its notice is put back as %s (%v)", call, got, err)
		}
	}
}
