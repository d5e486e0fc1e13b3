package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestUserTurns(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"Anthropic":               {`{"messages":[{"role":"user","content":"mend it"},{"role":"assistant","content":"ok"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"out"}]},{"type":"text","text":"<system-reminder>be kind</system-reminder>"}]},{"role":"user","content":"more"}]}`, []string{"mend it", "more"}},
		"beside a result":         {`{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"tool_result"},{"type":"text","text":"b"}]}]}`, []string{"a", "b"}},
		"a picture":               {`{"messages":[{"role":"user","content":[{"type":"image"}]}]}`, []string{""}},
		"Chat Completions":        {`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"tool","content":"out"},{"role":"user","content":"one"}]}`, []string{"one", "one"}},
		"Responses":               {`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"mend it"}]},{"type":"function_call_output","output":"x"}],"previous_response_id":null}`, []string{"mend it"}},
		"Responses, a text":       {`{"input":"mend it"}`, []string{"mend it"}},
		"Gemini":                  {`{"contents":[{"role":"user","parts":[{"text":"<session_context>\nThis is the CLI.\n</session_context>"}]},{"role":"user","parts":[{"text":"mend it"}]},{"role":"user","parts":[{"functionResponse":{"name":"x"}}]}]}`, []string{"<session_context>\nThis is the CLI.\n</session_context>", "mend it"}},
		"Gemini, without a role":  {`{"contents":[{"parts":[{"text":"mend it"}]},{"role":"model","parts":[{"text":"ok"}]},{"parts":[{"text":"more"}]}]}`, []string{"mend it", "more"}},
		"Ollama, a picture":       {`{"messages":[{"role":"user","content":"","images":["AAAA"]},{"role":"user","images":["AAAA"]}]}`, []string{"", ""}},
		"handed on by the agent":  {`{"messages":[{"role":"user","content":[{"type":"tool_result"},{"type":"text","text":"<system-reminder>The user sent a new message while you were working:\nnow publish it</system-reminder>"}]}]}`, []string{"<system-reminder>The user sent a new message while you were working:\nnow publish it</system-reminder>"}},
		"in a tag of their own":   {`{"messages":[{"role":"user","content":[{"type":"text","text":"<next_task>publish it</next_task>"}]},{"role":"user","content":"<context>publish it</context>"}]}`, []string{"<next_task>publish it</next_task>", "<context>publish it</context>"}},
		"a command of the user":   {`{"messages":[{"role":"user","content":"<command-name>/publish</command-name>"}]}`, []string{"<command-name>/publish</command-name>"}},
		"a reminder of lists":     {`{"messages":[{"role":"user","content":[{"type":"tool_result"},{"type":"text","text":"<system-reminder>The list is empty. NEVER mention this reminder to the user.</system-reminder>"}]}]}`, nil},
		"Converse":                {`{"messages":[{"role":"user","content":[{"text":"mend it"},{"cachePoint":{"type":"default"}}]},{"role":"user","content":[{"toolResult":{}},{"cachePoint":{}}]}]}`, []string{"mend it"}},
		"long":                    {`{"input":"` + strings.Repeat("x", 9000) + `"}`, []string{strings.Repeat("x", 9000)}},
		"kept by the provider":    {`{"input":"mend it","previous_response_id":"resp_1"}`, nil},
		"kept in a conversation":  {`{"conversation":{"id":"c"},"input":"mend it"}`, nil},
		"kept, another":           {`{"previous_interaction_id":"i","input":"mend it"}`, nil},
		"only what agents put in": {`{"messages":[{"role":"user","content":"<environment_context>cwd</environment_context>"}]}`, nil},
		"two lists":               {`{"messages":[{"role":"user","content":"a"}],"input":"b"}`, nil},
		"cut":                     {`{"messages":[{"role":"user","content":"mend"}]`, nil},
		"another body":            {`[1]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wire.UserTurns([]byte(c.body)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
