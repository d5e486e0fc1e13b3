package responses_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/responses"
	"github.com/holdgate/holdgate/proxy/wire"
)

const rm = `{"command":"rm"}`

func TestStreamsThatClientsCouldReadOtherwiseAreRefused(t *testing.T) {
	call := function(0, "Bash", ls, "completed")
	other := function(0, "Bash", rm, "completed")
	custom := `{"id":"ctc_0","type":"custom_tool_call","call_id":"call_0","name":"x","input":""}`
	shell := func(command, environment string) string {
		return `{"id":"sh_0","type":"shell_call","call_id":"c","action":{"commands":["` + command + `"]},"environment":` + environment + `}`
	}
	open := func() *script { return begin().opens(0, "Bash") }
	args := `"item_id":"fc_0","output_index":0`
	raw := func(data string) string { return begin().String() + "data: " + data + "\n\n" }
	tests := []struct{ name, stream, want string }{
		{"no JSON", raw(`{"type":`), "ends too early"},
		{"no object", raw(`[1]`), "{ was expected"},
		{"two values", raw(`{"type":"a"}{"type":"b"}`), "something follows"},
		{"no type", raw(`{"item":` + call + `}`), "no type"},
		{"a type twice", raw(`{"type":"keepalive","type":"response.completed"}`), "occurs twice"},
		{"a type twice, once escaped", raw(`{"type":"keepalive","\u0074ype":"response.completed"}`), "occurs twice"},
		{"a type in another case", raw(`{"type":"Response.Output_Item.Done","output_index":0}`), "another case"},
		{"a key in another case", raw(`{"type":"x","Item":` + call + `}`), "another case"},
		{"a response in another case", raw(`{"type":"x","RESPONSE":{}}`), "another case"},
		{"an output in another case", begin().ev("response.completed", `"response":{"Output":[`+call+`]}`).String(), "another case"},
		{"an event field that contradicts the data", begin().String() + "event: keepalive\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" + call + "}\n\n", "its event field says"},
		{"an event field that is escaped as the data is", open().String() + "event: response.function_call_arguments.\\u0064elta\ndata: {\"type\":\"response.function_call_arguments.\\u0064elta\"," + args + ",\"delta\":" + quoted(rm) + "}\n\n", "its event field says"},
		{"an item in an event that has none", begin().ev("response.new", `"item":`+call).String(), "brings an item"},
		{"an event without its item", begin().ev("response.output_item.done", `"output_index":0`).String(), "brings no item"},
		{"an item without an index", begin().ev("response.output_item.done", `"item":`+call).String(), "no output_index"},
		{"an index that is no number", begin().ev("response.output_item.done", `"output_index":"0","item":`+call).String(), "whole number"},
		{"a negative index", begin().ev("response.output_item.done", `"output_index":-1,"item":`+call).String(), "whole number"},
		{"a call in an event that nobody knows", begin().ev("response.client_call.done", `"call":{"type":"function_call","name":"Bash","arguments":"{}"}`).String(), "looks like a call"},
		{"calls in an event that nobody knows", begin().ev("response.new", `"tool_calls":[{"function":{"name":"Bash","arguments":"{}"}}]`).String(), "looks like a call"},
		{"a call as the delta of an event that nobody knows", begin().ev("response.new", `"delta":{"function_call":{"name":"Bash"}}`).String(), "brought a call"},
		{"an event that is a call", begin().ev("function_call", `"call_id":"c","name":"Bash","arguments":"{}"`).String(), "brought a call"},
		{"a call beside a text", begin().ev("response.output_text.delta", `"output_index":0,"item_id":"m","delta":"x","actions":[{"type":"tool_use","name":"Bash","input":{}}]`).String(), "looks like a call"},
		{"a call in a response, and not among its items", begin().ev("response.completed", `"response":{"id":"r","output":[],"pending":[{"type":"function_call","name":"Bash","arguments":"{}"}]}`).String(), "looks like a call"},
		{"calls of a response beside its items", begin().ev("response.completed", `"response":{"id":"r","output":[],"tool_calls":[{"function":{"name":"Bash","arguments":"{}"}}]}`).String(), "looks like a call"},
		{"items in an event", begin().ev("response.new", `"output":[`+call+`]`).String(), "list of items"},
		{"an item without a type", begin().ev("response.output_item.done", added(0, `{"call_id":"c","name":"x"}`)).String(), "no type"},
		{"an item that is a list", begin().ev("response.output_item.done", added(0, `[`+call+`]`)).String(), "an object was expected"},
		{"a name in another case", begin().ev("response.output_item.done", added(0, `{"type":"function_call","call_id":"c","Name":"x","arguments":"{}"}`)).String(), "another case"},
		{"arguments in another case", begin().ev("response.output_item.done", added(0, `{"type":"message","Arguments":"{}"}`)).String(), "another case"},
		{"a call without a name", begin().ev("response.output_item.done", added(0, `{"type":"function_call","call_id":"c","arguments":"{}"}`)).String(), "no name"},
		{"arguments with a key twice", begin().asks(0, "Bash", `{"a":1,"a":2}`).String(), "occurs twice"},
		{"text that is no text", begin().ev("response.output_item.done", added(0, `{"type":"custom_tool_call","call_id":"c","name":"x","input":{"a":1}}`)).String(), "a text was expected"},
		{"another name when it is done", open().closes(0, "Other", "").String(), "the name of an item"},
		{"another type when it is done", open().ev("response.output_item.done", added(0, custom)).String(), "the type of an item"},
		{"another call_id when it is done", open().ev("response.output_item.done", added(0, strings.Replace(call, "call_0", "call_9", 1))).String(), "the call_id of an item"},
		{"a text that becomes a call", begin().ev("response.output_item.added", added(0, message(0, ""))).ev("response.output_item.done", added(0, call)).String(), "the type of an item"},
		{"what the provider runs becomes the client's", begin().ev("response.output_item.added", added(0, shell("ls", `{"type":"container_auto"}`))).ev("response.output_item.done", added(0, shell("rm", "null"))).String(), "then by the client"},
		{"other arguments when it is done", open().argues(0, ls).closes(0, "Bash", rm).String(), "differ"},
		{"other arguments when the deltas are done", open().ev("response.function_call_arguments.done", args+`,"arguments":`+quoted(rm)).closes(0, "Bash", ls).String(), "differ"},
		{"arguments that are done twice", open().argues(0, ls).ev("response.function_call_arguments.done", args+`,"arguments":`+quoted(rm)).String(), "done twice"},
		{"deltas that say something else", open().ev("response.function_call_arguments.delta", args+`,"delta":`+quoted(rm)).closes(0, "Bash", ls).String(), "differ"},
		{"arguments that were there before the deltas", begin().ev("response.output_item.added", added(0, other)).argues(0, ls).closes(0, "Bash", ls).String(), "differ"},
		{"other arguments in the snapshot", begin().asks(0, "Bash", ls).ends(other).String(), "differ"},
		{"another name in the snapshot", begin().asks(0, "Bash", ls).ends(function(0, "Other", ls, "completed")).String(), "differ"},
		{"the same call_id for other arguments", begin().said(0, "x").asks(1, "Bash", ls).ends(strings.Replace(function(1, "Bash", rm, "completed"), "fc_1", "fc_7", 1)).String(), "differ"},
		{"another action in the snapshot", begin().ev("response.output_item.done", added(0, shell("ls", "null"))).ends(shell("rm", "null")).String(), "differ"},
		{"a call in a snapshot that does not end the response", begin().ev("response.in_progress", `"response":`+response("in_progress", call)).String(), "not known"},
		{"a call that is done twice", begin().asks(0, "Bash", ls).closes(0, "Bash", ls).String(), "done twice"},
		{"a call in the place of another", begin().asks(0, "Bash", ls).opens(0, "Bash").String(), "have the output_index 0"},
		{"a call in the place of a text", begin().said(0, "x").ev("response.output_item.done", added(0, call)).String(), "done twice"},
		{"a call before what came first", begin().said(1, "x").opens(0, "Bash").String(), "comes after the item"},
		{"two calls with one id", begin().asks(0, "Bash", ls).ev("response.output_item.done", added(1, call)).String(), "same id"},
		{"arguments without a call", begin().ev("response.function_call_arguments.delta", args+`,"delta":"{}"`).String(), "no call that is open"},
		{"arguments of a text", begin().said(0, "x").ev("response.function_call_arguments.delta", `"output_index":0,"delta":"{}"`).String(), "no call that is open"},
		{"arguments after the call", begin().asks(0, "Bash", ls).ev("response.function_call_arguments.delta", args+`,"delta":"{}"`).String(), "no call that is open"},
		{"arguments after they were done", open().argues(0, ls).ev("response.function_call_arguments.delta", args+`,"delta":"{}"`).String(), "after the arguments were done"},
		{"text for a call with arguments", open().ev("response.custom_tool_call_input.delta", args+`,"delta":"x"`).String(), "belongs to a function_call"},
		{"a delta that is no text", open().ev("response.function_call_arguments.delta", args+`,"delta":{"a":1}`).String(), "a string was expected"},
		{"arguments for one call by its index and another by its id", open().opens(1, "Bash").ev("response.function_call_arguments.delta", `"item_id":"fc_1","output_index":0,"delta":"{}"`).String(), "by its index"},
		{"something about a call after it", begin().asks(0, "Bash", ls).ev("response.new", args).String(), "after its call was complete"},
		{"an item after the end", begin().ends().asks(0, "Bash", ls).String(), "after the end"},
		{"an item that is done after the end", begin().ev("response.output_item.added", added(0, message(0, ""))).ends().ev("response.output_item.done", added(0, message(0, ""))).String(), "after the end"},
		{"a response after its end", begin().ends().ends(call).String(), "after its end"},
		{"a response that begins again", begin().said(0, "x").ev("response.created", `"response":`+response("in_progress")).String(), "begins after its first item"},
		{"an end without a response", begin().ev("response.completed", "").String(), "brings no response"},
		{"a response that is a list", begin().ev("response.completed", `"response":[`+call+`]`).String(), "an object was expected"},
		{"an output that is an object", begin().ev("response.completed", `"response":{"output":{"0":`+call+`}}`).String(), "[ was expected"},
		{"an error inside a call", open().ev("error", `"message":"overloaded"`).String(), "inside a call"},
		{"an end inside a call", open().String(), "ends inside a call"},
		{"a patch that is cut inside its deltas", begin().ev("response.output_item.added", added(0, `{"id":"p","type":"apply_patch_call","call_id":"c","operation":{"type":"update_file","path":"a","diff":""}}`)).
			ev("response.apply_patch_call_operation_diff.delta", `"item_id":"p","output_index":0,"delta":"x"`).ev("response.incomplete", `"response":`+response("incomplete")).String(), "ends inside a call"},
		{"an unknown field", begin().String() + "call: " + call + "\n\n", "clients read differently"},
		{"a field in another case", begin().String() + "Data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" + call + "}\n\n", "clients read differently"},
		{"a call in a comment with a line end of Unicode", begin().String() + ": x\u2028data: {\"item\":" + call + "}\n\n", "clients read differently"},
		{"a call in a data line of its own", begin().String() + "data: {\"type\":\"x\",\"x\":[\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" + call + "}\ndata: ]}\n\n", "clients read differently"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := codec().Stream()
			ps, err := parts(s, tt.stream)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if sent := render(s, ps, refuse); strings.Contains(sent, "call_0") {
				t.Errorf("part of a call was sent: %s", sent)
			}
			if _, err := codec().Collect([]byte(tt.stream)); err == nil {
				t.Error("it can be collected")
			}
		})
	}
}

