package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	acpsdk "github.com/coder/acp-go-sdk"
)

// acpPolicy decides by words in the arguments.
const acpPolicy = `package holdgate

import rego.v1

said := json.marshal(object.get(input, ["tool", "arguments"], {}))

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.deny", "reason": "never that"} if {
	contains(said, "forbidden")
} else := {"action": "hold", "rule": "test.risky", "reason": "it is risky", "risk": "high"} if {
	contains(said, "risky")
} else := {"action": "hold", "rule": "test.two", "reason": "two of you", "risk": "medium", "hold": {"approvers": {"quorum": 2}}} if {
	contains(said, "quorum")
} else := {"action": "allow", "rule": "test.answered"} if {
	contains(said, "gated")
	count(object.get(input, "answers", [])) > 0
} else := {"action": "hold", "rule": "test.hold", "reason": "somebody should look", "risk": "medium"} if {
	contains(said, "gated")
}
`

// A looped is an editor whose agent is cat: what it writes comes back as the agent's own
// words, and so does what Holdgate answers the agent.
type looped struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	p   *process

	ended []string // what was said of questions that are over
}

func loop(t *testing.T, s *sidecar) *looped {
	t.Helper()
	l := &looped{t: t}
	l.p = start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, binary, "acp", "--", "cat")
		cmd.Env = append(environment(), "HOLDGATE_STATE_DIR="+s.dir)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close(); _ = r.Close() })
		cmd.Stdout, l.in, l.out = w, in, bufio.NewReader(r)
		return cmd
	})
	return l
}

func (l *looped) write(line string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

func (l *looped) read() string {
	l.t.Helper()
	line, err := l.out.ReadString('\n')
	if err != nil {
		l.t.Fatalf("reading: %v\n%s", err, l.p.stderr.String())
	}
	if strings.Contains(line, `"tool_call_update","toolCallId":"holdgate-`) {
		l.ended = append(l.ended, line)
		return l.read()
	}
	return strings.TrimSuffix(line, "\n")
}

// expect reads lines, each of which must hold the words in order.
func (l *looped) expect(lines ...string) (last string) {
	l.t.Helper()
	for _, words := range lines {
		last = l.read()
		for word := range strings.SplitSeq(words, " … ") {
			if !strings.Contains(last, word) {
				l.t.Errorf("read %s\nwhich has no %s", last, word)
			}
		}
	}
	return last
}

// question reads what the editor is asked about a held call, and answers it.
func (l *looped) question() (id string, options []string) {
	l.t.Helper()
	var q struct {
		ID     string
		Params struct{ Options []struct{ OptionID string } }
	}
	if err := json.Unmarshal([]byte(l.expect(`"method":"session/request_permission" … "id":"holdgate-`)), &q); err != nil {
		l.t.Fatal(err)
	}
	for _, o := range q.Params.Options {
		options = append(options, o.OptionID)
	}
	return q.ID, options
}

func (l *looped) choose(id, option string) {
	l.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, id, option))
}

func writes(id int, path, content string) string {
	return fmt.Sprintf(`{ "jsonrpc":"2.0", "id":%d,"method":"fs/write_text_file" ,"params":{"sessionId":"s1","path":%q,"content":%q}}`, id, path, content)
}

func permission(id int, path, content string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t%d","title":"Write it","kind":"edit",`+
		`"content":[{"type":"diff","path":%q,"newText":%q}]},"options":[{"optionId":"ever","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}`,
		id, id, path, content)
}

