package proxy

import (
	"net/http"
	"strings"
	"testing"
)

func TestWhatTheConfigurationSaysIsSpoken(t *testing.T) {
	s := &Server{codecs: codecs(Limits{}), c: Config{Formats: []Format{
		{Host: "llm.example", Path: "/api/", Name: "openai"},
		{Host: "llm.example:8443", Name: "anthropic"},
	}}}
	tests := []struct{ method, url, want string }{
		{"POST", "https://llm.example/api/ask", "openai"},
		{"post", "http://LLM.example.:8080//API;x/ask", "openai"},
		{"POST", "https://llm.example/api", "openai"},
		{"POST", "https://llm.example/api/v1/messages", "anthropic"}, // the path tells
		{"POST", "https://llm.example:8443/ask", "anthropic"},
		{"POST", "https://llm.example/apix/ask", ""},
		{"POST", "https://llm.example/ask", ""},
		{"POST", "https://other.example/api/ask", ""},
		{"GET", "https://llm.example/api/models", ""},
		{"POST", "https://llm.example/api/embeddings", ""},
	}
	for _, tt := range tests {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, nil)
		must(t, err)
		r.Method = tt.method
		got := ""
		if c := s.codecFor(r, target{door: doorForward, url: r.URL}); c != nil {
			got = c.Name()
		}
		if got != tt.want {
			t.Errorf("%s %s: read by %q, want %q", tt.method, tt.url, got, tt.want)
		}
	}
}

func TestCallsAreGatedWhereTheConfigurationNamesTheFormat(t *testing.T) {
	answer := strings.Replace(messageWithCall, `"x"`, `"forbidden"`, 1)
	var seen counter
	g, client, up := unnamed(t, plainly(&seen, 200, answer), func(c *Config) {
		c.Formats = []Format{{Host: c.MCP["other"].Host, Path: "/llm", Name: "anthropic"}}
	})
	if status, body := g.send(client, http.MethodPost, up+"/llm/ask", askPlain, typeJSON); strings.Contains(body, "toolu_1") || !strings.Contains(body, "test.deny") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := g.send(client, http.MethodPost, up+"/llm/ask", `{"messages":1,"messages":2}`, typeJSON); status != 400 || len(seen.all()) != 1 {
		t.Errorf("what is not understood: status %d: %s", status, body)
	}
	if status, body := g.send(client, http.MethodPost, up+"/elsewhere", askPlain, typeJSON); status != 200 || body != answer {
		t.Errorf("elsewhere: status %d: %s", status, body)
	}
}
