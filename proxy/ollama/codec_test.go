package ollama_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/ollama"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMatch(t *testing.T) {
	tests := map[string]bool{
		"POST /api/chat":             true,
		"POST /api/generate":         true,
		"POST /ollama/api/chat":      true,
		"post /API/Chat/":            true,
		"PUT /api/generate;x=1":      true,
		"POST /api//chat.json":       true,
		"GET /api/chat":              false,
		"POST /api/embed":            false,
		"POST /api/show":             false,
		"POST /v1/chat/completions":  false,
		"POST /api/chats":            false,
		"POST /api/chat/completions": false,
	}
	for request, want := range tests {
		method, path, _ := strings.Cut(request, " ")
		if got := (&ollama.Codec{}).MatchHost(method, path); got != want {
			t.Errorf("%s: got %v, want %v", request, got, want)
		}
		if (&ollama.Codec{}).Match(method, path) {
			t.Errorf("%s: it matches on any host", request)
		}
	}
}

func TestRequest(t *testing.T) {
	tests := []struct {
		name, body string
		want       *holdgate.Model
		problem    string
	}{
		{"a stream unless it says otherwise", `{"model":"m","messages":[]}`, &holdgate.Model{Name: "m", Stream: true}, ""},
		{"a plain one", `{"model":"m","stream":false}`, &holdgate.Model{Name: "m"}, ""},
		{"a stream of null", `{"model":"m","stream":null}`, &holdgate.Model{Name: "m", Stream: true}, ""},
		{"tools", `{"tools":[{"type":"function","function":{"name":"a"}},{"function":{"name":"b"}}]}`, &holdgate.Model{Stream: true, Tools: []string{"a", "b"}}, ""},
		{"a tool that is no function", `{"tools":[{"type":"web_search"}]}`, &holdgate.Model{Stream: true, ServerTools: []holdgate.ServerTool{{Type: "web_search"}}}, ""},
		{"no tools", `{"tools":null,"prompt":"x"}`, &holdgate.Model{Stream: true}, ""},
		{"stream in another case", `{"Stream":false}`, nil, "in another case"},
		{"stream that is no boolean", `{"stream":"false"}`, nil, "true or false"},
		{"a function in another case", `{"tools":[{"Function":{"name":"a"}}]}`, nil, "in another case"},
		{"a tool without a name", `{"tools":[{"function":{}}]}`, nil, "name of a tool"},
		{"no object", `[]`, nil, "{ was expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != nil {
				tt.want.Provider = "ollama"
			}
			got, err := (&ollama.Codec{}).Request("/api/chat", wire.Members([]byte(tt.body)))
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
	if got, want := string((&ollama.Codec{}).Error(400, `no "x"`)), `{"error":"no \"x\""}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
