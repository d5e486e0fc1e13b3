package e2e_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryFeatureOfAStdioServerWorksThroughHoldgate(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	s := serve(t, nil, "--policy", write(t, "all.rego", allowAll))
	env := []string{"HOLDGATE_STATE_DIR=" + s.dir}
	want := node(t, env, "mcp-stdio.mjs", "everything", "node", "EVERYTHING", "stdio").output()
	got := node(t, env, "mcp-stdio.mjs", "everything", binary, "mcp", "--", "node", "EVERYTHING", "stdio").output()
	if got != want || !strings.Contains(want, "sampled: ") || !strings.Contains(want, `["heard","heard"]`) {
		t.Errorf("through Holdgate:\n%s\nstraight:\n%s", got, want)
	}
	if n := strings.Count(s.must("audit", "query", "--json"), `"test.all"`); n < 20 {
		t.Errorf("policy was asked %d times", n)
	}
}

func TestAToolOfAStdioServerWaitsForAPerson(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	folder, settings := t.TempDir(), write(t, "settings.yaml", writesAreAsked)
	dir, whole := stateDir(t), t
	s := serveIn(t, dir, nil, "--policy", settings)
	ask := func(name string) (*process, string, request) {
		path := filepath.Join(folder, name)
		p := node(t, []string{"HOLDGATE_STATE_DIR=" + dir}, "mcp-stdio.mjs", "call", "write_file", `{"path":`+quoted(path)+`,"content":"by an agent\n"}`,
			binary, "mcp", "--name", "files", "--", "node", "FILESYSTEM", folder)
		r := s.held(name)
		if _, err := os.Stat(path); err == nil || !p.running() {
			t.Fatalf("the file was written before anybody was asked: %v", p.end())
		}
		return p, path, r
	}
	t.Run("approved by the next sidecar, the file is there", func(t *testing.T) {
		p, path, r := ask("approved.txt")
		s.kill()
		s = serveIn(whole, dir, nil, "--policy", settings)
		s.answer(r.ID, "approve")
		if _, res := toolResult(t, p.output()); res.IsError {
			t.Errorf("the client got %+v", res)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "by an agent\n" {
			t.Errorf("the file holds %q (%v)", b, err)
		}
	})
	t.Run("edited, the edited file is there and the agent knows", func(t *testing.T) {
		p, path, r := ask("edited.txt")
		s.must("edit", r.ID, "--digest", r.Call.Digest, "--yes", "--set", "content=by a person")
		if _, res := toolResult(t, p.output()); res.IsError || !strings.Contains(res.Meta["io.github.holdgate/approval"].Message, "other arguments") {
			t.Errorf("the client got %+v", res)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "by a person" {
			t.Errorf("the file holds %q (%v)", b, err)
		}
	})
	t.Run("steered, it is not, and the model can read why", func(t *testing.T) {
		p, path, r := ask("steered.txt")
		s.must("steer", r.ID, "write to the archive")
		if _, res := toolResult(t, p.output()); !res.IsError || !strings.Contains(res.Content[0].Text, "write to the archive") {
			t.Errorf("the client got %+v", res)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file was written")
		}
	})
}

// Clients start their servers all at once: where no sidecar runs one of them is
// it, and the others find it.
func TestStdioServersThatStartTogetherShareASidecar(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	type started struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
		log strings.Builder
	}
	all := make([]*started, 4)
	for i := range all {
		p := &started{cmd: exec.Command(binary, "mcp", "--", "cat")}
		p.cmd.Env, p.cmd.Dir, p.cmd.Stderr = append(environment(), "HOLDGATE_STATE_DIR="+dir), t.TempDir(), &p.log
		var err error
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.out = bufio.NewReader(out)
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.cmd.Process.Kill() })
		all[i] = p
	}
	const line = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for _, p := range all {
		if _, err := io.WriteString(p.in, line); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range all {
		if got, err := p.out.ReadString('\n'); got != line {
			t.Errorf("server %d: %q, %v\n%s", i, got, err, p.log.String())
		}
	}
	for _, p := range all {
		_ = p.in.Close()
	}
	for i, p := range all {
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("server %d: %v\n%s", i, err, p.log.String())
		}
	}
}
