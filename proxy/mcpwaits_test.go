package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

// unwaited waits until no connection of an MCP client's waits.
func unwaited(g *proxytest.Sidecar) {
	g.T.Helper()
	proxytest.Await(g.T, "the end of a wait", func() (bool, any) { return g.Server.MCP().Idle(), nil })
}

func TestACancelledCallIsWithdrawnAndCanBePickedUp(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json, text/event-stream", "application/json"} {
		t.Run(accept, func(t *testing.T) {
			g, seen := proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
				proxytest.MCPJSON(200, proxytest.ToolResult)(w, r)
			})
			h := proxytest.SessionHeader("s1")
			h.Set("Accept", accept)
			got := make(chan string, 1)
			go func() {
				b, err := io.ReadAll(g.Call(t.Context(), proxytest.ToolCall("1", "gated"), h).Body)
				if err != nil {
					b = []byte(err.Error())
				}
				got <- string(b)
			}()
			req := g.Pending(1)[0]
			// The word of another session, or about another id, is not about this one.
			for _, other := range []struct{ session, id string }{{"s2", "1"}, {"s1", "2"}, {"s1", `"1"`}, {"", "1"}} {
				if resp := g.Call(t.Context(), proxytest.Cancelled(other.id), proxytest.SessionHeader(other.session)); resp.StatusCode/100 != 2 {
					t.Errorf("status %d", resp.StatusCode)
				}
			}
			if n := len(seen.All()); n != 4 {
				t.Fatalf("the server heard of %d cancellations that are its own, want 4", n)
			}
			if resp := g.Call(t.Context(), proxytest.Cancelled("1"), h); resp.StatusCode != 202 {
				t.Errorf("status %d", resp.StatusCode)
			}
			if text := <-got; strings.Contains(text, "result") || strings.Contains(text, "error") {
				t.Errorf("an answer came to a request that was cancelled: %s", text)
			}
			if n := len(seen.All()); n != 4 {
				t.Errorf("the server heard of what it never was asked: %q", seen.All()[4:])
			}
			g.Decide(req, holdgate.AnswerApprove, "") // it stayed
			if text := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("2", "gated"), h).Body); !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
			if asked, used := len(g.Entries(audit.TypeOutcome)), len(g.Entries(audit.TypeUsed)); asked != 1 || used != 1 {
				t.Errorf("asked %d times, used %d times", asked, used)
			}
			g.Verified()
		})
	}
}

func TestACallOfTheOlderTransportIsWithdrawn(t *testing.T) {
	t.Parallel()
	g, o, _ := proxytest.NewOldMCP(t, proxytest.WithIdle(15*time.Millisecond))
	stream, endpoint := g.OpenStream(t.Context(), g.Client, g.URL+"/mcp/old")
	g.SendMessage(g.Client, endpoint, proxytest.ToolCall("3", "gated"))
	proxytest.Until(t, stream, `"progressToken":"p1","progress":2,`)
	req := g.Pending(1)[0]
	if status, _ := g.SendMessage(g.Client, endpoint, proxytest.Cancelled("3")); status != 202 {
		t.Errorf("status %d", status)
	}
	unwaited(g)
	g.Decide(req, holdgate.AnswerApprove, "")
	g.SendMessage(g.Client, endpoint, proxytest.ToolCall("4", "gated"))
	if text := proxytest.Until(t, stream, `"done"`); strings.Contains(text, `"id":3`) {
		t.Errorf("an answer came to a request that was cancelled: %s", text)
	}
	if got := o.Seen.All(); len(got) != 1 || got[0] != proxytest.ToolCall("4", "gated") {
		t.Errorf("the server got %q", got)
	}
}

