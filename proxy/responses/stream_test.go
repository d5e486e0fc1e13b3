package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

const ls = `{"command":"ls"}`

// usual is a stream with a text and two calls.
func usual() string {
	return begin().said(0, "I will.").asks(1, "Bash", ls).asks(2, "Read", `{"path":"a"}`).
		ends(message(0, "I will."), function(1, "Bash", ls, "completed"), function(2, "Read", `{"path":"a"}`, "completed")).String()
}

// interleaved is a stream whose two calls come at the same time, with a text
// that begins among them.
func interleaved() string {
	s := begin().opens(0, "Bash").opens(1, "Read").ev("keepalive", "").argues(1, `{"path":"a"}`).argues(0, ls).closes(1, "Read", `{"path":"a"}`)
	return s.said(2, "text").closes(0, "Bash", ls).
		ends(function(0, "Bash", ls, "completed"), function(1, "Read", `{"path":"a"}`, "completed"), message(2, "text")).String()
}

func TestWhatIsReleasedComesAsItWas(t *testing.T) {
	streams := []string{usual(), interleaved(), strings.ReplaceAll(usual(), "\n", "\r\n"), usual() + "data: [DONE]\n\n", background(), besides()}
	for i, stream := range streams {
		step := []int{1, 13}[min(i, 1)] // the first one at every byte
		for cut := 0; cut <= len(stream); cut += step {
			s := codec().Stream()
			ps := mustParts(t, s, stream[:cut], stream[cut:])
			if got := joined(ps); got != stream {
				t.Fatalf("cut at %d, the parts are %s", cut, got)
			}
			if got := render(s, ps, release); got != stream {
				t.Fatalf("cut at %d, it is %s", cut, got)
			}
		}
	}
}

// background is a stream that resumes in the middle, as a client asks for it
// with starting_after.
func background() string {
	s := &script{next: 9}
	return s.ev("response.output_text.delta", `"item_id":"msg_0","output_index":0,"content_index":0,"delta":"x"`).
		ends(message(0, "x"), function(1, "Bash", ls, "completed")).String()
}

// besides is a stream with events that only mention calls, and a response that says again
// what tools there are.
func besides() string {
	echo := `"parallel_tool_calls":true,"max_tool_calls":3,"tool_choice":{"type":"function","name":"Bash"},` +
		`"tools":[{"type":"function","name":"x","parameters":{"properties":{"tool_calls":{"type":"array"}}}}],"metadata":{},"usage":{"tool_calls":2}`
	return begin().ev("response.in_progress", `"response":{"id":"resp_1",`+echo+`}`).
		ev("response.mcp_call_arguments.done", `"item_id":"mcp_1","output_index":0,"arguments":"{\"tool_calls\":[{}]}"`).
		ev("response.web_search_call.searching", `"item_id":"ws_1","output_index":0`).
		ev("response.code_interpreter_call_code.done", `"item_id":"ci_1","output_index":0,"code":"{\"function_call\": {\"name\": 1}}"`).
		ev("response.content_part.added", `"item_id":"m","output_index":0,"part":{"type":"output_text","text":"a \"tool_call\": {}","annotations":[]}`).
		ends().String()
}

// Each part before a call's last event must be kept back.
func TestNoByteOfACallComesBeforeItIsComplete(t *testing.T) {
	for name, stream := range map[string]string{"one after the other": usual(), "interleaved": interleaved()} {
		t.Run(name, func(t *testing.T) {
			s := codec().Stream()
			var seen strings.Builder
			for i := range len(stream) {
				ps, err := s.Push([]byte(stream[i : i+1]))
				if err != nil {
					t.Fatal(err)
				}
				seen.WriteString(joined(ps))
				if got := seen.String(); len(ps) > 0 && strings.Contains(got, "call_") && !strings.Contains(got, `"status":"completed","arguments"`) {
					t.Fatalf("part of a call came out: %s", got)
				}
			}
		})
	}
}

