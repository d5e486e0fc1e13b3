package responses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

// collected renders a stream, and turns it into the plain response.
func collected(t *testing.T, stream string, v holdgate.Verdict) string {
	t.Helper()
	s := codec().Stream()
	out := render(s, mustParts(t, s, stream), v)
	plain, err := codec().Collect([]byte(out))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(plain)
}

func TestEditedCalls(t *testing.T) {
	tests := []struct{ name, item, arguments, want string }{
		{"a function", function(0, "Bash", ls, "completed"), `{"command": "pwd"}`, function(0, "Bash", `{"command": "pwd"}`, "completed")},
		{"a function with an object", `{"type":"function_call","call_id":"c","name":"f","arguments":{"a":1}}`, `{"b":2}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"b\":2}"}`},
		{"a function without arguments", `{"type":"function_call","call_id":"c","name":"f"}`, `{"b":2}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"b\":2}"}`},
		{"a local shell", `{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["rm"]},"status":"completed"}`, `{"type":"exec","command":["ls"]}`,
			`{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"]},"status":"completed"}`},
		{"a shell", `{"type":"shell_call","call_id":"c","action":{"commands":["rm"]},"environment":null}`, `{"commands":["ls"]}`, `{"type":"shell_call","call_id":"c","action":{"commands":["ls"]},"environment":null}`},
		{"a patch", `{"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file","path":"a"}}`, `{"type":"delete_file","path":"b"}`, `{"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file","path":"b"}}`},
		{"a computer", `{"type":"computer_call","id":"x","action":{"type":"click"},"call_id":"c","status":"completed"}`, `{"action":{"type":"wait"}}`, `{"type":"computer_call","id":"x","call_id":"c","status":"completed","action":{"type":"wait"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := holdgate.Verdict{Release: true, Arguments: json.RawMessage(tt.arguments)}
			a, err := codec().Answer([]byte(response("completed", tt.item)))
			if err != nil {
				t.Fatal(err)
			}
			want := response("completed", tt.want)
			if diff := cmp.Diff(want, string(a.Render([]holdgate.Verdict{v}))); diff != "" {
				t.Errorf("plain (-want +got):\n%s", diff)
			}
			shown := `"item_id":"x","output_index":0`
			for form, stream := range map[string]string{
				"whole":           begin().ev("response.output_item.added", added(0, tt.item)).ev("response.output_item.done", added(0, tt.item)).ends(tt.item).String(),
				"shown":           begin().ev("response.output_item.added", added(0, tt.item)).ev("response.new.delta", shown+`,"delta":"x"`).ev("response.output_item.done", added(0, tt.item)).ends(tt.item).String(),
				"only done":       begin().ev("response.output_item.done", added(0, tt.item)).ends().String(),
				"in the snapshot": begin().ends(tt.item).String(),
			} {
				if diff := cmp.Diff(want, collected(t, stream, v)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", form, diff)
				}
			}
			ps := mustParts(t, codec().Stream(), begin().ends(tt.want).String())
			if got := string(ps[len(ps)-1].Call.Tool.Arguments); got != tt.arguments {
				t.Errorf("the call's arguments are now %s", got)
			}
		})
	}
}

func TestCallsThatCannotBeEditedAreRefused(t *testing.T) {
	for _, item := range []string{
		`{"type":"custom_tool_call","call_id":"call_0","name":"x","input":"y"}`,
		`{"type":"mcp_approval_request","id":"call_0","server_label":"git","name":"push","arguments":"{}"}`,
		`{"type":"new_call","call_id":"call_0","what":"x"}`,
	} {
		v := holdgate.Verdict{Release: true, Arguments: json.RawMessage(`{}`)}
		a, err := codec().Answer([]byte(response("completed", item)))
		if err != nil {
			t.Fatal(err)
		}
		plain := string(a.Render([]holdgate.Verdict{v}))
		streamed := collected(t, begin().ev("response.output_item.done", added(0, item)).ends(item).String(), v)
		for _, got := range []string{plain, streamed} {
			if !a.Calls()[0].Fixed || strings.Contains(got, "call_0") || !strings.Contains(got, "was not run: its arguments were edited") {
				t.Errorf("it is fixed: %t, and becomes %s", a.Calls()[0].Fixed, got)
			}
		}
	}
}

// A client that knew the id of the question could say yes to it.
func TestTheIDOfARefusedQuestionIsNotTold(t *testing.T) {
	item := `{"type":"mcp_approval_request","id":"mcpr_secret","server_label":"git","name":"push","arguments":"{}"}`
	if got := collected(t, begin().ev("response.output_item.added", added(0, item)).ev("response.output_item.done", added(0, item)).ends(item).String(), refuse); strings.Contains(got, "secret") {
		t.Errorf("it is in %s", got)
	}
}

func TestPlainAnswers(t *testing.T) {
	plainAnswers(t, "")
	plainAnswers(t, "\r\n\n \t") // as some gateways keep a connection alive
}

func plainAnswers(t *testing.T, before string) {
	t.Helper()
	body := before + `{ "output": [` + message(0, "x") + ` , ` + function(1, "Bash", ls, "completed") + `,{"type":"web_search_call","id":"ws"},` + function(3, "Read", "{}", "completed") + `], "output_text":"x", "usage":null }`
	a, err := codec().Answer([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Render([]holdgate.Verdict{release, {}, release}); string(got) != body {
		t.Errorf("released, it is %s", got)
	}
	got := string(a.Render([]holdgate.Verdict{{Release: true, Note: "mind"}, {}})) // the last verdict is missing
	if strings.Contains(got, "call_3") || !strings.Contains(got, "call_1") || strings.Contains(got, "output_text\":\"x\"") || !strings.Contains(got, "mind") || !strings.Contains(got, "was not run") {
		t.Errorf("it is %s", got)
	}
	if !json.Valid([]byte(got)) {
		t.Errorf("it is no JSON: %s", got)
	}
}

func TestWaiting(t *testing.T) {
	s := codec().Stream().(interface {
		Notice(string) []byte
		Idle() []byte
		Fail(string) []byte
	})
	if got := string(s.Idle()) + string(s.Notice("asking")); !strings.HasPrefix(got, ":") || strings.Contains(got, "asking") {
		t.Errorf("before anything came it says %q", got)
	}
	st := codec().Stream()
	out := render(st, mustParts(t, st, begin().said(0, "x").String()), release)
	out += string(st.Idle()) + string(st.(interface{ Notice(string) []byte }).Notice("asking")) + string(st.Idle()) + string(st.Fail("broken"))
	want := []string{"7 keepalive", `8 output_item.added 1 ""`, "9 content_part.added 1", "10 output_text.delta 1 asking", "11 output_text.done 1 asking", "12 content_part.done 1", `13 output_item.done 1 "asking"`, "13 keepalive", "14 error"}
	if diff := cmp.Diff(want, outline(t, out)[8:]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if st = codec().Stream(); !strings.Contains(string(st.Fail("broken")), `"type":"server_error"`) {
		t.Errorf("an error is %s", st.Fail("broken"))
	}
}

func TestWhatWasSaidWhileACallWaitedIsInTheSnapshot(t *testing.T) {
	s := codec().Stream()
	var out strings.Builder
	for _, p := range mustParts(t, s, begin().said(0, "x").asks(1, "Bash", ls).ends(message(0, "x"), function(1, "Bash", ls, "completed")).String()) {
		if p.Call != nil {
			out.Write(s.(interface{ Notice(string) []byte }).Notice("asking"))
		}
		out.Write(s.Render(p, holdgate.Verdict{Release: true, Note: "mind"}))
	}
	lines := outline(t, out.String())
	if got, want := lines[len(lines)-1], `25 completed "x" "asking" "mind" Bash({"command":"ls"})`; got != want {
		t.Errorf("the snapshot is %s, want %s", got, want)
	}
}
