package e2e_test

import (
	"strings"
	"testing"
	"time"
)

// An agent comes to a person by itself, with the official client and over both
// transports; the person answers by command.
func TestAnAgentAsksAPersonOverMCP(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	s := serve(t, nil)
	for _, tt := range []struct {
		name string
		use  func(tool, arguments string) *process
	}{
		{"Streamable HTTP", func(tool, arguments string) *process {
			return node(t, nil, "mcp.mjs", "http://"+s.agents+"/mcp", tool, arguments)
		}},
		{"standard streams", func(tool, arguments string) *process {
			return node(t, []string{"HOLDGATE_STATE_DIR=" + s.dir, "HOLDGATE_SESSION=work-2"}, "mcp-stdio.mjs", "call", tool, arguments, binary, "mcp", "--self")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.use("request_approval", `{"summary":"Drop the table of `+tt.name+`","context":{"plan":"all of it"}}`)
			r := s.held("Drop the table of " + tt.name)
			if tools, res := toolResult(t, tt.use("get_context", `{}`).output()); len(tools) != 7 || !strings.Contains(res.Content[0].Text, r.ID) {
				t.Errorf("the agent has the tools %v and stands at %+v", tools, res)
			}
			s.answer(r.ID, "approve", "--reason", "after lunch")
			if _, res := toolResult(t, p.output()); res.IsError || !strings.Contains(res.Content[0].Text, "after lunch") {
				t.Errorf("the agent is told %+v", res)
			}
			p = tt.use("ask_human", `{"question":"Which colour for `+tt.name+`?","options":["red","blue"]}`)
			s.answer(s.held("Which colour for "+tt.name).ID, "choose", "blue")
			if _, res := toolResult(t, p.output()); res.IsError || !strings.Contains(res.Content[0].Text, "blue") {
				t.Errorf("the agent is told %+v", res)
			}
			p = tt.use("pass_gate", `{"type":"before_commit","message":"Commit `+tt.name+`?"}`)
			s.must("steer", s.held("Commit "+tt.name).ID, "squash first")
			if _, res := toolResult(t, p.output()); !strings.Contains(res.Content[0].Text, "squash first") {
				t.Errorf("the agent is told %+v", res)
			}
			if _, res := toolResult(t, tt.use("report_confidence", `{"score":99}`).output()); res.IsError || len(res.Content) != 1 {
				t.Errorf("the agent is told %+v", res)
			}
			if _, res := toolResult(t, tt.use("request_approval", `{"summary":""}`).output()); !res.IsError || !strings.Contains(res.Content[0].Text, "summary") {
				t.Errorf("the agent is told %+v", res)
			}
		})
	}
}

// The official client's own timeout: progress resets it where the client wants
// that, and where Holdgate answers before it the same call again picks up the
// decision.
func TestAHeldToolCallOutlivesTheOfficialClientsTimeout(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	call := func(path string) string { return `{"path":` + quoted(path) + `,"content":"by an agent\n"}` }
	t.Run("by progress", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		s := serve(t, nil, "--mcp", "files="+filesystemServer(t, folder), "--policy", write(t, "settings.yaml", writesAreAsked))
		began := time.Now()
		p := node(t, nil, "mcp.mjs", "http://"+s.agents+"/mcp/files", "write_file", call(folder+"/a.txt"), "15000")
		r := s.held("a.txt")
		until(t, "the end of what the client waits without progress", func() bool { return time.Since(began) > 20*time.Second })
		s.answer(r.ID, "approve")
		if _, res := toolResult(t, p.output()); res.IsError {
			t.Errorf("the client got %+v", res)
		}
	})
	t.Run("by calling again", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		s := serve(t, nil, "--config", write(t, "holdgate.yaml", "holds: {mcp_wait: 1s}\n"), "--mcp", "files="+filesystemServer(t, folder), "--policy", write(t, "settings.yaml", writesAreAsked))
		p := node(t, nil, "mcp.mjs", "http://"+s.agents+"/mcp/files", "write_file", call(folder+"/b.txt"), "again")
		r := s.held("b.txt")
		began := time.Now()
		until(t, "the end of what the client is kept waiting", func() bool { return time.Since(began) > 4*time.Second })
		s.answer(r.ID, "approve")
		out := p.output()
		if _, res := toolResult(t, out); res.IsError {
			t.Errorf("the client got %+v", res)
		}
		if calls := parse[struct{ Calls int }](t, out).Calls; calls < 2 {
			t.Errorf("the client called %d times", calls)
		}
		if n := strings.Count(s.must("audit", "query", "--json"), `"type": "used"`); n != 1 {
			t.Errorf("the approval was used %d times", n)
		}
	})
}
