package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"
)

// What clients ask of a provider besides models passes, whatever is in a file
// that they send there.
func TestOrdinaryRequestsToAProviderPass(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "it passed")
	}))
	const upload = "/upload/v1beta/files?upload_id=1"
	tests := []struct{ path, typ, body string }{
		{"/api/event_logging/v2/batch", "application/json", `{"events":[]}`},
		{"/upload/v1beta/files", "application/json", `{"file":{"displayName":"a"}}`},
		{upload, "", "[INFO] a log\n[INFO] b"},
		{upload, "application/jsonl", "{\"a\":1}\n{\"a\":2}\n"},
		{upload, "", `{"messages":[]}`},
		{upload, "text/plain; charset=iso-8859-1", "abc"},
		{"/upload/v1beta/fileSearchStores/s:uploadToFileSearchStore", "", "[a](b)"},
		{"/v1/files", "multipart/form-data; boundary=b", "--b--"},
		{"/model/anthropic.claude-v1:0/count-tokens", "application/json", `{"input":{"converse":{}}}`},
		{"/v1/tokenizers/estimate-token-count", "application/json", `{"messages":[]}`},
		{"/api/v1/services/embeddings/text-embedding/text-embedding", "application/json", `{"input":{"texts":["x"]}}`},
		{"/v1beta/models/m:batchEmbedContents", "application/json", `{"requests":[{"content":{}}]}`},
		{"/v1/completions", "application/json", `{"model":"m","prompt":"Once","stream":true}`},
		{"/openai/deployments/d/completions", "application/json", `{"prompt":["a","b"]}`},
		{"/v1beta/cachedContents", "application/json", `{"model":"models/m","contents":[{"parts":[{"text":"x"}]}]}`},
		{"/model/us.cohere.embed-v4:0/invoke", "application/json", `{"texts":["x"],"input_type":"search_query"}`},
		{"/model/global.amazon.nova-2-multimodal-embeddings-v1:0/invoke", "application/json", `{"x":1}`},
		{"/v1internal:loadCodeAssist", "application/json", `{"metadata":{}}`},
	}
	for _, tt := range tests {
		header := http.Header{}
		if tt.typ != "" {
			header.Set("Content-Type", tt.typ)
		}
		if status, body := g.Send(g.Client, http.MethodPost, g.URL+"/up/test"+tt.path, tt.body, header); status != http.StatusOK {
			t.Errorf("%s (%s) %.30q: %d %s", tt.path, tt.typ, strings.TrimSpace(tt.body), status, body)
		}
	}
}

// A road on which models only complete text is none for messages or tools.
func TestACompletionWithToolsIsRefused(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"choices":[]}`))
	for _, body := range []string{`{"model":"m","messages":[]}`, `{"model":"m","prompt":"x","tools":[]}`, `{"model":"m","Messages":[]}`} {
		if status, got := g.Send(g.Client, http.MethodPost, g.URL+"/up/test/v1/completions", body, proxytest.TypeJSON); status != 400 || len(seen.All()) != 0 {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}

// Ollama Cloud calls its stream application/json.
func TestOllamaCloudsStreamIsGated(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}
{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"Bash","arguments":{"command":"forbidden"}}}]},"done":false}
{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}
`))
	status, body := g.Send(g.Client, http.MethodPost, g.URL+"/up/test/api/chat", `{"model":"m","messages":[]}`, proxytest.TypeJSON)
	if status != 200 || strings.Contains(body, "Bash\",\"arguments") || !strings.Contains(body, "test.deny") || !strings.Contains(body, `"content":"Hi"`) {
		t.Errorf("%d %s", status, body)
	}
}