func TestCallsThatAreFound(t *testing.T) {
	shell := func(environment string) string {
		return `{"id":"sh_0","type":"shell_call","call_id":"call_0","action":{"commands":["rm a","ls"],"timeout_ms":5},"environment":` + environment + `,"status":"completed"}`
	}
	tests := []struct{ name, item, want string }{
		{"a function", function(0, "Bash", ls, "completed"), `call_0 Bash {"command":"ls"}`},
		{"a function without arguments", function(0, "Bash", "", "completed"), `call_0 Bash {}`},
		{"a function with arguments that are no JSON", function(0, "Bash", `{"a":`, "completed"), `call_0 Bash "{\"a\":"`},
		{"a function with an object", `{"type":"function_call","call_id":"c","name":"f","arguments":{"a": 1}}`, `c f {"a": 1}`},
		{"a function of a namespace", `{"type":"function_call","call_id":"c","name":"hold","namespace":"mcp__lab","arguments":"{}"}`, `c mcp__lab__hold {}`},
		{"a function that a search for tools found", `{"type":"function_call","call_id":"c","name":"get_weather","namespace":"get_weather","arguments":"{}"}`, `c get_weather {}`},
		{"a function of a namespace that ends in underscores", `{"type":"function_call","call_id":"c","name":"hold","namespace":"mcp__lab__","arguments":"{}"}`, `c mcp__lab__hold {}`},
		{"a call without call_id", `{"type":"function_call","id":"fc","name":"f","arguments":"{}"}`, `fc f {}`},
		{"free text", `{"type":"custom_tool_call","id":"ctc","call_id":"c","name":"apply_patch","input":"*** Begin"}`, `c apply_patch "*** Begin"`},
		{"free text that is JSON", `{"type":"custom_tool_call","id":"ctc","call_id":"c","name":"x","input":"{}"}`, `c x "{}"`},
		{"a local shell", `{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"],"env":{}}}`, `c local_shell {"type":"exec","command":["ls"],"env":{}}`},
		{"a shell", shell("null"), `call_0 shell {"commands":["rm a","ls"],"timeout_ms":5}`},
		{"a local shell by its environment", shell(`{"type":"local"}`), `call_0 shell {"commands":["rm a","ls"],"timeout_ms":5}`},
		{"a shell in an unknown environment", shell(`{"type":"new"}`), `call_0 shell {"commands":["rm a","ls"],"timeout_ms":5}`},
		{"a shell in a container", shell(`{"type":"container_reference","container_id":"x"}`), `call_0 shell {"commands":["rm a","ls"],"timeout_ms":5} observed`},
		{"a patch", `{"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file","path":"a"}}`, `c apply_patch {"type":"delete_file","path":"a"}`},
		{"a computer", `{"type":"computer_call","id":"x","call_id":"c","status":"completed","action":{"type":"click"},"pending_safety_checks":[]}`, `c computer {"action":{"type":"click"},"pending_safety_checks":[]}`},
		{"a computer with several actions", `{"type":"computer_call","call_id":"c","actions":[{"type":"wait"}]}`, `c computer {"actions":[{"type":"wait"}]}`},
		{"a search for tools by the client", `{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"q":"x"}}`, `c tool_search {"q":"x"}`},
		{"a search for tools by the server", `{"type":"tool_search_call","call_id":null,"id":"t","execution":"server","arguments":{"q":"x"}}`, `t tool_search {"q":"x"} observed`},
		{"a question about a hosted tool", `{"type":"mcp_approval_request","id":"mcpr_1","server_label":"git","name":"push","arguments":"{\"a\":1}"}`, `mcpr_1 git/push {"a":1}`},
		{"a hosted tool that has run", `{"type":"mcp_call","id":"mcp_1","server_label":"git","name":"push","arguments":"{}","output":"x"}`, `mcp_1 git/push {} observed`},
		{"a web search", `{"type":"web_search_call","id":"ws","status":"completed","action":{"type":"search","query":"x"}}`, `ws web_search {"action":{"type":"search","query":"x"}} observed`},
		{"code that has run", `{"type":"code_interpreter_call","id":"ci","code":"1","container_id":"c","outputs":[1]}`, `ci code_interpreter {"code":"1","container_id":"c"} observed`},
		{"a call of an unknown type", `{"type":"new_call","id":"n","call_id":"c","what":"x"}`, `c new_call {"what":"x"}`},
		{"a call in another case", `{"type":"Function_Call","id":"n","call_id":"c","name":"Bash","arguments":"{}"}`, `c Function_Call {"name":"Bash","arguments":"{}"}`},
		{"an item of an unknown type that says what to do", `{"type":"new","id":"n","command":"x"}`, `n new {"command":"x"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := codec().Answer([]byte(response("completed", tt.item)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.want}, calls(a.Calls())); diff != "" {
				t.Errorf("plain (-want +got):\n%s", diff)
			}
			for form, stream := range map[string]string{
				"whole":            begin().ev("response.output_item.added", added(0, tt.item)).ev("response.output_item.done", added(0, tt.item)).ends(tt.item).String(),
				"only done":        begin().ev("response.output_item.done", added(0, tt.item)).ends().String(),
				"only added":       begin().ev("response.output_item.added", added(0, tt.item)).ends().String(),
				"in the snapshot":  begin().ends(tt.item).String(),
				"added, then sent": begin().ev("response.output_item.added", added(0, tt.item)).ends(tt.item).String(),
			} {
				ps := mustParts(t, codec().Stream(), stream)
				if form == "only added" && strings.HasSuffix(tt.want, "observed") {
					continue // the provider has not said that it ran
				}
				if diff := cmp.Diff([]string{tt.want}, calls(ps)); diff != "" {
					t.Errorf("streamed, %s (-want +got):\n%s", form, diff)
				}
			}
		})
	}
}

func TestItemsThatAreNoCalls(t *testing.T) {
	for _, it := range []string{
		message(0, "x"),
		`{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"}`,
		`{"type":"function_call_output","call_id":"c","output":"x"}`,
		`{"type":"local_shell_call_output","id":"c","output":"x"}`,
		`{"type":"mcp_list_tools","id":"m","server_label":"git","tools":[{"name":"push"}]}`,
		`{"type":"compaction","id":"c","encrypted_content":"x"}`,
		`{"type":"something","id":"x","text":"y"}`,
	} {
		ps := mustParts(t, codec().Stream(), begin().ev("response.output_item.added", added(0, it)).ev("response.output_item.done", added(0, it)).ends(it).String())
		if got := calls(ps); len(got) > 0 {
			t.Errorf("%s is taken for %s", it, got)
		}
	}
}

// decoded is a stream's events without the numbers of what was refused.
func decoded(t *testing.T, stream string) (events []map[string]any) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		_, data, ok := strings.Cut(block, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		events = append(events, e)
	}
	return events
}

// outline is a stream in short: the number, type, index and item of each event,
// and the types of a snapshot.
func outline(t *testing.T, stream string) (lines []string) {
	t.Helper()
	for _, e := range decoded(t, stream) {
		line := fmt.Sprintf("%v %v", e["sequence_number"], strings.TrimPrefix(e["type"].(string), "response."))
		if i, ok := e["output_index"]; ok {
			line += fmt.Sprintf(" %v", i)
		}
		for _, k := range []string{"delta", "arguments", "text"} {
			if v, ok := e[k]; ok {
				line += fmt.Sprintf(" %v", v)
			}
		}
		items := []any{e["item"]}
		if r, ok := e["response"].(map[string]any); ok {
			items = r["output"].([]any)
		}
		for _, it := range items {
			if m, ok := it.(map[string]any); ok {
				line += " " + short(m)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func short(item map[string]any) string {
	if item["type"] != "message" {
		return fmt.Sprintf("%v(%v)", item["name"], item["arguments"])
	}
	text := ""
	for _, c := range item["content"].([]any) {
		text += c.(map[string]any)["text"].(string)
	}
	return fmt.Sprintf("%q", text)
}

func TestRewrittenStreams(t *testing.T) {
	one := begin().asks(0, "Bash", ls).said(1, "ok").ends(function(0, "Bash", ls, "completed"), message(1, "ok")).String()
	head := []string{"0 created", "1 in_progress"}
	tests := []struct {
		name     string
		stream   string
		verdicts []holdgate.Verdict
		want     []string
	}{
		{"refused", one, []holdgate.Verdict{{Notice: "no"}}, []string{
			`2 output_item.added 0 ""`, "3 content_part.added 0", "4 output_text.delta 0 no", "5 output_text.done 0 no", "6 content_part.done 0", `7 output_item.done 0 "no"`,
			`8 output_item.added 1 ""`, "9 content_part.added 1", "10 output_text.delta 1 ok", "11 output_text.done 1 ok", "12 content_part.done 1", `13 output_item.done 1 "ok"`,
			`14 completed "no" "ok"`,
		}},
		{"edited", one, []holdgate.Verdict{{Release: true, Arguments: json.RawMessage(`{"command":"pwd"}`)}}, []string{
			`2 output_item.added 0 Bash()`, `3 function_call_arguments.delta 0 {"command":"pwd"}`, `4 function_call_arguments.done 0 {"command":"pwd"}`, `5 output_item.done 0 Bash({"command":"pwd"})`,
			`6 output_item.added 1 ""`, "7 content_part.added 1", "8 output_text.delta 1 ok", "9 output_text.done 1 ok", "10 content_part.done 1", `11 output_item.done 1 "ok"`,
			`12 completed Bash({"command":"pwd"}) "ok"`,
		}},
		{"noted", one, []holdgate.Verdict{{Release: true, Note: "mind"}}, []string{
			`2 output_item.added 0 ""`, "3 content_part.added 0", "4 output_text.delta 0 mind", "5 output_text.done 0 mind", "6 content_part.done 0", `7 output_item.done 0 "mind"`,
			`8 output_item.added 1 Bash()`, `9 function_call_arguments.delta 1 {"comman`, `10 function_call_arguments.delta 1 d":"ls"}`, `11 function_call_arguments.done 1 {"command":"ls"}`, `12 output_item.done 1 Bash({"command":"ls"})`,
			`13 output_item.added 2 ""`, "14 content_part.added 2", "15 output_text.delta 2 ok", "16 output_text.done 2 ok", "17 content_part.done 2", `18 output_item.done 2 "ok"`,
			`19 completed "mind" Bash({"command":"ls"}) "ok"`,
		}},
		{"interleaved, one refused and one noted", interleaved(), []holdgate.Verdict{{Notice: "no"}, {Release: true, Note: "mind"}}, []string{
			`2 output_item.added 0 ""`, "3 content_part.added 0", "4 output_text.delta 0 no", "5 output_text.done 0 no", "6 content_part.done 0", `7 output_item.done 0 "no"`,
			`8 output_item.added 1 ""`, "9 content_part.added 1", "10 output_text.delta 1 mind", "11 output_text.done 1 mind", "12 content_part.done 1", `13 output_item.done 1 "mind"`,
			`14 output_item.added 2 Read()`, "15 keepalive", `16 function_call_arguments.delta 2 {"path`, `17 function_call_arguments.delta 2 ":"a"}`, `18 function_call_arguments.done 2 {"path":"a"}`, `19 output_item.done 2 Read({"path":"a"})`,
			`20 output_item.added 3 ""`, "21 content_part.added 3", "22 output_text.delta 3 text", "23 output_text.done 3 text", "24 content_part.done 3", `25 output_item.done 3 "text"`,
			`26 completed "no" "mind" Read({"path":"a"}) "text"`,
		}},
		{"refused in the snapshot alone", begin().said(0, "ok").ends(message(0, "ok"), function(1, "Bash", ls, "completed")).String(), []holdgate.Verdict{{Notice: "no"}}, []string{
			`2 output_item.added 0 ""`, "3 content_part.added 0", "4 output_text.delta 0 ok", "5 output_text.done 0 ok", "6 content_part.done 0", `7 output_item.done 0 "ok"`,
			`8 completed "ok" "no"`,
		}},
		{"refused where the snapshot is empty", begin().asks(0, "Bash", ls).ends().String(), []holdgate.Verdict{{Notice: "no"}}, []string{
			`2 output_item.added 0 ""`, "3 content_part.added 0", "4 output_text.delta 0 no", "5 output_text.done 0 no", "6 content_part.done 0", `7 output_item.done 0 "no"`,
			`8 completed`,
		}},
		{"edited without deltas", begin().opens(0, "Bash").closes(0, "Bash", ls).ends(function(0, "Bash", ls, "completed")).String(),
			[]holdgate.Verdict{{Release: true, Arguments: json.RawMessage(`{}`)}}, []string{`2 output_item.added 0 Bash({})`, `3 output_item.done 0 Bash({})`, `4 completed Bash({})`}},
		{"cut, and refused", begin().opens(0, "Bash").ev("response.incomplete", `"response":`+response("incomplete", function(0, "Bash", "", "incomplete"))).String(), []holdgate.Verdict{{Notice: "no"}}, []string{
			`2 output_item.added 0 ""`, "3 content_part.added 0", "4 output_text.delta 0 no", "5 output_text.done 0 no", "6 content_part.done 0", `7 output_item.done 0 "no"`,
			`8 incomplete "no"`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := codec().Stream()
			got := outline(t, render(s, mustParts(t, s, tt.stream), tt.verdicts...))
			if diff := cmp.Diff(append(head, tt.want...), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