// An item of a type that nobody knows is a call, if it looks or sounds like one: no
// other check would stop it.
func TestItemsOfUnknownTypesThatCouldBeCallsAreCalls(t *testing.T) {
	for item, want := range map[string]int{
		`{"type":"robot","call_id":"c","arguments":"{}"}`:         1,
		`{"type":"robot","call_id":"c","input":"x"}`:              1,
		`{"type":"robot","id":"c","action":{"type":"open"}}`:      1,
		`{"type":"robot","id":"c","operation":{}}`:                1,
		`{"type":"robot","id":"c","commands":["x"]}`:              1,
		`{"type":"robot_call","call_id":"c","what":"x"}`:          1,
		`{"type":"ROBOT_CALL","call_id":"c"}`:                     1,
		`{"type":"robot_tool_use","id":"c"}`:                      1,
		`{"type":"robot_approval_request","id":"c"}`:              1,
		`{"type":"robot_call_output","call_id":"c","output":"x"}`: 0,
		`{"type":"robot","id":"c","summary":"x","action":null}`:   0,
	} {
		a, err := codec().Answer([]byte(response("completed", item)))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(a.Calls()); got != want {
			t.Errorf("a document with %s: %d calls, want %d", item, got, want)
		}
		stream := begin().ev("response.output_item.done", added(0, item)).ends(item).String()
		ps := mustParts(t, codec().Stream(), stream)
		if got := len(calls(ps)); got != want {
			t.Errorf("a stream with %s: %d calls, want %d", item, got, want)
		}
		if sent := render(codec().Stream(), ps, refuse); strings.Contains(sent, item) != (want == 0) {
			t.Errorf("refused, a stream with %s is %s", item, sent)
		}
	}
}

