package responses_test

import (
	"strings"
	"testing"
)

// ran are items that the provider ran itself, as the API's reference shows them
// once they are done.
var ran = []struct{ name, item string }{
	{"a web search", `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go","sources":[{"type":"url","url":"https://go.dev"}]}}`},
	{"a file search", `{"id":"fs_1","type":"file_search_call","status":"completed","queries":["go"],"results":[{"file_id":"file-1","filename":"a.md","score":0.9,"text":"x","attributes":{}}]}`},
	{"a code interpreter", `{"id":"ci_1","type":"code_interpreter_call","status":"completed","code":"print(1)","container_id":"cntr_1","outputs":[{"type":"logs","logs":"1"}]}`},
	{"an image", `{"id":"ig_1","type":"image_generation_call","status":"completed","result":"aGk=","revised_prompt":"a cat","size":"1024x1024"}`},
	{"a remote tool", `{"id":"mcp_1","type":"mcp_call","approval_request_id":null,"server_label":"git","name":"log","arguments":"{\"n\":1}","output":"x","error":null,"status":"completed"}`},
	{"a search for tools", `{"id":"ts_1","type":"tool_search_call","call_id":null,"execution":"server","status":"completed","arguments":{"paths":["crm"]}}`},
	{"a shell in a container", `{"id":"sh_1","type":"shell_call","call_id":"call_9","status":"completed","action":{"commands":["ls"],"max_output_length":null,"timeout_ms":null},"environment":{"type":"container_reference","container_id":"cntr_1"}}`},
}

// shellEvents are those of a shell in a container: commands and what they gave
// back come in events of their own, and that is an item too.
func shellEvents() (stream string) {
	call := ran[len(ran)-1].item
	output := `{"id":"sho_1","type":"shell_call_output","call_id":"call_9","status":"completed","max_output_length":null,"output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]}`
	begun := strings.NewReplacer(`"completed"`, `"in_progress"`, `["ls"]`, `[]`).Replace(call)
	const at = `"output_index":0,"command_index":0`
	const out = `"item_id":"sho_1","output_index":1,"command_index":0`
	return begin().ev("response.output_item.added", added(0, begun)).
		ev("response.shell_call_command.added", at+`,"command":""`).ev("response.shell_call_command.delta", at+`,"delta":"ls"`).
		ev("response.shell_call_command.done", at+`,"command":"ls"`).ev("response.output_item.done", added(0, call)).
		ev("response.output_item.added", added(1, strings.Replace(output, `"completed"`, `"in_progress"`, 1))).
		ev("response.shell_call_output_content.delta", out+`,"delta":{"stdout":"a"}`).
		ev("response.shell_call_output_content.done", out+`,"output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]`).
		ev("response.output_item.done", added(1, output)).ends(call, output).String()
}

// searchEvents are those of a search for tools that the client runs.
func searchEvents() (stream, call string) {
	call = `{"id":"ts_1","type":"tool_search_call","call_id":"call_1","execution":"client","status":"completed","arguments":{"query":"crm"}}`
	begun := strings.NewReplacer(`"completed"`, `"in_progress"`, `{"query":"crm"}`, `{}`, `"call_1"`, `null`).Replace(call)
	const at = `"item_id":"ts_1","output_index":0`
	return begin().ev("response.output_item.added", added(0, begun)).ev("response.tool_search_call.in_progress", at).
		ev("response.function_call_arguments.delta", at+`,"delta":"{\"query\":\"crm\"}"`).
		ev("response.function_call_arguments.done", at+`,"arguments":"{\"query\":\"crm\"}"`).
		ev("response.output_item.done", added(0, call)).ev("response.tool_search_call.completed", at).ends(call).String(), call
}

func TestAShellInAContainerPassesAsItCame(t *testing.T) {
	s := codec().Stream()
	ps := mustParts(t, s, shellEvents())
	if got := render(s, ps, refuse); got != shellEvents() {
		t.Errorf("it is %s", got)
	}
}

func TestASearchForToolsByTheClient(t *testing.T) {
	stream, call := searchEvents()
	s := codec().Stream()
	ps := mustParts(t, s, stream)
	if got := calls(ps); len(got) != 1 || got[0] != `call_1 tool_search {"query":"crm"}` {
		t.Errorf("the calls are %q", got)
	}
	if got := render(s, ps, release); got != stream {
		t.Errorf("released, it is %s", got)
	}
	s = codec().Stream()
	if got := render(s, mustParts(t, s, stream), refuse); strings.Contains(got, "tool_search") || strings.Contains(got, "crm") || strings.Contains(got, call) {
		t.Errorf("refused, it is %s", got)
	}
}

func TestWhatTheProviderRanPassesAsItCame(t *testing.T) {
	for _, tt := range ran {
		t.Run(tt.name, func(t *testing.T) {
			begun := strings.ReplaceAll(tt.item, `"completed"`, `"in_progress"`)
			open := begin().ev("response.output_item.added", added(0, begun))
			done := func(s *script) *script { return s.ev("response.output_item.done", added(0, tt.item)) }
			for name, stream := range map[string]string{
				"alone":                  done(open).said(1, "Found.").ends(tt.item, message(1, "Found.")).String(),
				"only done":              done(begin()).said(1, "Found.").ends(tt.item, message(1, "Found.")).String(),
				"only at the end":        begin().ends(tt.item, message(1, "Found.")).String(),
				"in an earlier snapshot": done(begin()).ev("response.in_progress", `"response":`+response("in_progress", tt.item)).ends(tt.item).String(),
			} {
				s := codec().Stream()
				ps := mustParts(t, s, stream)
				if len(calls(ps)) != 1 || !strings.HasSuffix(calls(ps)[0], " observed") {
					t.Errorf("%s: the calls are %q", name, calls(ps))
				}
				if got := render(s, ps, refuse); got != stream {
					t.Errorf("%s: it is %s", name, got)
				}
			}
			asked := done(begin()).asks(1, "Bash", ls).ends(tt.item, function(1, "Bash", ls, "completed")).String()
			s := codec().Stream()
			got := render(s, mustParts(t, s, asked), refuse)
			if strings.Count(got, tt.item) != 2 || strings.Contains(got, "Bash") {
				t.Errorf("beside a refused call: it is %s", got)
			}
		})
	}
}
