package bedrock_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMatch(t *testing.T) {
	const neither, isConverse, isInvoke = 0, 1, 2
	tests := map[string]int{
		"POST /model/anthropic.claude-v9:0/converse":                                         isConverse,
		"POST /model/anthropic.claude-v9%3A0/converse-stream":                                isConverse,
		"POST /model/arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc/converse": isConverse,
		"POST /model/arn%3Aaws%3Abedrock%3A%3A1%3Ainference-profile%2Fus.x/converse-stream":  isConverse,
		"post /Model/m/Converse/":                         isConverse,
		"POST /model/m/invoke":                            isInvoke,
		"POST /model/m/invoke-with-response-stream":       isInvoke,
		"PUT /model/m/INVOKE;x=1":                         isInvoke,
		"POST /model/amazon.titan-embed-text-v2:0/invoke": neither,
		"POST /model/arn:aws:bedrock:eu-west-1::foundation-model/cohere.embed-english-v3/invoke": neither,
		"POST /model/amazon.titan-embed-text-v2:0/invoke-with-response-stream":                   isInvoke,
		"PUT /model/amazon.titan-embed-text-v2:0/invoke":                                         isInvoke,
		"POST /model/x;amazon.titan-embed-text-v2:0/invoke":                                      isInvoke,
		"POST /model/Amazon.titan-embed-text-v2:0/invoke":                                        isInvoke,
		"GET /model/m/converse":             neither,
		"POST /converse":                    neither,
		"POST /invoke":                      neither,
		"POST /guardrail/g/version/1/apply": neither,
	}
	for request, want := range tests {
		method, path, _ := strings.Cut(request, " ")
		if got := (&bedrock.Converse{}).Match(method, path); got != (want == isConverse) {
			t.Errorf("%s is for Converse: %v", request, got)
		}
		if got := invoke().Match(method, path); got != (want == isInvoke) {
			t.Errorf("%s is for InvokeModel: %v", request, got)
		}
	}
}

func TestConverseRequest(t *testing.T) {
	const plain, streamed = "/model/us.amazon.nova-pro-v1:0/converse", "/model/m/converse-stream"
	tests := []struct {
		name, path, body string
		want             *holdgate.Model
		problem          string
	}{
		{"a plain one", plain, `{"messages":[]}`, &holdgate.Model{Name: "us.amazon.nova-pro-v1:0"}, ""},
		{"a streamed one", streamed, `{}`, &holdgate.Model{Name: "m", Stream: true}, ""},
		{"in another case", "/model/m/Converse-Stream/", `{}`, &holdgate.Model{Name: "m", Stream: true}, ""},
		{"tools", plain, `{"toolConfig":{"tools":[{"toolSpec":{"name":"a","inputSchema":{}}},{"cachePoint":{"type":"default"}},{"systemTool":{"name":"nova_grounding"}}]}}`,
			&holdgate.Model{Name: "us.amazon.nova-pro-v1:0", Tools: []string{"a"}, ServerTools: []holdgate.ServerTool{{Type: "systemTool", Name: "nova_grounding"}}}, ""},
		{"tools for the model alone", streamed, `{"additionalModelRequestFields":{"tools":[{"type":"bash_20250124","name":"bash"},{"type":"web_search_1","name":"w"}],"mcp_servers":[{"name":"s","url":"https://u"}]}}`,
			&holdgate.Model{Name: "m", Stream: true, Tools: []string{"bash"}, ServerTools: []holdgate.ServerTool{{Type: "web_search_1", Name: "w"}, {Type: "mcp", Name: "s", URL: "https://u"}}}, ""},
		{"a stored prompt", "/model/arn:aws:bedrock:eu-west-1:1:prompt/p/converse", `{"promptVariables":{}}`,
			&holdgate.Model{Name: "arn:aws:bedrock:eu-west-1:1:prompt/p", ServerTools: []holdgate.ServerTool{{Type: "prompt", Name: "arn:aws:bedrock:eu-west-1:1:prompt/p"}}}, ""},
		{"nulls", plain, `{"toolConfig":null,"additionalModelRequestFields":null}`, &holdgate.Model{Name: "us.amazon.nova-pro-v1:0"}, ""},
		{"toolConfig in another case", plain, `{"toolconfig":{}}`, nil, "another case"},
		{"tools in another case", plain, `{"toolConfig":{"Tools":[]}}`, nil, "another case"},
		{"a tool in another case", plain, `{"toolConfig":{"tools":[{"ToolSpec":{"name":"a"}}]}}`, nil, "another case"},
		{"a tool without a name", plain, `{"toolConfig":{"tools":[{"toolSpec":{}}]}}`, nil, "no name"},
		{"no object", plain, `[]`, nil, "{ was expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != nil {
				tt.want.Provider = "bedrock"
			}
			got, err := (&bedrock.Converse{}).Request(tt.path, wire.Members([]byte(tt.body)))
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
	for status, name := range map[int]string{400: "ValidationException", 403: "AccessDeniedException", 429: "ThrottlingException", 503: "ServiceUnavailableException", 502: "InternalServerException"} {
		want := `{"__type":"` + name + `","message":"no \"x\""}`
		if got := string((&bedrock.Converse{}).Error(status, `no "x"`)); got != want || string(invoke().Error(status, `no "x"`)) != want {
			t.Errorf("%d: got %s", status, got)
		}
	}
}

func TestOnlyEventStreamsAreStreams(t *testing.T) {
	for _, c := range []interface{ StreamAs(string) wire.Stream }{&bedrock.Converse{}, invoke()} {
		if c.StreamAs("application/json") != nil || c.StreamAs(bedrock.StreamType) == nil {
			t.Errorf("%T takes another media type for a stream", c)
		}
	}
}
