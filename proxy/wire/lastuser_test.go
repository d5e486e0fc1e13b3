package wire_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestLastUser(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"Anthropic":                {`{"system":"s","messages":[{"role":"user","content":"mend it"},{"role":"assistant","content":"ok"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"out"}]}]}]}`, "mend it"},
		"several parts":            {`{"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>be kind</system-reminder>"},{"type":"text","text":"mend it"}]}]}`, "mend it"},
		"Chat Completions":         {`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"user","content":"two"},{"role":"tool","content":"out"}]}`, "two"},
		"Responses":                {`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"mend it"}]},{"type":"function_call_output","output":"x"}]}`, "mend it"},
		"Responses, a text":        {`{"input":"mend it"}`, "mend it"},
		"Gemini":                   {`{"contents":[{"role":"user","parts":[{"text":"mend it"}]},{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"text":"out"}}}]}]}`, "mend it"},
		"Gemini, what it puts in":  {`{"contents":[{"role":"user","parts":[{"text":"<session_context>\nThis is the CLI.\n</session_context>"},{"text":"mend it"}]}]}`, "mend it"},
		"tags that a person wrote": {`{"input":"<b>mend</b> it, <x_y>"}`, "<b>mend</b> it, <x_y>"},
		"Converse":                 {`{"messages":[{"role":"user","content":[{"text":"mend it"}]}]}`, "mend it"},
		"only what agents put in":  {`{"messages":[{"role":"user","content":"<environment_context>cwd</environment_context>"}]}`, ""},
		"nobody has said anything": {`{"messages":[{"role":"assistant","content":"hi"}]}`, ""},
		"no JSON":                  {`{"messages":[{"role":"user","content":"mend`, ""},
		"another body":             {`[1]`, ""},
		"long":                     {`{"input":"` + strings.Repeat("é", 3000) + `"}`, strings.Repeat("é", 2048)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wire.LastUser([]byte(c.body)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
