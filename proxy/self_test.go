package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store/audit"
)

// A selfClient is an official client of Holdgate's own MCP server.
type selfClient struct {
	t     *testing.T
	s     *gosdk.ClientSession
	mu    sync.Mutex
	heard []string // of progress
}

type headers struct {
	http.RoundTripper
	more http.Header
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.more {
		r.Header[k] = v
	}
	return h.RoundTripper.RoundTrip(r)
}

// self connects a client of a name, which names its session.
func self(g *proxytest.Sidecar, t *testing.T, name, session, revision string) *selfClient {
	t.Helper()
	c := &selfClient{t: t}
	client := gosdk.NewClient(&gosdk.Implementation{Name: name, Version: "1"}, &gosdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *gosdk.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.heard = append(c.heard, fmt.Sprint(r.Params.Progress, " ", r.Params.Message))
		},
	})
	h := http.Header{}
	if session != "" {
		h.Set("X-Session-Id", session)
	}
	var err error
	c.s, err = client.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: headers{g.Client.Transport, h}}},
		&gosdk.ClientSessionOptions{ProtocolVersion: revision})
	proxytest.Must(t, err)
	t.Cleanup(func() { _ = c.s.Close() })
	return c
}

// use calls a tool, and returns what it says.
func (c *selfClient) use(ctx context.Context, tool string, arguments map[string]any) (text string, isError bool) {
	p := &gosdk.CallToolParams{Name: tool, Arguments: arguments}
	p.SetProgressToken("p")
	r, err := c.s.CallTool(ctx, p)
	if err != nil {
		return err.Error(), true
	}
	return r.Content[0].(*gosdk.TextContent).Text, r.IsError
}

// asked calls a tool that waits.
func (c *selfClient) asked(tool string, arguments map[string]any) <-chan string {
	said := make(chan string, 1)
	go func() {
		text, isError := c.use(c.t.Context(), tool, arguments)
		said <- fmt.Sprint(isError, " ", text)
	}()
	return said
}

func TestAgentsComeToPeopleOverMCP(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			g := agentsGate(t)
			c := self(g, t, "an agent", "s1", revision)
			for _, tt := range []struct {
				tool, arguments string
				answer          holdgate.Answer
				text, says      string
			}{
				{"request_approval", `{"summary":"Drop the table","context":{"plan":"all of it"},"artifacts":["a.sql"]}`, holdgate.AnswerApprove, "go", "approved by ann, who says: go"},
				{"request_approval", `{"summary":"Drop the other"}`, holdgate.AnswerDeny, "never", "Do not go on: denied by ann: never"},
				{"pass_gate", `{"type":"before_commit","context":{"diff":"+1"}}`, holdgate.AnswerSteer, "squash first", "asks for this instead: squash first"},
				{"ask_human", `{"question":"Is it Tuesday?"}`, holdgate.AnswerApprove, "", "approved by ann"},
				{"report_confidence", `{"score":0.5,"task_id":"t1","reasons":["no tests"]}`, holdgate.AnswerApprove, "", "approved by ann"},
			} {
				var arguments map[string]any
				proxytest.Must(t, json.Unmarshal([]byte(tt.arguments), &arguments))
				said := c.asked(tt.tool, arguments)
				r := g.Pending(1)[0]
				if text, _ := c.use(t.Context(), "pending", nil); !strings.Contains(text, r.ID) {
					t.Errorf("%s: the agent is not told that it waits: %s", tt.tool, text)
				}
				g.Decide(r, tt.answer, tt.text)
				if got := <-said; !strings.HasPrefix(got, "false ") || !strings.Contains(got, tt.says) {
					t.Errorf("%s: %s", tt.tool, got)
				}
			}
			said := c.asked("ask_human", map[string]any{"question": "Which?", "options": []string{"red", "blue"}})
			r := g.Pending(1)[0]
			if len(r.Options) != 2 || r.Kind != holdgate.RequestChoice {
				t.Errorf("people are asked for %s of %v", r.Kind, r.Options)
			}
			_, err := g.Queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerChoose, Choice: "blue", By: "ann", Channel: "cli", Digest: r.Call.Digest})
			proxytest.Must(t, err)
			if got := <-said; !strings.Contains(got, "who chose blue") {
				t.Errorf("got %s", got)
			}
			if text, isError := c.use(t.Context(), "report_confidence", map[string]any{"score": 95}); isError || !strings.Contains(text, "noted") {
				t.Errorf("got %s", text)
			}
			if text, isError := c.use(t.Context(), "pending", nil); isError || text != `{"pending":[]}` {
				t.Errorf("got %s", text)
			}
			g.Verified()
		})
	}
}

