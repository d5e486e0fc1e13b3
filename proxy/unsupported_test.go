package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
)

func TestModelAPIsThatNobodyReadsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path string
		header             http.Header
		refused            bool
	}{
		{"items of a conversation", "GET", "/v1/conversations/conv_1/items", nil, true},
		{"what a response was asked for", "GET", "/v1/responses/resp_1/input_items", nil, true},
		{"Realtime over a socket", "GET", "/v1/realtime", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, true},
		{"a stored chat completion", "GET", "/v1/chat/completions/chatcmpl-1", nil, true},
		{"a stored chat completion that is changed", "POST", "/v1/chat/completions/chatcmpl-1", nil, true},
		{"stored chat completions", "GET", "/v1/chat/completions?limit=2", nil, true},
		{"batches of Gemini", "POST", "/v1beta/models/m:batchGenerateContent", nil, true},
		{"a conversation of Bedrock over a socket", "POST", "/model/m/invoke-with-bidirectional-stream", nil, true},
		{"a conversation that goes on", "POST", "/v1/conversations/conv_1", nil, true},
		{"a conversation that starts anew", "POST", "/v1/conversations/conv_1/restart", nil, true},
		{"text completions", "POST", "/v1/completions", nil, false},
		{"a batch of OpenAI's", "POST", "/v1/batches", nil, true},
		{"a file without calls", "GET", "/v1/files/file-1/content", nil, false},
		{"a batch of Azure's", "POST", "/openai/batches?api-version=1", nil, true},
		{"a file of Azure's", "GET", "/openai/files/file-1/content?api-version=1", nil, false},
		{"a batch of Anthropic's", "POST", "/v1/messages/batches", nil, true},
		{"what has come of it", "GET", "/v1/messages/batches/msgbatch_1/results", nil, true},
		{"a batch of Gemini's", "POST", "/v1beta/models/m:batchGenerateContent", nil, true},
		{"what has come of one, in line", "GET", "/v1beta/batches/b_1", nil, true},
		{"what has come of some", "GET", "/v1beta/batches", nil, true},
		{"a file of Gemini's", "GET", "/download/v1beta/files/f_1:download?alt=media", nil, false},
		{"a batch of Vertex AI's", "POST", "/v1/projects/p/locations/l/batchPredictionJobs", nil, true},
		{"a batch of Bedrock's", "POST", "/model-invocation-job", nil, true},
		{"a batch of Mistral's", "POST", "/v1/batch/jobs", nil, true},
		{"what has come of one of Mistral's", "GET", "/v1/batch/jobs/j_1", nil, true},
		{"a completion of xAI's that comes later", "GET", "/v1/chat/deferred-completion/r_1", nil, true},
		{"a file that is named", "GET", "/v1/files/file-1", nil, false},
		{"tokens that Vertex AI counts", "POST", "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", nil, false},
		{"a list of models", "GET", "/v1/models", nil, false},
		{"a count of tokens", "POST", "/v1/messages/count_tokens", nil, false},
	}
	for _, allowed := range []bool{false, true} {
		var seen proxytest.Counter
		g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`), func(c *proxy.Config) { c.AllowUnsupported = allowed })
		for _, tt := range tests {
			name := tt.name
			if allowed {
				name += ", where the configuration lets it through"
			}
			t.Run(name, func(t *testing.T) {
				before, logged := len(seen.All()), len(g.Refusals())
				req, err := http.NewRequestWithContext(t.Context(), tt.method, g.URL+"/up/test"+tt.path, nil)
				proxytest.Must(t, err)
				for k, v := range tt.header {
					req.Header[k] = v
				}
				resp, err := g.Client.Do(req)
				proxytest.Must(t, err)
				defer resp.Body.Close()
				body := proxytest.ReadAll(t, resp.Body)
				refused := tt.refused && !allowed
				want := map[bool]int{true: http.StatusBadRequest, false: http.StatusOK}[refused]
				if refused && tt.header.Get("Upgrade") != "" {
					want = http.StatusUpgradeRequired
				}
				if resp.StatusCode != want || (len(seen.All()) == before) != refused {
					t.Errorf("status %d, reached the upstream: %t: %s", resp.StatusCode, len(seen.All()) > before, body)
				}
				if !refused {
					return
				}
				rules := g.Refusals()
				if len(rules) != logged+1 || rules[logged] != holdgate.RuleUnsupported || !strings.Contains(body, "gated") {
					t.Errorf("logged: %v, answered: %s", rules[logged:], body)
				}
			})
		}
	}
}
