package start

import "testing"

func TestAServerIsCalledAfterWhatRuns(t *testing.T) {
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"server-filesystem", []string{"npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/tmp"}},
		{"server-filesystem", []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/tmp"}},
		{"mcp-server-git", []string{"/usr/bin/uvx", "mcp-server-git@latest"}},
		{"index", []string{"node", "--no-warnings", "/srv/files/index.mjs", "stdio"}},
		{"server", []string{"uv", "run", "server.py"}},
		{"github-mcp-server", []string{"/opt/github-mcp-server", "stdio"}},
		{"files", []string{"Files.exe"}},
		{"npx", []string{"npx"}},
	} {
		if got := serverName(tt.args); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.args, got, tt.want)
		}
	}
}
