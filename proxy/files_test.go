package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// A file at a provider passes under policy's word, byte for byte, unless it has
// calls in it, as what has come of a batch has.
func TestFilesOfModelHostsPassUnlessTheyHoldCalls(t *testing.T) {
	t.Parallel()
	const (
		openaiFile = "/up/test/v1/files/file-1/content"
		geminiFile = "/up/test/download/v1beta/files/f_1:download?alt=media"
		container  = "/up/test/v1/containers/cntr_1/files/cfile_1/content"
		said       = `{"custom_id":"a","response":{"status_code":200,"body":{"choices":[{"message":{"content":"the word tool_calls, and \"tool_calls\""}}]}}}` + "\n"
	)
	batch := func(call string) string { return said + `{"custom_id":"b","response":{"body":{` + call + `}}}` + "\n" }
	withCall := batch(`"choices":[{"message":{"tool_calls":[{"id":"c"}]}}]`)
	small := func(c *proxy.Config) { c.Limits.Body = 1 << 10 }
	type header map[string]string
	tests := []struct {
		name, path, body string
		answer           header
		options          []proxytest.Option
		refused          string
	}{
		{"a picture", openaiFile, "\x89PNG\r\n\x1a\n\x00\x00", nil, nil, ""},
		{"a table that is longer than a document may be", openaiFile, strings.Repeat("a,b\n", 1000), nil, []proxytest.Option{small}, ""},
		{"JSON", openaiFile, `{"a": 1}`, nil, nil, ""},
		{"nothing", openaiFile, "", nil, nil, ""},
		{"a batch without calls", openaiFile, said, nil, nil, ""},
		{"a file of a container", container, withCall, nil, nil, ""},
		{"a batch of Chat", openaiFile, withCall, nil, nil, "tool calls"},
		{"behind blanks and a mark of the order of bytes", openaiFile, "\ufeff" + strings.Repeat("\n", 2*route.Glance) + withCall, nil, nil, "tool calls"},
		{"a batch of Messages", openaiFile, batch(`"content":[{"type":"tool_use"}]`), nil, nil, "tool calls"},
		{"a batch of Responses", openaiFile, batch(`"output":[{"type":"custom_tool_call"}]`), nil, nil, "tool calls"},
		{"one that asks for a tool of a hosted server", openaiFile, batch(`"output":[{"type":"mcp_approval_request"}]`), nil, nil, "tool calls"},
		{"a batch of Gemini's", geminiFile, batch(`"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]`), nil, nil, "tool calls"},
		{"under another type", openaiFile, withCall, header{"Content-Type": "image/png"}, nil, "tool calls"},
		{"in UTF-16", openaiFile, proxytest.UTF16(withCall), nil, nil, "tool calls"},
		{"compressed", openaiFile, proxytest.Gzipped(withCall), header{"Content-Encoding": "gzip"}, nil, "tool calls"},
		{"in an unknown encoding", openaiFile, withCall, header{"Content-Encoding": "x-own"}, nil, "x-own"},
		{"JSON that is longer than a document may be", openaiFile, `{"a":"` + strings.Repeat("x", 1<<10) + `"}`, nil, []proxytest.Option{small}, "bytes"},
		{"a part", openaiFile, withCall[50:], header{":status": "206"}, nil, "206"},
		{"another place", openaiFile, "", header{":status": "302", "Location": "https://elsewhere.example/"}, nil, "302"},
		{"an error", openaiFile, `{"error":{}}`, header{":status": "404"}, nil, ""},
		{"where the configuration lets all through", openaiFile, withCall, nil, []proxytest.Option{func(c *proxy.Config) { c.AllowUnsupported = true }}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan http.Header, 1)
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Header.Clone()
				status := http.StatusOK
				for k, v := range tt.answer {
					if k != ":status" {
						w.Header().Set(k, v)
					} else {
						status = map[string]int{"206": 206, "302": 302, "404": 404}[v]
					}
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, tt.body)
			}), tt.options...)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+tt.path, nil)
			proxytest.Must(t, err)
			req.Header.Set("Range", "bytes=50-")
			resp, err := g.Client.Do(req)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			got, whole := proxytest.ReadAll(t, resp.Body), (<-asked).Get("Range") == ""
			if tt.refused == "" {
				if got != tt.body {
					t.Errorf("status %d: %.200q", resp.StatusCode, got)
				}
			} else if resp.StatusCode != http.StatusForbidden || !strings.Contains(got, tt.refused) || strings.Contains(got, "custom_id") {
				t.Errorf("status %d: %.200q", resp.StatusCode, got)
			} else if rules := g.Refusals(); len(rules) != 1 || rules[0] != holdgate.RuleUnsupported {
				t.Errorf("logged: %v", rules)
			}
			if looked := tt.path != container && len(tt.options) == 0; looked && !whole {
				t.Error("a part was asked for")
			}
			decided := 0
			for _, e := range g.Entries(audit.TypeDecision) {
				if e.Call.Kind == holdgate.KindHTTPRequest {
					decided++
				}
			}
			if decided == 0 {
				t.Error("policy was not asked")
			}
		})
	}
}
