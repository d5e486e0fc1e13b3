package responses_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/responses"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestContinue(t *testing.T) {
	const (
		call  = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"Bash","arguments":"{}"}`
		other = `{"type":"custom_tool_call","id":"ctc_2","call_id":"call_2","name":"exec","input":"x"}`
		says  = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Look."}]}`
		out   = `{"type":"function_call_output","call_id":"call_1","output":"no"}`
		out2  = `{"type":"custom_tool_call_output","call_id":"call_2","output":"nor this"}`
		think = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"}`
	)
	first := wire.Refused{Notice: "no", Call: []byte(call), ID: "call_1", Name: "Bash"}
	second := wire.Refused{Notice: "nor this", Call: []byte(other), ID: "call_2", Name: "exec"}
	answer := func(store string, items ...string) string {
		return `{"id":"resp_1",` + store + `"output":[` + strings.Join(items, ",") + `]}`
	}
	const kept, unkept = "", `"store":false,`
	for _, tt := range []struct {
		name, body, answer string
		refused            []wire.Refused
		want               string // input; empty where it cannot go on
	}{
		{"a text", `{"input":"go","store":false}`, answer(kept, says, call), []wire.Refused{first}, `[{"type":"message","role":"user","content":"go"},` + says + `,` + call + `,` + out + `]`},
		{"a list", `{"store":false,"input":[ {"role":"user","content":"go"} ]}`, answer(kept, call), []wire.Refused{first}, `[ {"role":"user","content":"go"} ,` + call + `,` + out + `]`},
		{"an empty list", `{"store":false,"input":[]}`, answer(kept, call), []wire.Refused{first}, `[` + call + `,` + out + `]`},
		{"a provider that keeps nothing", `{"input":[]}`, answer(unkept, call), []wire.Refused{first}, `[` + call + `,` + out + `]`},
		{"calls that stand together", `{"input":[],"store":false}`, answer(kept, call, other), []wire.Refused{first, second}, `[` + call + `,` + other + `,` + out + `,` + out2 + `]`},
		{"calls that stand apart", `{"input":[],"store":false}`, answer(kept, call, says, other), []wire.Refused{first, second}, `[` + call + `,` + out + `,` + says + `,` + other + `,` + out2 + `]`},
		{"sealed reasoning", `{"input":[],"store":false}`, answer(kept, think, call), []wire.Refused{first}, `[` + think + `,` + call + `,` + out + `]`},

		{"reasoning that only the provider has", `{"input":[],"store":false}`, answer(kept, strings.Replace(think, "abc", "", 1), call), []wire.Refused{first}, ""},
		{"another call", `{"input":[],"store":false}`, answer(kept, call, other), []wire.Refused{first}, ""},
		{"another call's id", `{"input":[],"store":false}`, answer(kept, other), []wire.Refused{first}, ""},
		{"a call that is not there", `{"input":[],"store":false}`, answer(kept, says), []wire.Refused{first}, ""},
		{"kept, as the request says", `{"input":[],"store":true}`, answer(unkept, call), []wire.Refused{first}, ""},
		{"kept, as the answer says", `{"input":[]}`, answer(`"store":true,`, call), []wire.Refused{first}, ""},
		{"kept, for all that is known", `{"input":[]}`, answer(kept, call), []wire.Refused{first}, ""},
		{"goes on from what is kept", `{"input":[],"store":false,"previous_response_id":"resp_0"}`, answer(kept, call), []wire.Refused{first}, ""},
		{"of a conversation", `{"input":[],"store":false,"conversation":{"id":"conv_1"}}`, answer(kept, call), []wire.Refused{first}, ""},
		{"in the background", `{"input":[],"store":false,"background":true}`, answer(kept, call), []wire.Refused{first}, ""},
		{"a stored prompt alone", `{"prompt":{"id":"p"},"store":false}`, answer(kept, call), []wire.Refused{first}, ""},
		{"no request", ``, answer(unkept, call), []wire.Refused{first}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, ok := (&responses.Codec{}).Continue([]byte(tt.body), []byte(tt.answer), tt.refused)
			if got := string(wire.Find(body, "input")); ok != (tt.want != "") || got != tt.want {
				t.Errorf("goes on: %t\n got %s\nwant %s", ok, got, tt.want)
			}
			if err := wire.Strict(body); ok && err != nil {
				t.Error(err)
			}
		})
	}
}
