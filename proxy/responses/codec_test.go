package responses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		method, path                string
		anywhere, byModels, fetches bool
	}{
		{"POST", "/v1/responses", true, true, false},
		{"POST", "/openai/v1/responses", true, true, false},
		{"POST", "/openai//responses", true, true, false},
		{"POST", "/api/v1/responses", true, true, false},
		{"POST", "/backend-api/codex/responses", true, true, false},
		{"POST", "/V1/%52esponses/", true, true, false},
		{"POST", "/v1/responses/compact", true, true, false},
		{"POST", "/v1/responses/resp_1/cancel", true, true, true},
		{"GET", "/v1/responses/resp_1", true, true, true},
		{"GET", "/openai/responses/resp_1", true, true, true},
		{"GET", "/v1/responses/gen-1", false, true, true},
		{"POST", "/responses", false, true, false},
		{"POST", "/responses/compact", false, true, false},
		{"GET", "/responses/resp_1", false, true, true},
		{"GET", "/v1/responses", false, false, false},
		{"GET", "/v1/responses/resp_1/input_items", false, false, false},
		{"DELETE", "/v1/responses/resp_1", false, false, false},
		{"POST", "/v1/responses/input_tokens", false, false, false},
		{"POST", "/v1/chat/completions", false, false, false},
	}
	for _, tt := range tests {
		c := codec()
		anywhere := c.Match(tt.method, tt.path)
		byModels := anywhere || c.MatchHost(tt.method, tt.path)
		if anywhere != tt.anywhere || byModels != tt.byModels || byModels && c.Fetches(tt.method, tt.path) != tt.fetches {
			t.Errorf("%s %s: anywhere %t, on hosts of models %t, fetches %t", tt.method, tt.path, anywhere, byModels, c.Fetches(tt.method, tt.path))
		}
	}
}

func TestRequest(t *testing.T) {
	server := func(typ, name, url string) holdgate.ServerTool {
		return holdgate.ServerTool{Type: typ, Name: name, URL: url}
	}
	tests := []struct {
		name, body string
		want       holdgate.Model
		problem    string
	}{
		{"a question", `{"model":"m","input":"go"}`, holdgate.Model{Name: "m"}, ""},
		{"a stream", `{"model":"m","input":[],"stream":true}`, holdgate.Model{Name: "m", Stream: true}, ""},
		{"no model", `{"input":"go","stream":null}`, holdgate.Model{}, ""},
		{"tools of the client", `{"model":"m","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"local_shell"},{"type":"shell"},
			{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"},{"type":"computer_use_preview"},{"type":"tool_search","execution":"client"},
			{"type":"namespace","name":"mcp__git","tools":[{"type":"function","name":"push"}]}]}`,
			holdgate.Model{Name: "m", Tools: []string{"f", "c", "local_shell", "shell", "shell", "apply_patch", "computer", "tool_search", "mcp__git__push"}}, ""},
		{"tools of the provider", `{"model":"m","tools":[{"type":"web_search"},{"type":"mcp","server_label":"git","server_url":"https://git.example/mcp"},{"type":"mcp","server_label":"mail","connector_id":"connector_gmail"},
			{"type":"code_interpreter","container":{"type":"auto"}},{"type":"shell","environment":{"type":"container_auto"}},{"type":"tool_search"},{"type":"file_search","vector_store_ids":[]},{"type":"new","name":"x"}]}`,
			holdgate.Model{Name: "m", ServerTools: []holdgate.ServerTool{server("web_search", "", ""), server("mcp", "git", "https://git.example/mcp"), server("mcp", "mail", "connector_gmail"),
				server("code_interpreter", "", ""), server("shell", "", ""), server("tool_search", "", ""), server("file_search", "", ""), server("new", "x", "")}}, ""},
		{"tools in the input", `{"model":"m","input":[{"type":"message","role":"user","content":"x"},{"role":"user","content":"y"},
			{"type":"additional_tools","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]},{"type":"web_search"}]},
			{"type":"tool_search_output","tools":[{"type":"function","name":"found"}]},{"type":"mcp_list_tools","tools":[{"name":"push"}]}]}`,
			holdgate.Model{Name: "m", Tools: []string{"functions__exec", "found"}, ServerTools: []holdgate.ServerTool{server("web_search", "", "")}}, ""},
		{"a stored prompt", `{"prompt":{"id":"pmpt_1"}}`, holdgate.Model{ServerTools: []holdgate.ServerTool{server("prompt", "pmpt_1", "")}}, ""},
		{"nothing asked", `{"stream":true}`, holdgate.Model{}, "no model, no input and no prompt"},
		{"no object", `[]`, holdgate.Model{}, "{ was expected"},
		{"tools in another case", `{"model":"m","Tools":[]}`, holdgate.Model{}, "another case"},
		{"a tool without a type", `{"model":"m","tools":[{"name":"f"}]}`, holdgate.Model{}, "no type"},
		{"a function without a name", `{"model":"m","tools":[{"type":"function"}]}`, holdgate.Model{}, "no name"},
		{"a type in another case", `{"model":"m","tools":[{"type":"function","name":"f","Server_Url":"x"}]}`, holdgate.Model{}, "another case"},
		{"a stream that is no truth value", `{"model":"m","stream":"yes"}`, holdgate.Model{}, "true or false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := codec().Request("/v1/responses", wire.Members([]byte(tt.body)))
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Fatalf("error %v, want one with %q", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Provider = "openai"
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestError(t *testing.T) {
	for status, kind := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 503: "server_error"} {
		var body struct {
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal(codec().Error(status, `say "why"`), &body); err != nil || body.Error.Type != kind || body.Error.Message != `say "why"` {
			t.Errorf("%d: %v %+v", status, err, body)
		}
	}
}

func TestAnErrorIsExpandedToAnErrorEvent(t *testing.T) {
	got, err := codec().Expand([]byte(`{"error":{"message":"x"}}`))
	if want := "event: error\ndata: {\"error\":{\"message\":\"x\"},\"type\":\"error\"}\n\n"; err != nil || string(got) != want {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
	for status, end := range map[string]string{"incomplete": "response.incomplete", "failed": "response.failed", "completed": "response.completed"} {
		out, err := codec().Expand([]byte(response(status, message(0, "x"))))
		if err != nil || !strings.Contains(string(out), "event: "+end+"\n") {
			t.Errorf("%s: %v\n%s", status, err, out)
		}
	}
}
