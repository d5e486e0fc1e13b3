package e2e_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// filesystemServer starts the official file server of MCP on a folder, and
// returns its address.
func filesystemServer(t *testing.T, folder string) string {
	t.Helper()
	return nodeServer(t, "mcp-filesystem.mjs", folder)
}

// nodeServer starts a server among the scripts of testdata/clients, and returns
// the address that it prints.
func nodeServer(t *testing.T, script string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(clientsDir(t), script)}, args...)...)
	cmd.Env = environment()
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("%s printed no address", script)
	}
	return lines.Text()
}

// writesAreAsked is a setting of a user who wants to see what is written.
const writesAreAsked = "settings:\n  tools: {files/write_file: ask}\n"

func TestAToolOfAnMCPServerWaitsForAPerson(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	folder := t.TempDir()
	s := serve(t, nil, "--mcp", "files="+filesystemServer(t, folder), "--policy", write(t, "settings.yaml", writesAreAsked))

	// ask starts a client that writes a file, and waits until that is held.
	ask := func(t *testing.T, name string) (*process, string, request) {
		path := filepath.Join(folder, name)
		p := node(t, nil, "mcp.mjs", "http://"+s.agents+"/mcp/files", "write_file",
			`{"path":`+quoted(path)+`,"content":"written by an agent\n"}`)
		r := s.held(name)
		if _, err := os.Stat(path); err == nil || !p.running() {
			t.Fatalf("the file was written before anybody was asked: %v", p.end())
		}
		return p, path, r
	}
	t.Run("approved, the file is there", func(t *testing.T) {
		p, path, r := ask(t, "approved.txt")
		s.answer(r.ID, "approve")
		if tools, res := toolResult(t, p.output()); res.IsError || len(tools) < 5 {
			t.Errorf("the client has %d tools and the result %+v", len(tools), res)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "written by an agent\n" {
			t.Errorf("the file holds %q (%v)", b, err)
		}
	})
	t.Run("denied, it is not, and the model can read why", func(t *testing.T) {
		p, path, r := ask(t, "denied.txt")
		s.must("deny", r.ID, "--reason", "not in this folder")
		_, res := toolResult(t, p.output())
		if !res.IsError || len(res.Content) != 1 || !strings.Contains(res.Content[0].Text, "not in this folder") {
			t.Errorf("the client got %+v", res)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file was written")
		}
	})
	t.Run("harmless calls pass unasked", func(t *testing.T) {
		out := node(t, nil, "mcp.mjs", "http://"+s.agents+"/mcp/files", "list_directory", `{"path":`+quoted(folder)+`}`).output()
		if _, res := toolResult(t, out); res.IsError || !strings.Contains(res.Content[0].Text, "approved.txt") {
			t.Errorf("the client got %+v", res)
		}
	})
}

// A mcpResult is the result of a tool as mcp.mjs prints it.
type mcpResult struct {
	IsError bool
	Content []struct{ Text string }
	Meta    map[string]struct{ Message string } `json:"_meta"`
}

func toolResult(t *testing.T, out string) ([]string, mcpResult) {
	t.Helper()
	r := parse[struct {
		Tools  []string
		Result mcpResult
	}](t, out)
	return r.Tools, r.Result
}
