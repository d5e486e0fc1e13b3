package e2e_test

import (
	"strings"
	"testing"
)

// Whatever an official client uses of a server that works straight works
// through both roads, in every revision that it speaks.
func TestEveryFeatureOfMCPWorksThroughHoldgate(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	for _, c := range []struct {
		name, server, path string
		client             []string
		uses               string // what the transcript must show at least
	}{
		{"2025-11-25", "mcp-conformance-server.mjs", "/mcp", []string{"mcp-features.mjs", "http"}, "Reconnection test completed"},
		{"2024-11-05", "mcp-conformance-server.mjs", "/sse", []string{"mcp-features.mjs", "sse"}, "LLM response: sampled: hello"},
		{"2026-07-28", "mcp-modern-server.mjs", "/mcp", []string{"mcp-modern.mjs"}, "the tools have changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			straight := nodeServer(t, c.server) + c.path
			s := serve(t, nil, "--mcp", "tested="+straight, "--policy", write(t, "all.rego", allowAll))
			use := func(env []string, url string) string {
				args := append([]string{url}, c.client[1:]...)
				return node(t, env, c.client[0], args...).output()
			}
			want := use(nil, straight)
			if !strings.Contains(want, c.uses) {
				t.Fatalf("straight, the client sees\n%s", want)
			}
			if got := use(nil, "http://"+s.agents+"/mcp/tested"); got != want {
				t.Errorf("through the MCP door:\n%s\nstraight:\n%s", got, want)
			}
			if got := use([]string{"HTTPS_PROXY=http://" + s.agents}, straight); got != want {
				t.Errorf("through the forward proxy:\n%s\nstraight:\n%s", got, want)
			}
			if n := strings.Count(s.must("audit", "query", "--json"), `"test.all"`); n < 10 {
				t.Errorf("policy was asked %d times", n)
			}
		})
	}
}