func TestStreamsThatOnlyLookOdd(t *testing.T) {
	copilot := begin().ev("response.output_item.added", added(0, strings.Replace(function(0, "Bash", "", "in_progress"), "fc_0", "x1", 1))).
		ev("response.function_call_arguments.delta", `"item_id":"x2","output_index":0,"delta":`+quoted(ls)).
		ev("response.output_item.done", added(0, strings.Replace(function(0, "Bash", ls, "completed"), "fc_0", "x3", 1))).
		ends(strings.Replace(function(0, "Bash", ls, "completed"), "fc_0", "x4", 1)).String()
	tests := []struct {
		name, stream string
		calls        int
	}{
		{"another id in every event", copilot, 1},
		{"no event fields", strings.ReplaceAll(usual(), "event: ", ": "), 2},
		{"no numbers", begin().String() + "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" + function(0, "Bash", ls, "completed") + "}\n\n", 1},
		{"texts that all have one index", begin().said(0, "a").said(0, "b").ends(message(0, "a"), message(0, "b")).String(), 0},
		{"an index that is left out", begin().said(0, "a").asks(5, "Bash", ls).ends(message(0, "a"), function(5, "Bash", ls, "completed")).String(), 1},
		{"arguments in another order in the snapshot", begin().ev("response.output_item.done", added(0, `{"type":"local_shell_call","call_id":"c","action":{"a":1,"b":2}}`)).ends(`{"type":"local_shell_call","call_id":"c","action":{"b":2, "a":1}}`).String(), 1},
		{"an error as gateways write it", begin().String() + "data: {\"error\":{\"message\":\"overloaded\"}}\n\n", 0},
		{"a web search with another id in the snapshot", begin().ev("response.output_item.done", added(0, `{"type":"web_search_call","id":"a"}`)).ends(`{"type":"web_search_call","id":"b"}`).String(), 2},
		{"an event of an unknown type", begin().ev("response.new", `"x":[{"type":"function_call"}]`).ends().String(), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := codec().Stream()
			ps := mustParts(t, s, tt.stream)
			if got := render(s, ps, release); got != tt.stream {
				t.Errorf("it was changed: %s", got)
			}
			if got := calls(ps); len(got) != tt.calls {
				t.Errorf("%d calls, want %d: %q", len(got), tt.calls, got)
			}
		})
	}
}

