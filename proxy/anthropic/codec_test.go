package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		method, path string
		want         bool
	}{
		{"POST", "/v1/messages", true},
		{"POST", "/anthropic/v1/messages", true},
		{"POST", "/v1/messages/", true},
		{"POST", "//v1//messages", true},
		{"POST", "/x/../v1/messages", true},
		{"POST", "/V1/Messages", true},
		{"post", "/v1/messages", true},
		{"PUT", "/v1/messages", true},
		{"POST", "/v1/messages;x", true},
		{"POST", "/v1/messages%20", true},
		{"POST", "/v1/messages.json", true},
		{"GET", "/v1/messages", false},
		{"POST", "/v1/messages/count_tokens", false},
		{"POST", "/v1/messages/batches", false},
		{"POST", "/v1/notmessages", false},
		{"POST", "messages", false},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@1:rawPredict", true},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@1:streamRawPredict", true},
		{"post", "/v1/projects/p/locations/l/publishers/other/models/m:STREAMrawpredict/", true},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", false},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict?", true},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/m:predict", false},
		{"POST", "", false},
	}
	for _, tt := range tests {
		if got := new(anthropic.Codec).Match(tt.method, tt.path); got != tt.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestRequestOnVertex(t *testing.T) {
	const path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@20270101:streamRawPredict"
	for _, tt := range []struct {
		name, body  string
		want        *holdgate.Model // nil where it is refused
		unsupported bool
	}{
		{"a message", `{"anthropic_version":"vertex-2023-10-16","stream":true,"messages":[],"tools":[{"name":"Bash"}]}`,
			&holdgate.Model{Provider: "anthropic", Name: "claude-x@20270101", Stream: true, Tools: []string{"Bash"}}, false},
		{"another model in the body", `{"anthropic_version":"vertex-2023-10-16","model":"m"}`, nil, false},
		{"another API's body", `{"model":"mistral-x","messages":[]}`, nil, true},
		{"a body that is not known", `{"messages":[]}`, nil, true},
		{"the version in another case", `{"Anthropic_version":"vertex-2023-10-16"}`, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := new(anthropic.Codec).Request(path, wire.Members([]byte(tt.body)))
			if (err != nil) != (tt.want == nil) || errors.Is(err, wire.ErrUnsupported) != tt.unsupported {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestError(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid_request_error", 413: "invalid_request_error", 401: "permission_error", 403: "permission_error",
		429: "rate_limit_error", 500: "api_error", 502: "api_error", 503: "overloaded_error", 529: "overloaded_error",
	} {
		var got struct {
			Type  string
			Error struct{ Type, Message string }
		}
		body := new(anthropic.Codec).Error(status, "no \"way\" \xff")
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if got.Type != "error" || got.Error.Type != want || got.Error.Message != "no \"way\" \ufffd" {
			t.Errorf("%d: got %s", status, body)
		}
	}
}

func TestRequest(t *testing.T) {
	tests := []struct {
		name, body string
		want       *holdgate.Model // nil where it is refused
	}{
		{"the least", `{"model":"m"}`, &holdgate.Model{Provider: "anthropic", Name: "m"}},
		{"null says nothing", `{"model":"m","stream":null,"tools":null,"mcp_servers":null}`, &holdgate.Model{Provider: "anthropic", Name: "m"}},
		{
			"tools", `{"model":"m","stream":true,"max_tokens":9,"tools":[{"name":"Read","input_schema":{"Type":"x"}},{"type":"custom","name":"Write"},
				{"type":"bash_20250124","name":"bash"},{"type":null,"name":"Null"}]}`,
			&holdgate.Model{Provider: "anthropic", Name: "m", Stream: true, Tools: []string{"Read", "Write", "bash", "Null"}},
		},
		{
			"tools of the provider", `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"mcp_toolset","mcp_server_name":"docs"},
				{"type":"new_20270101","name":"new"}],"mcp_servers":[{"type":"url","name":"docs","url":"https://docs.example/mcp","authorization_token":"secret"}]}`,
			&holdgate.Model{Provider: "anthropic", Name: "m", ServerTools: []holdgate.ServerTool{
				{Type: "web_search_20250305", Name: "web_search"}, {Type: "mcp_toolset", Name: "docs"}, {Type: "new_20270101", Name: "new"},
				{Type: "mcp", Name: "docs", URL: "https://docs.example/mcp"},
			}},
		},
		{"no object", `[]`, nil},
		{"no model", `{}`, nil},
		{"model is no string", `{"model":1}`, nil},
		{"stream is no boolean", `{"model":"m","stream":"false"}`, nil},
		{"Model", `{"model":"m","Model":"n"}`, nil},
		{"TOOLS", `{"model":"m","TOOLS":[]}`, nil},
		{"Stream alone", `{"model":"m","Stream":true}`, nil},
		{"MCP_servers", `{"model":"m","MCP_servers":[]}`, nil},
		{"tools is no array", `{"model":"m","tools":{}}`, nil},
		{"a tool is no object", `{"model":"m","tools":["x"]}`, nil},
		{"a tool's Type", `{"model":"m","tools":[{"Type":"web_search_20250305","name":"web_search"}]}`, nil},
		{"a tool's type is no string", `{"model":"m","tools":[{"type":1}]}`, nil},
		{"a server's URL in another case", `{"model":"m","mcp_servers":[{"Url":"https://a"}]}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := new(anthropic.Codec).Request("", wire.Members([]byte(tt.body)))
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
