package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gemini"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMatch(t *testing.T) {
	tests := map[string]bool{
		"POST /v1beta/models/gemini-3-pro:generateContent":                                 true,
		"POST /v1beta/models/gemini-3-pro:streamGenerateContent":                           true,
		"POST /v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent": true,
		"POST /v1internal:streamGenerateContent":                                           true,
		"POST /v1beta/models/m%3AgenerateContent":                                          true,
		"post /v1beta/models/m:GENERATECONTENT;x=1":                                        true,
		"POST /v1beta/models/m:generateContent/":                                           true,
		"GET /v1beta/models/m:generateContent":                                             false,
		"POST /v1beta/models/m:countTokens":                                                false,
		"POST /v1beta/models/m:batchGenerateContent":                                       false,
		"POST /generateContent":                                                            false,
		"POST /v1beta/models/m:generateContent/operations":                                 false,
	}
	for request, want := range tests {
		method, path, _ := strings.Cut(request, " ")
		if got := (&gemini.Codec{}).Match(method, path); got != want {
			t.Errorf("%s: got %v, want %v", request, got, want)
		}
	}
}

func TestRequest(t *testing.T) {
	const plain, stream = "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent"
	tests := []struct {
		name, path, body string
		want             *holdgate.Model
		problem          string
	}{
		{"a plain one", plain, `{"contents":[]}`, &holdgate.Model{Name: "m"}, ""},
		{"a streamed one", stream, `{}`, &holdgate.Model{Name: "m", Stream: true}, ""},
		{"Code Assist", "/v1internal:streamGenerateContent", `{"model":"x","request":{"tools":[{"functionDeclarations":[{"name":"a"}]}]}}`,
			&holdgate.Model{Name: "x", Stream: true, Tools: []string{"a"}}, ""},
		{"functions in both spellings", plain, `{"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"function_declarations":[{"name":"c"}]}]}`,
			&holdgate.Model{Name: "m", Tools: []string{"a", "b", "c"}}, ""},
		{"tools on the provider's side", plain, `{"tools":[{"googleSearch":{},"code_execution":{}},{"mcpServers":[{"name":"s","streamableHttpTransport":{"url":"https://u"}}]},{"new":{}}]}`,
			&holdgate.Model{Name: "m", ServerTools: []holdgate.ServerTool{{Type: "googleSearch"}, {Type: "code_execution"}, {Type: "mcpServers", Name: "s", URL: "https://u"}, {Type: "new"}}}, ""},
		{"no tools", plain, `{"tools":null}`, &holdgate.Model{Name: "m"}, ""},
		{"functions in a third spelling", plain, `{"tools":[{"FunctionDeclarations":[]}]}`, nil, "read differently"},
		{"tools in another case", plain, `{"Tools":[]}`, nil, "in another case"},
		{"a function without a name", plain, `{"tools":[{"functionDeclarations":[{}]}]}`, nil, "name of a function"},
		{"no object", plain, `[]`, nil, "{ was expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != nil {
				tt.want.Provider = "gemini"
			}
			got, err := (&gemini.Codec{}).Request(tt.path, wire.Members([]byte(tt.body)))
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
	got := string((&gemini.Codec{}).Error(400, "no \"x\""))
	if want := `{"error":{"code":400,"message":"no \"x\"","status":"INVALID_ARGUMENT"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
