package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

func TestModelAPIsThatNobodyReadsAreRefused(t *testing.T) {
	tests := []struct {
		name, method, path string
		header             http.Header
		refused            bool
	}{
		{"items of a conversation", "GET", "/v1/conversations/conv_1/items", nil, true},
		{"what a response was asked for", "GET", "/v1/responses/resp_1/input_items", nil, true},
		{"Responses over a socket", "GET", "/v1/responses", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, true},
		{"a stored chat completion", "GET", "/v1/chat/completions/chatcmpl-1", nil, true},
		{"a stored chat completion that is changed", "POST", "/v1/chat/completions/chatcmpl-1", nil, true},
		{"stored chat completions", "GET", "/v1/chat/completions?limit=2", nil, true},
		{"batches of Gemini", "POST", "/v1beta/models/m:batchGenerateContent", nil, true},
		{"Converse", "POST", "/model/m/converse-stream", nil, true},
		{"Ollama", "POST", "/api/chat", nil, true},
		{"a list of models", "GET", "/v1/models", nil, false},
		{"a count of tokens", "POST", "/v1/messages/count_tokens", nil, false},
	}
	for _, allowed := range []bool{false, true} {
		var seen counter
		g := newGate(t, plainly(&seen, 200, `{}`), func(c *Config) { c.AllowUnsupported = allowed })
		for _, tt := range tests {
			name := tt.name
			if allowed {
				name += ", where the configuration lets it through"
			}
			t.Run(name, func(t *testing.T) {
				before, logged := len(seen.all()), len(g.refusals())
				req, err := http.NewRequestWithContext(t.Context(), tt.method, g.url+"/up/test"+tt.path, nil)
				must(t, err)
				for k, v := range tt.header {
					req.Header[k] = v
				}
				resp, err := g.client.Do(req)
				must(t, err)
				defer resp.Body.Close()
				body := readAll(t, resp.Body)
				refused := tt.refused && !allowed
				want := map[bool]int{true: http.StatusBadRequest, false: http.StatusOK}[refused]
				if refused && tt.header.Get("Upgrade") != "" {
					want = http.StatusUpgradeRequired
				}
				if resp.StatusCode != want || (len(seen.all()) == before) != refused {
					t.Errorf("status %d, reached the upstream: %t: %s", resp.StatusCode, len(seen.all()) > before, body)
				}
				if !refused {
					return
				}
				rules := g.refusals()
				if len(rules) != logged+1 || rules[logged] != holdgate.RuleUnsupported || !strings.Contains(body, "gated") {
					t.Errorf("logged: %v, answered: %s", rules[logged:], body)
				}
			})
		}
	}
}
