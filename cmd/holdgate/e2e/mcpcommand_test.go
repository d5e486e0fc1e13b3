package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that Holdgate starts is to an official client over HTTP what it is to
// one that has started it itself.
func TestEveryFeatureOfAServerThatHoldgateStarts(t *testing.T) {
	server := filepath.Join(clientsDir(t), "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	t.Parallel()
	config := write(t, "holdgate.yaml", fmt.Sprintf("mcp: {everything: {command: [node, %s, stdio]}}\n", quoted(server)))
	s := serve(t, []string{"HOLDGATE_CONFIG=" + config}, "--policy", write(t, "all.rego", allowAll))
	want := node(t, nil, "mcp-stdio.mjs", "everything", "node", "EVERYTHING", "stdio").output()
	for range 2 { // sessions follow each other
		if got := node(t, nil, "mcp-stdio.mjs", "everything", "http://"+s.agents+"/mcp/everything").output(); got != want || !strings.Contains(want, "sampled: ") {
			t.Errorf("through Holdgate:\n%s\nstraight:\n%s", got, want)
		}
	}
	if n := strings.Count(s.must("audit", "query", "--json"), `"test.all"`); n < 40 {
		t.Errorf("policy was asked %d times", n)
	}
	until(t, "the log says what the server wrote and that it has ended", func() bool {
		log, err := os.ReadFile(s.logPath())
		return err == nil && strings.Contains(string(log), "an MCP server says") && strings.Count(string(log), "an MCP server has ended") == 2
	})
}
