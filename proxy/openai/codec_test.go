package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/openai"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMatch(t *testing.T) {
	tests := map[string]bool{
		"POST /v1/chat/completions":                     true,
		"POST //openai/deployments/d/chat/completions":  true,
		"POST /v1beta/openai/chat/completions":          true,
		"POST /chat/completions":                        true,
		"POST /v1/chat/completions/":                    true,
		"POST /v1/Chat/Completions":                     true,
		"post /v1/chat/completions":                     true,
		"PUT /v1/chat/completions":                      true,
		"POST /v1/chat/completions;a=b":                 true,
		"POST /v1/chat/completions%20":                  true,
		"POST /v1/chat/completions.json":                true,
		"GET /v1/chat/completions":                      false,
		"POST /v1/completions":                          false,
		"POST /v1/chat/completions/chatcmpl-1/messages": false,
		"POST completions":                              false,
	}
	for request, want := range tests {
		method, path, _ := strings.Cut(request, " ")
		if got := (&openai.Codec{}).Match(method, path); got != want {
			t.Errorf("%s: got %v, want %v", request, got, want)
		}
	}
}

func TestRequest(t *testing.T) {
	tests := []struct {
		name, body string
		want       *holdgate.Model
		problem    string
	}{
		{"a plain one", `{"model":"m","messages":[]}`, &holdgate.Model{Name: "m"}, ""},
		{"a streamed one", `{"stream":true,"stream_options":{"include_usage":true}}`, &holdgate.Model{Stream: true}, ""},
		{"tools", `{"tools":[{"type":"function","function":{"name":"a"}},{"function":{"name":"b"}},{"type":"custom","custom":{"name":"c"}}],"functions":[{"name":"d"}]}`,
			&holdgate.Model{Tools: []string{"a", "b", "c", "d"}}, ""},
		{"tools on the provider's side", `{"web_search_options":{},"plugins":[{"id":"web"}],"search_parameters":{"mode":"on"},"tools":[{"type":"openrouter:web_search"},{"type":"mcp","server_label":"l","server_url":"https://u"}]}`,
			&holdgate.Model{ServerTools: []holdgate.ServerTool{{Type: "web_search_options"}, {Type: "plugin", Name: "web"}, {Type: "search_parameters"}, {Type: "openrouter:web_search"}, {Type: "mcp", Name: "l", URL: "https://u"}}}, ""},
		{"tools that are switched off", `{"web_search_options":null,"enable_search":false,"tools":null}`, &holdgate.Model{}, ""},
		{"stream in another case", `{"Stream":true}`, nil, `"stream" in another case`},
		{"tools with a long s", `{"toolſ":[]}`, nil, `in another case`},
		{"a function in another case", `{"tools":[{"type":"x","Function":{}}]}`, nil, `in another case`},
		{"stream that is no boolean", `{"stream":"true"}`, nil, "true or false was expected, not a string"},
		{"a model that is no text", `{"model":1}`, nil, "a string was expected, not a number"},
		{"a tool without a definition", `{"tools":[{"type":"function"}]}`, nil, "no definition"},
		{"a tool without a name", `{"tools":[{"type":"function","function":{}}]}`, nil, "name of a tool"},
		{"tools that are no list", `{"tools":{}}`, nil, "[ was expected"},
		{"no object", `[]`, nil, "{ was expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != nil {
				tt.want.Provider = "openai"
			}
			got, err := (&openai.Codec{}).Request("", wire.Members([]byte(tt.body)))
			if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Fatalf("got error %v, want %q", err, tt.problem)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorIsReadableByClients(t *testing.T) {
	for status, kind := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 413: "invalid_request_error", 429: "rate_limit_error", 503: "server_error"} {
		var got struct {
			Error struct {
				Message, Type, Code string
				Param               *string
			}
		}
		if err := json.Unmarshal((&openai.Codec{}).Error(status, "no\n\"way\""), &got); err != nil {
			t.Fatal(err)
		}
		if got.Error.Message != "no\n\"way\"" || got.Error.Type != kind || got.Error.Param != nil {
			t.Errorf("%d: got %+v", status, got.Error)
		}
	}
}

const twoCalls = `
{ "id" : "1", "object":"chat.completion", "choices" : [ {"index":0, "message": {"role":"assistant", "content": null, "refusal":null,
  "tool_calls" : [ {"id":"a", "type":"function", "function":{"name":"ls", "arguments":"{ \"p\": 1.0 }"}} , {"id":"b","type":"custom","custom":{"name":"sh","input":"rm"}} ] }, "logprobs": null, "finish_reason" : "tool_calls" } ], "usage" : {"total_tokens":3} }
`

func TestAnswer(t *testing.T) {
	tests := []struct {
		name, body, calls string
		v                 verdicts
		want              string
	}{
		{"no calls", `{"choices":[{"message":{"content":"hi"}}]}`, "", none, `{"choices":[{"message":{"content":"hi"}}]}`},
		{"an error", `{"error":{"message":"x"}}`, "", none, `{"error":{"message":"x"}}`},
		{"both released", twoCalls, "ls \"a\" object { \"p\": 1.0 }\nsh \"b\" text \"rm\"\n", all, twoCalls},
		{"the first refused", twoCalls, "", but(0),
			strings.NewReplacer(`{"id":"a", "type":"function", "function":{"name":"ls", "arguments":"{ \"p\": 1.0 }"}} , `, "", ` "content": null`, ` "content": "[gate] call 0 was not run"`).Replace(twoCalls)},
		{"both refused", twoCalls, "", none, ""},
		{"text before", `{"choices":[{"message":{"content":"Look: ","tool_calls":[{"id":"a","function":{"name":"ls","arguments":""}}]},"finish_reason":"stop"}]}`, "", none,
			`{"choices":[{"message":{"content":"Look: \n\n[gate] call 0 was not run"},"finish_reason":"stop"}]}`},
		{"no content at all", `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":""}}]},"finish_reason":"tool_calls"}]}`, "", none,
			`{"choices":[{"message":{"content":"[gate] call 0 was not run"},"finish_reason":"stop"}]}`},
		{"content in blocks", `{"choices":[{"message":{"content":[{"type":"text","text":"a"}],"tool_calls":[{"id":"a","function":{"name":"ls","arguments":""}}]}}]}`, "", none,
			`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"\n\n[gate] call 0 was not run"}]}}]}`},
		{"Azure's filters", `{"choices":[{"content_filter_results":{},"finish_reason":"tool_calls","index":0,"message":{"annotations":[],"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"a","type":"function"}]}}],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`, "ls \"a\" object {}\n", none,
			`{"choices":[{"content_filter_results":{},"finish_reason":"stop","index":0,"message":{"annotations":[],"content":"[gate] call 0 was not run","role":"assistant"}}],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`},
		{"Mistral's arguments as an object", `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"","tool_calls":[{"id":"D681PevKs","function":{"name":"ls","arguments":{"p":1.0}},"index":0}],"prefix":false}}]}`, "ls \"D681PevKs\" object {\"p\":1.0}\n", none,
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"[gate] call 0 was not run","prefix":false}}]}`},
		{"DeepSeek's reasoning", `{"choices":[{"index":0,"message":{"role":"assistant","content":"","reasoning_content":"Look.","tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":"ls","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}]}`, "", none,
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"[gate] call 0 was not run","reasoning_content":"Look."},"logprobs":null,"finish_reason":"stop"}]}`},
		{"the older function_call", `{"choices":[{"message":{"content":null,"function_call":{"name":"ls","arguments":"{}"}},"finish_reason":"function_call"}]}`, "ls \"\" object {}\n", none,
			`{"choices":[{"message":{"content":"[gate] call 0 was not run"},"finish_reason":"stop"}]}`},
		{"one of two choices", `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"},{"index":1,"message":{"content":"x", "tool_calls":[{"id":"b","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, "", but(0),
			`{"choices":[{"index":0,"message":{"content":"[gate] call 0 was not run"},"finish_reason":"stop"},{"index":1,"message":{"content":"x", "tool_calls":[{"id":"b","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := (&openai.Codec{}).Answer([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			var calls []holdgate.Call
			var vs []holdgate.Verdict
			for i, p := range a.Calls() {
				calls = append(calls, *p.Call)
				vs = append(vs, tt.v(i))
			}
			if tt.calls != "" && describe(calls) != tt.calls {
				t.Errorf("got calls %s, want %s", describe(calls), tt.calls)
			}
			got := string(a.Render(vs))
			if tt.want != "" && got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			left, err := (&openai.Codec{}).Answer([]byte(got))
			if err != nil || tt.want == "" && len(left.Calls()) > 0 {
				t.Errorf("what was rendered has calls left, or an error: %v\n%s", err, got)
			}
		})
	}
}

func TestAnswerWithoutAVerdictIsRefused(t *testing.T) {
	a, err := (&openai.Codec{}).Answer([]byte(twoCalls))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(a.Render(nil)); strings.Contains(got, "ls") || strings.Contains(got, "rm") {
		t.Errorf("got %s", got)
	}
}

func TestAnswersThatClientsCouldReadOtherwiseAreRefused(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                           "{ was expected",
		`{"Choices":[]}`:               "another case",
		`{"choices":[{"Message":{}}]}`: "another case",
		`{"choices":[{"message":{"mcp_call":{"name":"x"}}}]}`:                                              "looks like a call",
		`{"choices":[{"delta":{"tool_calls":[{"id":"x"}]}}]}`:                                              "may or may not see",
		`{"choices":[{"message":{"tool_calls":[{"id":"x","type":"web"}]}}]}`:                               "not understood",
		`{"choices":[{"message":{"tool_calls":[{"id":"x"}]}}]}`:                                            "no name",
		`{"choices":[{"message":{"function_call":{"Name":"x","arguments":"{}"}}}]}`:                        "another case",
		`{"choices":[{"message":{"tool_calls":[{"id":"x","function":{"name":"a","custom":1}}, "x"]}}]}`:    "{ was expected",
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":"a"},"custom":{"name":"b"}}]}}]}`:       "both function and custom",
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":"a","arguments":"{}"},"Id":"b"}]}}]}`:   "another case",
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":1,"arguments":"{}"},"id":"b"}]}}]}`:     "a string was expected",
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":"a","arguments":"{}"},"id":["b"]}]}}]}`: "a string was expected",
	} {
		if _, err := (&openai.Codec{}).Answer([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
}
