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