func TestPlainAnswersThatClientsCouldReadOtherwiseAreRefused(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"two documents", response("completed") + response("completed"), "something follows"},
		{"a list", `[]`, "an object was expected"},
		{"an answer of another format", `{"choices":[{"message":{"tool_calls":[]}}]}`, "it has no output"},
		{"an error with calls of another format", `{"error":{},"choices":[]}`, "it has no output"},
		{"an output in another case", `{"error":{},"Output":{}}`, "another case"},
		{"an output twice", `{"output":[],"output":[]}`, "occurs twice"},
		{"an output that is an object", `{"output":{}}`, "[ was expected"},
		{"an item that is none", `{"output":["x"]}`, "an object was expected"},
		{"a type that is none", `{"output":[{"type":1}]}`, "a string was expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := codec().Answer([]byte(tt.body)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	for _, body := range []string{`{"error":{"message":"x"}}`, response("queued"), `{"output":null}`} {
		if a, err := codec().Answer([]byte(body)); err != nil || len(a.Calls()) != 0 {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestCallsOverTheLimitAreRefused(t *testing.T) {
	s := (&responses.Codec{CallLimit: 8}).Stream()
	if _, err := parts(s, usual()); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	s = (&responses.Codec{EventLimit: 64}).Stream()
	if _, err := parts(s, usual()); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}
