package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A taskMessage is a line that mcp-tasks.mjs prints.
type taskMessage struct {
	Type string
	Task struct {
		TaskID, Status, StatusMessage string
	}
	Result  mcpResult
	Tasks   []string
	Message string
}

// taskMessages are all that came of a call, with the last task and the result.
func taskMessages(t *testing.T, out string) (all []taskMessage, last, result taskMessage) {
	t.Helper()
	for line := range strings.Lines(out) {
		var m taskMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, m)
		switch m.Type {
		case "taskStatus":
			last = m
		case "result":
			result = m
		}
	}
	return all, last, result
}

// tasksSidecar serves mcp-tasks-server.mjs, both of whose tools are asked about.
func tasksSidecar(t *testing.T) (s *sidecar, url, ran string) {
	t.Helper()
	clientsDir(t)
	ran = filepath.Join(t.TempDir(), "ran.txt")
	settings := "settings:\n  tools: {later/note: ask, later/later: ask, files/write_file: ask}\n"
	s = serve(t, nil, "--config", write(t, "holdgate.yaml", "holds: {mcp_progress: [test]}\n"), "--mcp", "later="+nodeServer(t, "mcp-tasks-server.mjs", ran), "--policy", write(t, "settings.yaml", settings))
	return s, "http://" + s.agents + "/mcp/later", ran
}

// The official client asks for a task, and does not notice whose it is.
func TestAHeldCallIsATaskForTheOfficialClient(t *testing.T) {
	t.Parallel()
	s, url, ran := tasksSidecar(t)
	for _, tt := range []struct {
		name, arguments, answer string
		says, wrote             string
	}{
		{"approved", `{"line":"one"}`, "approve", "wrote one", "later one\n"},
		{"it asks its client", `{"line":"two","ask":true}`, "approve", "wrote two for ann", "later one\nlater two for ann\n"},
		{"denied", `{"line":"three"}`, "deny", "not today", "later one\nlater two for ann\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := node(t, nil, "mcp-tasks.mjs", url, "later", tt.arguments)
			r := s.held(strings.Split(tt.arguments, `"`)[3])
			if tt.answer == "approve" {
				s.answer(r.ID, "approve")
			} else {
				s.must("deny", r.ID, "--reason", tt.says)
			}
			all, last, result := taskMessages(t, p.output())
			if all[0].Type != "taskCreated" || !strings.HasPrefix(all[0].Task.TaskID, "holdgate-") || last.Task.TaskID != all[0].Task.TaskID {
				t.Errorf("the client got %+v", all)
			}
			if result.Result.IsError != (tt.answer == "deny") || len(result.Result.Content) != 1 || !strings.Contains(result.Result.Content[0].Text, tt.says) {
				t.Errorf("the result is %+v of %+v", result, all)
			}
			if list, again := all[len(all)-2], all[len(all)-1]; len(list.Tasks) != 1 || list.Tasks[0] != all[0].Task.TaskID || again.Result.Content[0] != result.Result.Content[0] {
				t.Errorf("afterwards the client has %+v and gets %+v", list, again)
			}
			if b, err := os.ReadFile(ran); err != nil || string(b) != tt.wrote {
				t.Errorf("the server has written %q (%v)", b, err)
			}
		})
	}
}