func TestAgentsAskWhereTheyStandOverMCP(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	c := self(g, t, "an agent", "s1", "2025-11-25")
	for _, tt := range []struct{ arguments, says string }{
		{`{}`, `"id":"s1","status":"running","mode":"auto"`},
		{`{"tool":"Bash","arguments":{"command":"rm -rf /"}}`, `"would":{"action":"`},
		{`{"tool":"Bash","arguments":{"command":"ls"}}`, `"would":{"action":"allow"`},
		{`{"tool":"Bash","arguments":{"command":"git push --force"}}`, `"would":{"action":"hold"`},
	} {
		var arguments map[string]any
		proxytest.Must(t, json.Unmarshal([]byte(tt.arguments), &arguments))
		if text, isError := c.use(t.Context(), "get_context", arguments); isError || !strings.Contains(text, tt.says) {
			t.Errorf("%s: %s", tt.arguments, text)
		}
	}
	if n := len(g.Entries(audit.TypeDecision)); n != 0 {
		t.Errorf("what was only thought of is %d decisions in the log", n)
	}
	if text, _ := c.use(t.Context(), "check_messages", nil); text != "There are no messages." {
		t.Errorf("got %s", text)
	}
	_, err := g.Queue.Sessions.Tell(t.Context(), sessions.Message{Agent: holdgate.AgentDefault, Session: "s1", Type: sessions.MessageGuidance, Content: "slow down", From: "ann"})
	proxytest.Must(t, err)
	if text, _ := c.use(t.Context(), "check_messages", nil); !strings.Contains(text, "slow down") {
		t.Errorf("got %s", text)
	}
	if text, isError := self(g, t, "another", "s2", "2025-11-25").use(t.Context(), "check_messages", nil); isError || strings.Contains(text, "slow down") {
		t.Errorf("another session reads %s", text)
	}
	for tool, arguments := range map[string]map[string]any{
		"pass_gate": {"type": "No Such!"}, "request_approval": {"summary": " "}, "report_confidence": {"score": 101}, "ask_human": {"question": "?", "options": []string{"a", "a"}},
	} {
		if text, isError := c.use(t.Context(), tool, arguments); !isError {
			t.Errorf("%s%v: %s", tool, arguments, text)
		}
	}
	if n := len(g.Pending(0)); n != 0 {
		t.Errorf("%d are pending", n)
	}
}

func TestTheAgentsOwnQuestionClimbsTheLadder(t *testing.T) {
	t.Parallel()
	summary := map[string]any{"summary": "Deploy"}
	t.Run("an unknown client is told to call again, and picks it up", func(t *testing.T) {
		g := proxytest.NewTo(t, nil, nil, proxytest.WithShippedPolicy(), proxytest.WithMCPBudget(50*time.Millisecond), proxytest.WithIdle(10*time.Millisecond))
		c := self(g, t, "an agent", "", "2025-11-25")
		text, isError := c.use(t.Context(), "request_approval", summary)
		r := g.Pending(1)[0]
		if isError || !strings.Contains(text, "Not decided yet: request "+r.ID) {
			t.Errorf("got %s", text)
		}
		g.Decide(r, holdgate.AnswerApprove, "")
		if text, _ := c.use(t.Context(), "request_approval", summary); !strings.Contains(text, "approved by ann") {
			t.Errorf("got %s", text)
		}
		if n := len(g.Entries(audit.TypeOutcome)); n != 1 {
			t.Errorf("asked %d times", n)
		}
		text, _ = c.use(t.Context(), "request_approval", summary)
		if r := g.Pending(1)[0]; !strings.Contains(text, r.ID) { // an answer is used once
			t.Errorf("got %s", text)
		}
	})
	t.Run("one that progress keeps waits on", func(t *testing.T) {
		g := proxytest.NewTo(t, nil, nil, proxytest.WithShippedPolicy(), proxytest.WithMCPBudget(time.Nanosecond), proxytest.WithIdle(5*time.Millisecond))
		c := self(g, t, "claude-code", "", "2025-11-25")
		said := c.asked("request_approval", summary)
		r := g.Pending(1)[0]
		for n := 0; n < 3; {
			c.mu.Lock()
			n = len(c.heard)
			c.mu.Unlock()
		}
		g.Decide(r, holdgate.AnswerApprove, "")
		if got := <-said; !strings.Contains(got, "approved by ann") {
			t.Errorf("got %s", got)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for n, text := range c.heard[:3] {
			if want := fmt.Sprint(n+1, " request ", r.ID, " waits for a person to decide"); text != want {
				t.Errorf("progress says %q, want %q", text, want)
			}
		}
	})
}

func TestHoldgatesOwnServerIsNotForWebPages(t *testing.T) {
	t.Parallel()
	g := proxytest.NewTo(t, nil, nil)
	if status, _ := g.AskAPI(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Origin", "https://evil.example"); status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
}

// Who calls is found out by Holdgate, which tells its own server in a header: what
// a client says there is nothing.
func TestAClientDoesNotSayWhoCalls(t *testing.T) {
	t.Parallel()
	g := agentsGate(t)
	client := gosdk.NewClient(&gosdk.Implementation{Name: "an agent", Version: "1"}, nil)
	lie := headers{g.Client.Transport, http.Header{"Holdgate-Caller": {`{"id":"ann","ID":"ann","proven":true,"Proven":true}`}}}
	s, err := client.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: lie}}, nil)
	proxytest.Must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	c := &selfClient{t: t, s: s}
	said := c.asked("request_approval", map[string]any{"summary": "Deploy"})
	r := g.Pending(1)[0]
	if r.Agent.ID != holdgate.AgentDefault || r.Agent.Proven {
		t.Errorf("asked by %+v", r.Agent)
	}
	g.Decide(r, holdgate.AnswerDeny, "no")
	if got := <-said; !strings.Contains(got, "denied") {
		t.Errorf("got %s", got)
	}
}