func TestWhatAnAgentAsksItsEditorForIsDecided(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--policy", write(t, "acp.rego", acpPolicy))
	t.Run("what asks for nothing passes byte for byte", func(t *testing.T) {
		l := loop(t, s)
		for _, line := range []string{`{"jsonrpc":"2.0" , "method":"session/update","params":{"x":1.0e2,"sessionId":"s1"}}`, ``, `{"jsonrpc":"2.0","id":"a\u0062","result":{}}` + "\r",
			`{"jsonrpc":"2.0","id":7,"method":"_acme.example/x","params":{"b":[]}}`, writes(1, "/w/plain", "x")} {
			l.write(line)
			if got := l.read(); got != line {
				t.Errorf("%q became %q", line, got)
			}
		}
		_ = l.in.Close()
		if r := l.p.end(); r.code != 0 {
			t.Errorf("it ended with %v", r)
		}
	})
	t.Run("what policy denies is not asked of the editor, and both are told", func(t *testing.T) {
		l := loop(t, s)
		l.write(writes(1, "/w/forbidden", "x"))
		told := []string{l.read(), l.read()}
		slices.SortFunc(told, func(a, b string) int { return strings.Compare(b, a) })
		all := strings.Join(told, "\n")
		if !strings.Contains(all, `"error":{"code":-31000`) || !strings.Contains(all, "agent_message_chunk") || strings.Count(all, "never that") != 2 {
			t.Errorf("told: %s", all)
		}
		l.write(permission(2, "/w/forbidden", "x"))
		all = l.read() + l.read()
		if !strings.Contains(all, `"optionId":"no"`) || strings.Contains(all, `"once"`) {
			t.Errorf("told: %s", all)
		}
	})
	t.Run("what policy allows of permissions is allowed once", func(t *testing.T) {
		l := loop(t, s)
		l.write(permission(1, "/w/plain", "x"))
		l.expect(`"id":1 … "outcome":{"outcome":"selected","optionId":"once"}`)
	})
	t.Run("approved in the queue, it goes on as it was, and is asked once", func(t *testing.T) {
		l := loop(t, s)
		l.write(permission(1, "/w/gated-a", "x"))
		id, options := l.question()
		if !slices.Equal(options, []string{"holdgate-allow", "holdgate-reject"}) {
			t.Errorf("options: %v", options)
		}
		s.answer(s.held("gated-a").ID, "approve")
		l.expect(`"$/cancel_request" … `+id, `"optionId":"once"`)
		line := writes(2, "/w/gated-a", "x")
		l.write(line)
		if got := l.read(); got != line {
			t.Errorf("it became %s", got)
		}
		line = writes(3, "/w/gated-a", "x") // once is once
		l.write(line)
		id, _ = l.question()
		s.answer(s.held("gated-a").ID, "approve")
		l.expect(`"$/cancel_request" … ` + id)
		if got := l.read(); got != line {
			t.Errorf("it became %s", got)
		}
	})
	t.Run("edited, the edited file is written", func(t *testing.T) {
		l := loop(t, s)
		l.write(writes(1, "/w/gated-b", "x"))
		l.question()
		r := s.held("gated-b")
		s.must("edit", r.ID, "--digest", r.Call.Digest, "--yes", "--set", "content=by a person")
		l.expect(`"$/cancel_request"`, `agent_message_chunk … other arguments`, `"method":"fs/write_text_file" … "content":"by a person" … "sessionId":"s1"`)
	})
	t.Run("allowed and rejected in the editor", func(t *testing.T) {
		l := loop(t, s)
		line := writes(1, "/w/gated-c", "x")
		l.write(line)
		id, _ := l.question()
		r := s.held("gated-c")
		l.choose(id, "holdgate-allow")
		if got := l.read(); got != line {
			t.Errorf("it became %s", got)
		}
		if len(l.ended) != 1 || !strings.Contains(l.ended[0], id) || !strings.Contains(l.ended[0], `"completed"`) {
			t.Errorf("of the question that is over the editor is told %q", l.ended)
		}
		if votes := s.must("show", r.ID, "--json"); !strings.Contains(votes, `"assurance": "text"`) || !strings.Contains(votes, `"channel": "editor"`) {
			t.Errorf("the vote: %s", votes)
		}
		l.write(writes(2, "/w/gated-d", "x"))
		id, _ = l.question()
		l.choose(id, "holdgate-reject")
		if all := l.read() + l.read(); !strings.Contains(all, `"id":2,"error"`) {
			t.Errorf("told: %s", all)
		}
	})
	t.Run("what is risky, or for two, can only be rejected there", func(t *testing.T) {
		for _, word := range []string{"risky", "quorum"} {
			l := loop(t, s)
			l.write(writes(1, "/w/"+word+"-e", "x"))
			id, options := l.question()
			if !slices.Equal(options, []string{"holdgate-reject"}) {
				t.Errorf("options: %v", options)
			}
			l.choose(id, "holdgate-allow") // although it was not offered
			l.expect("does not count")
			if len(s.pending()) != 1 {
				t.Error("it no longer waits")
			}
			l.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
			l.expect(`session/cancel`, `"id":1,"error":{"code":-32800`)
			until(t, "the question being taken back", func() bool { return len(s.pending()) == 0 })
		}
	})
	t.Run("what two readers take for two things is refused", func(t *testing.T) {
		l := loop(t, s)
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"x","method":"fs/write_text_file","params":{"sessionId":"s1"}}`,
			`{"jsonrpc":"2.0","id":2,"Method":"fs/write_text_file","method":"x","params":{"sessionId":"s1"}}`,
		} {
			l.write(line) // which the editor's own end refuses, and says so
			l.expect(`"error":{"code":-32600`)
		}
		l.write(`{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{"sessionId":"s1","Path":"/w/a","path":"/w/b","content":""}}`)
		l.expect(`"id":3,"error":{"code":-32600 … differ only in case`)
		l.write(`{"jsonrpc":"2.0","id":4,"method":"mcp/message","params":{"method":"tools/call"}}`)
		l.expect(`"id":4,"error":{"code":-31000 … MCP inside of ACP`)
	})
}

// An editorClient is an editor made with the protocol's Go SDK.
type editorClient struct {
	acpsdk.Client
	answer func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome

	mu    sync.Mutex
	words strings.Builder
}

func (c *editorClient) RequestPermission(_ context.Context, p acpsdk.RequestPermissionRequest) (acpsdk.RequestPermissionResponse, error) {
	return acpsdk.RequestPermissionResponse{Outcome: c.answer(p)}, nil
}

func (c *editorClient) SessionUpdate(_ context.Context, n acpsdk.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if chunk := n.Update.AgentMessageChunk; chunk != nil && chunk.Content.Text != nil {
		c.words.WriteString(chunk.Content.Text.Text)
	}
	return nil
}

func (c *editorClient) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.words.String()
}

// A real agent that speaks the protocol, with a real client of it.
func TestGeminiBehindAnEditor(t *testing.T) {
	program := filepath.Join(clientsDir(t), "node_modules", ".bin", "gemini")
	t.Parallel()
	model := newProvider(t)
	dir, whole := stateDir(t), t
	policy := write(t, "acp.rego", acpPolicy)
	s := serveIn(t, dir, nil, "--policy", policy)
	// prompt has the agent told to delete a folder, and returns how the turn ended.
	prompt := func(t *testing.T, marker string, answer func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome) (*editorClient, string, <-chan error) {
		home, project := t.TempDir(), t.TempDir()
		data := filepath.Join(project, "data-"+marker)
		if err := os.Mkdir(data, 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(home, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}`)
		editor := &editorClient{answer: answer}
		var in io.WriteCloser
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close(); _ = r.Close() })
		start(t, func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, binary, "acp", "--", program, "--acp", "--model", "gemini-test")
			cmd.Dir, cmd.Stdout = project, w
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NO_COLOR=1", "HOLDGATE_STATE_DIR=" + dir, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=" + model.URL, "GEMINI_CLI_TRUST_WORKSPACE=true"}
			if in, err = cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			return cmd
		})
		conn := acpsdk.NewClientSideConnection(editor, in, r)
		if _, err := conn.Initialize(t.Context(), acpsdk.InitializeRequest{ProtocolVersion: acpsdk.ProtocolVersionNumber}); err != nil {
			t.Fatal(err)
		}
		session, err := conn.NewSession(t.Context(), acpsdk.NewSessionRequest{Cwd: project, McpServers: []acpsdk.McpServer{}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := conn.Prompt(context.WithoutCancel(t.Context()), acpsdk.PromptRequest{SessionId: session.SessionId, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock("run: rm -rf data-" + marker)}})
			ended <- err
		}()
		return editor, data, ended
	}
	never := func(t *testing.T) func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome {
		return func(p acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome {
			t.Errorf("the editor was asked: %+v", p)
			return acpsdk.RequestPermissionOutcome{Cancelled: &acpsdk.RequestPermissionOutcomeCancelled{}}
		}
	}
	choose := func(id string) func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome {
		return func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome {
			return acpsdk.RequestPermissionOutcome{Selected: &acpsdk.RequestPermissionOutcomeSelected{OptionId: acpsdk.PermissionOptionId(id)}}
		}
	}
	waits := func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome { select {} }
	for _, c := range []struct {
		marker string
		gone   bool
		answer func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome
		queue  []string
		says   string
	}{
		{"allowed", true, never(t), nil, ""},
		{"forbidden", false, never(t), nil, "never that"},
		{"gated-approved", true, waits, []string{"approve"}, ""},
		{"gated-denied", false, waits, []string{"deny", "--reason", "the data is still needed"}, "the data is still needed"},
		{"gated-allowed-here", true, choose("holdgate-allow"), nil, ""},
		{"gated-rejected-here", false, choose("holdgate-reject"), nil, "rejected in the editor"},
	} {
		t.Run(c.marker, func(t *testing.T) {
			editor, data, ended := prompt(t, c.marker, c.answer)
			if c.queue != nil {
				s.answer(s.held(c.marker).ID, c.queue...)
			}
			if err := <-ended; err != nil {
				t.Errorf("the turn ended with %v", err)
			}
			if _, err := os.Stat(data); (err != nil) != c.gone {
				t.Errorf("the folder is gone: %v", err != nil)
			}
			if !strings.Contains(editor.said(), c.says) {
				t.Errorf("the editor shows %q", editor.said())
			}
		})
	}
	t.Run("approved by the next sidecar", func(t *testing.T) {
		_, data, ended := prompt(t, "gated-killed", waits)
		r := s.held("gated-killed")
		s.kill()
		s = serveIn(whole, dir, nil, "--policy", policy)
		s.answer(r.ID, "approve")
		if err := <-ended; err != nil {
			t.Errorf("the turn ended with %v", err)
		}
		if _, err := os.Stat(data); err == nil {
			t.Error("the folder is there")
		}
	})
	t.Run("without a sidecar nothing is run", func(t *testing.T) {
		editor, data, ended := prompt(t, "gated-alone", waits)
		s.held("gated-alone")
		s.kill()
		if err := <-ended; err != nil {
			t.Errorf("the turn ended with %v", err)
		}
		if _, err := os.Stat(data); err != nil || !strings.Contains(editor.said(), "cannot be reached") {
			t.Errorf("the folder: %v; the editor shows %q", err, editor.said())
		}
	})
}