// Over standard streams it is the same, also where the sidecar is another one when
// people decide.
func TestAHeldCallOverStdioIsATaskForTheOfficialClient(t *testing.T) {
	scripts := clientsDir(t)
	t.Parallel()
	whole, dir, ran := t, stateDir(t), filepath.Join(t.TempDir(), "ran.txt")
	settings := write(t, "settings.yaml", "settings:\n  tools: {later/note: ask, later/later: ask}\n")
	s := serveIn(t, dir, nil, "--policy", settings)
	for _, tt := range []struct {
		name, tool, arguments string
		approve, restart      bool
		says, wrote           string
	}{
		{"approved", "later", `{"line":"one"}`, true, false, "wrote one", "later one\n"},
		{"denied", "later", `{"line":"two"}`, false, false, "not today", "later one\n"},
		{"approved after a restart", "later", `{"line":"three"}`, true, true, "wrote three", "later one\nlater three\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := node(t, []string{"HOLDGATE_STATE_DIR=" + dir}, "mcp-tasks.mjs", "stdio", tt.tool, tt.arguments,
				binary, "mcp", "--name", "later", "--", "node", filepath.Join(scripts, "mcp-tasks-server.mjs"), ran, "stdio")
			r := s.held(strings.Split(tt.arguments, `"`)[3])
			if tt.restart {
				s.kill()
				s = serveIn(whole, dir, nil, "--policy", settings)
			}
			if tt.approve {
				s.answer(r.ID, "approve")
			} else {
				s.must("deny", r.ID, "--reason", tt.says)
			}
			all, last, result := taskMessages(t, p.output())
			if all[0].Type != "taskCreated" || !strings.HasPrefix(all[0].Task.TaskID, "holdgate-") || last.Task.TaskID != all[0].Task.TaskID {
				t.Errorf("the client got %+v", all)
			}
			if result.Result.IsError == tt.approve || len(result.Result.Content) != 1 || !strings.Contains(result.Result.Content[0].Text, tt.says) {
				t.Errorf("the result is %+v of %+v", result, all)
			}
			if again := all[len(all)-1]; again.Result.Content[0] != result.Result.Content[0] {
				t.Errorf("afterwards the client gets %+v", again)
			}
			if b, err := os.ReadFile(ran); err != nil || string(b) != tt.wrote {
				t.Errorf("the server has written %q (%v)", b, err)
			}
		})
	}
}

// Held for longer than the official client waits by default (60 s), a call gets to
// its end in each of the ways that the protocol has: asked once, run once.
func TestMCPLongHold(t *testing.T) {
	hold := longHold()
	if hold == 0 {
		t.Skip("HOLDGATE_HOLD is not set, so no call was held for long. HOLDGATE_HOLD=70s holds calls for longer than the official MCP client waits.")
	}
	s, url, ran := tasksSidecar(t)
	folder := t.TempDir()
	ways := []struct {
		name, needle string
		p            *process
	}{
		{name: "progress", needle: "line-progress", p: node(t, nil, "mcp.mjs", url, "note", `{"line":"line-progress"}`, "60000")},
		{name: "a task", needle: "line-task", p: node(t, nil, "mcp-tasks.mjs", url, "later", `{"line":"line-task"}`)},
		{name: "the same call again", needle: "line-again", p: node(t, nil, "mcp.mjs", url, "note", `{"line":"line-again"}`, "again")},
		{name: "the same call again, over stdio", needle: "again.txt", p: node(t, []string{"HOLDGATE_STATE_DIR=" + s.dir}, "mcp-stdio.mjs", "call", "write_file",
			`{"path":`+quoted(filepath.Join(folder, "again.txt"))+`,"content":"once"}`, binary, "mcp", "--name", "files", "--", "node", "FILESYSTEM", folder)},
	}
	held := make([]request, len(ways))
	for i, w := range ways {
		held[i] = s.held(w.needle)
	}
	time.Sleep(hold) // what is tested is time itself, of programs that know no other
	for i, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			if !w.p.running() {
				t.Fatalf("it did not wait: %v\n%s\n%s", w.p.end(), &w.p.stdout, &w.p.stderr)
			}
			waited := time.Since(held[i].CreatedAt).Round(time.Second)
			s.answer(held[i].ID, "approve")
			out := w.p.output()
			if !strings.Contains(out, "rote") || strings.Contains(out, `"isError":true`) {
				t.Errorf("it printed %s", out)
			}
			if n := strings.Count(s.must("audit", "query", "--type", "outcome", "--json"), held[i].ID); n != 1 {
				t.Errorf("the log has %d outcomes of it", n)
			}
			if b, err := os.ReadFile(ran); strings.HasPrefix(w.needle, "line") && (err != nil || strings.Count(string(b), w.needle) != 1) {
				t.Errorf("the server has written %q (%v)", b, err)
			}
			t.Logf("held %v, and then: %.300s", waited, out[max(0, len(out)-300):])
		})
	}
	if n := len(s.pending()); n != 0 {
		t.Errorf("%d requests are left: something was asked twice", n)
	}
}