// A client is known by what it calls itself, in each way in which it says so.
func TestHTTPClientsAreKeptWaitingAsLongAsTheyWere(t *testing.T) {
	t.Parallel()
	const modern = `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"1"},`
	hello := func(name string) string {
		return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"` + name + `"}}}`
	}
	for _, tt := range []struct {
		name, hello, session, call string
		waits                      bool
	}{
		{"progress keeps it", hello("claude-code"), "s1", proxytest.ToolCall("1", "gated"), true},
		{"it waits long by itself", hello("codex-mcp-client"), "s1", proxytest.ToolCall("1", "gated"), true},
		{"an official SDK", hello("some agent"), "s1", proxytest.ToolCall("1", "gated"), false},
		{"one that the configuration names", hello("mine"), "s1", proxytest.ToolCall("1", "gated"), true},
		{"the same without progress", hello("mine"), "s1", strings.Replace(proxytest.ToolCall("1", "gated"), "progressToken", "other", 1), false},
		{"the session of another", hello("claude-code"), "s2", proxytest.ToolCall("1", "gated"), false},
		{"it says so with each message", "", "", strings.Replace(proxytest.ToolCall("1", "gated"), `"_meta":{`, modern, 1), true},
		{"nobody knows it", "", "", proxytest.ToolCall("1", "gated"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, _ := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult), proxytest.WithMCPBudget(time.Nanosecond), func(c *proxy.Config) { c.Relay.ProgressClients = []string{"mine"} })
			if tt.hello != "" {
				g.Call(t.Context(), tt.hello, nil)
			}
			resp := g.Call(t.Context(), tt.call, proxytest.SessionHeader(tt.session))
			if req := g.Pending(1)[0]; tt.waits {
				g.Decide(req, holdgate.AnswerDeny, "the end")
			}
			if text := proxytest.ReadAll(t, resp.Body); strings.Contains(text, "the end") != tt.waits {
				t.Errorf("got %s", text)
			}
		})
	}
	t.Run("in the older transport", func(t *testing.T) {
		g, _, _ := proxytest.NewOldMCP(t, proxytest.WithMCPBudget(time.Nanosecond))
		stream, endpoint := g.OpenStream(t.Context(), g.Client, g.URL+"/mcp/old")
		g.SendMessage(g.Client, endpoint, hello("claude-code"))
		g.SendMessage(g.Client, endpoint, proxytest.ToolCall("1", "gated"))
		g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "the end")
		proxytest.Until(t, stream, "the end")
	})
}

func TestProgressSaysWhoIsAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ approvers, says string }{
		{`{}`, `waits for a person to decide`},
		{`{"quorum": 2}`, `waits for 2 people to decide`},
		{`{"users": ["ann"], "roles": ["sre"]}`, `waits for ann or the role sre to decide`},
		{`{"roles": ["sre"], "quorum": 2}`, `waits for 2 people (the role sre) to decide`},
	} {
		g, _ := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult), proxytest.WithIdle(10*time.Millisecond), proxytest.WithPolicy(t, `package holdgate

decision := {"action": "hold", "rule": "test.hold", "hold": {"approvers": `+tt.approvers+`}} if input.tool
`))
		r := bufio.NewReader(g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil).Body)
		if req := g.Pending(1)[0]; !strings.Contains(proxytest.Until(t, r, "notifications/progress"), "request "+req.ID+" "+tt.says) {
			t.Errorf("%s: it does not say %q", tt.approvers, tt.says)
		}
	}
}

// Some clients give up long before the budget that Holdgate gives to those that it
// does not know (MCP_TOOL_TIMEOUT, 10 s), and call again: the person is asked once,
// and the call is run once, in whichever way they give up.
func TestAClientThatGivesUpEarlyIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"it says so and leaves", "it says so", "it leaves"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, strings.Replace(proxytest.ToolResult, `"id":1`, `"id":9`, 1)))
			for id := range 4 {
				ctx, leave := context.WithCancel(t.Context())
				resp := g.Call(ctx, proxytest.ToolCall(fmt.Sprint(id), "gated"), proxytest.SessionHeader("s1"))
				g.Pending(1)
				if way != "it leaves" {
					if r := g.Call(t.Context(), proxytest.Cancelled(fmt.Sprint(id)), proxytest.SessionHeader("s1")); r.StatusCode != http.StatusAccepted {
						t.Errorf("status %d", r.StatusCode)
					}
				}
				if way == "it says so" {
					proxytest.ReadAll(t, resp.Body)
				}
				leave()
				unwaited(g)
			}
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			if text := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("9", "gated"), proxytest.SessionHeader("s1")).Body); !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
			if asked, used := len(g.Entries(audit.TypeOutcome)), len(g.Entries(audit.TypeUsed)); asked != 1 || used != 1 || len(seen.All()) != 1 {
				t.Errorf("asked %d times, used %d times, run %d times", asked, used, len(seen.All()))
			}
			g.Verified()
		})
	}
}
