package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate/proxy/anthropic"
)

func TestCollect(t *testing.T) {
	closing := func(data string) string { return ev("message_delta", `{"type":"message_delta",`+data+`}`) }
	message := func(members string) string {
		return ev("message_start", `{"type":"message_start","message":{`+members+`}}`)
	}
	tests := []struct{ name, stream, want string }{
		{
			"usage is merged, null says nothing",
			message(`"id":"m","content":[],"usage":{"input_tokens":5,"cache":{"a":1},"output_tokens":1}`) +
				closing(`"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":null,"output_tokens":7,"new":null}`),
			`{"id":"m","content":[],"usage":{"input_tokens":5,"cache":{"a":1},"output_tokens":7,"new":null},"stop_reason":"end_turn"}`,
		},
		{
			"what the end says replaces what the start said",
			message(`"id":"m","stop_reason":null`) + closing(`"delta":{"stop_reason":"refusal","stop_details":{"x":1}},"context_management":{"applied_edits":[]}`),
			`{"id":"m","stop_reason":"refusal","content":[],"stop_details":{"x":1},"context_management":{"applied_edits":[]}}`,
		},
		{
			"argument bytes stay",
			message(`"id":"m"`) + open("0", bash) + add("0", fragment(`"{ \"n\": 1.50,"`)) + add("0", fragment(`" \"u\":\"\\u00e9\"}"`)) + shut("0") + closing(`"delta":{}`),
			`{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{ "n": 1.50, "u":"\u00e9"}}]}`,
		},
		{
			"arguments that are no object become a string",
			message(`"id":"m"`) + open("0", bash) + add("0", fragment(`"{\"a\":\"x"`)) + shut("0") + closing(`"delta":{}`),
			`{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":"{\"a\":\"x"}]}`,
		},
		{
			"text goes on after its start, and surrogate halves meet",
			message(`"id":"m"`) + open("0", `{"type":"text","text":"a"}`) + add("0", `{"type":"text_delta","text":"\ud83d"}`) + add("0", `{"type":"text_delta","text":"\ude00"}`) + shut("0") + closing(`"delta":{}`),
			`{"id":"m","content":[{"type":"text","text":"a\ud83d\ude00"}]}`,
		},
		{
			"compaction",
			message(`"id":"m"`) + open("0", `{"type":"compaction","content":null}`) + add("0", `{"type":"compaction_delta","content":null}`) + add("0", `{"type":"compaction_delta","content":"sum"}`) + shut("0") + closing(`"delta":{}`),
			`{"id":"m","content":[{"type":"compaction","content":"sum"}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := new(anthropic.Codec).Collect([]byte(tt.stream))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCollectRefuses(t *testing.T) {
	text := open("0", `{"type":"text","text":""}`)
	tests := []struct{ name, stream string }{
		{"nothing", ""},
		{"a stream that was cut", begin() + said("0")},
		{"a stream that failed", begin() + said("0") + ev("error", `{"type":"error","error":{}}`)},
		{"a delta of an unknown type", begin() + text + add("0", `{"type":"new_delta","new":1}`) + shut("0") + end("end_turn")},
		{"a text delta without text", begin() + text + add("0", `{"type":"text_delta"}`) + shut("0") + end("end_turn")},
		{"half a surrogate pair in the end", begin() + text + add("0", `{"type":"text_delta","text":"\ud83d"}`) + shut("0") + end("end_turn")},
		{"content in the message_delta", begin() + ev("message_delta", `{"type":"message_delta","delta":{"content":[`+bash+`]}}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := new(anthropic.Codec).Collect([]byte(tt.stream)); err == nil {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	got, err := new(anthropic.Codec).Expand([]byte(`{"id":"m","type":"message","content":[
		{"type":"thinking","thinking":"hm","signature":"c2ln"},
		{"type":"text","text":"","citations":null},
		{"type":"text","text":"hi","citations":[{"url":"u"}]},
		{"type":"tool_use","id":"t","name":"Bash","input":{ "n": 1.50 }},
		{"type":"tool_use","id":"t","name":"Bash","input":{}},
		{"type":"tool_use","id":"t","name":"Bash","input":"{\"a"},
		{"type":"web_search_tool_result","tool_use_id":"s","content":[]}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"output_tokens":9}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := ev("message_start", `{"type":"message_start","message":{"id":"m","type":"message","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"output_tokens":9}}}`) +
		open("0", `{"type":"thinking","thinking":"","signature":""}`) + add("0", `{"type":"thinking_delta","thinking":"hm"}`) + add("0", `{"type":"signature_delta","signature":"c2ln"}`) + shut("0") +
		open("1", `{"type":"text","text":"","citations":null}`) + shut("1") +
		open("2", `{"type":"text","text":"","citations":[]}`) + add("2", `{"type":"citations_delta","citation":{"url":"u"}}`) + add("2", `{"type":"text_delta","text":"hi"}`) + shut("2") +
		open("3", bash) + add("3", fragment(`"{ \"n\": 1.50 }"`)) + shut("3") +
		open("4", bash) + shut("4") +
		open("5", bash) + add("5", fragment(`"{\"a"`)) + shut("5") +
		open("6", `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`) + shut("6") +
		end("tool_use")
	if diff := cmp.Diff(strings.Split(want, "\n\n"), strings.Split(string(got), "\n\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExpandOfAnErrorIsAnErrorEvent(t *testing.T) {
	body := `{"type":"error","error":{"type":"api_error","message":"x"}}`
	got, err := new(anthropic.Codec).Expand([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if want := ev("error", body); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
