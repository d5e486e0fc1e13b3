package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"timed out"}}`
}

func inSession(id string) http.Header { return http.Header{"Mcp-Session-Id": {id}} }

// unwaited waits until no connection of an MCP client's waits.
func (g *sidecar) unwaited() {
	g.t.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		if g.s.MCP().Idle() {
			return
		}
		if time.Since(begin) > patience {
			g.t.Fatal("a wait did not end")
		}
	}
}

func TestACancelledCallIsWithdrawnAndCanBePickedUp(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json, text/event-stream", "application/json"} {
		t.Run(accept, func(t *testing.T) {
			g, seen := newMCPGate(t, func(w http.ResponseWriter, r *http.Request) {
				answerJSON(200, toolResult)(w, r)
			})
			h := inSession("s1")
			h.Set("Accept", accept)
			got := make(chan string, 1)
			go func() {
				b, err := io.ReadAll(g.call(t.Context(), toolCall("1", "gated"), h).Body)
				if err != nil {
					b = []byte(err.Error())
				}
				got <- string(b)
			}()
			req := g.pending(1)[0]
			// The word of another session, or about another id, is not about this one.
			for _, other := range []struct{ session, id string }{{"s2", "1"}, {"s1", "2"}, {"s1", `"1"`}, {"", "1"}} {
				if resp := g.call(t.Context(), cancelled(other.id), inSession(other.session)); resp.StatusCode/100 != 2 {
					t.Errorf("status %d", resp.StatusCode)
				}
			}
			if n := len(seen.all()); n != 4 {
				t.Fatalf("the server heard of %d cancellations that are its own, want 4", n)
			}
			if resp := g.call(t.Context(), cancelled("1"), h); resp.StatusCode != 202 {
				t.Errorf("status %d", resp.StatusCode)
			}
			if text := <-got; strings.Contains(text, "result") || strings.Contains(text, "error") {
				t.Errorf("an answer came to a request that was cancelled: %s", text)
			}
			if n := len(seen.all()); n != 4 {
				t.Errorf("the server heard of what it never was asked: %q", seen.all()[4:])
			}
			g.decide(req, holdgate.AnswerApprove, "") // it stayed
			if text := readAll(t, g.call(t.Context(), toolCall("2", "gated"), h).Body); !strings.Contains(text, `"done"`) {
				t.Errorf("got %s", text)
			}
			if asked, used := len(g.entries(audit.TypeOutcome)), len(g.entries(audit.TypeUsed)); asked != 1 || used != 1 {
				t.Errorf("asked %d times, used %d times", asked, used)
			}
			g.verified()
		})
	}
}

func TestACallOfTheOlderTransportIsWithdrawn(t *testing.T) {
	t.Parallel()
	g, o, _ := newOldGate(t, withIdle(15*time.Millisecond))
	stream, endpoint := g.stream(t.Context(), g.client, g.url+"/mcp/old")
	g.message(g.client, endpoint, toolCall("3", "gated"))
	until(t, stream, `"progressToken":"p1","progress":2,`)
	req := g.pending(1)[0]
	if status, _ := g.message(g.client, endpoint, cancelled("3")); status != 202 {
		t.Errorf("status %d", status)
	}
	g.unwaited()
	g.decide(req, holdgate.AnswerApprove, "")
	g.message(g.client, endpoint, toolCall("4", "gated"))
	if text := until(t, stream, `"done"`); strings.Contains(text, `"id":3`) {
		t.Errorf("an answer came to a request that was cancelled: %s", text)
	}
	if got := o.seen.all(); len(got) != 1 || got[0] != toolCall("4", "gated") {
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
		{"progress keeps it", hello("claude-code"), "s1", toolCall("1", "gated"), true},
		{"it waits long by itself", hello("codex-mcp-client"), "s1", toolCall("1", "gated"), true},
		{"an official SDK", hello("some agent"), "s1", toolCall("1", "gated"), false},
		{"one that the configuration names", hello("mine"), "s1", toolCall("1", "gated"), true},
		{"the same without progress", hello("mine"), "s1", strings.Replace(toolCall("1", "gated"), "progressToken", "other", 1), false},
		{"the session of another", hello("claude-code"), "s2", toolCall("1", "gated"), false},
		{"it says so with each message", "", "", strings.Replace(toolCall("1", "gated"), `"_meta":{`, modern, 1), true},
		{"nobody knows it", "", "", toolCall("1", "gated"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, _ := newMCPGate(t, answerJSON(200, toolResult), withMCPBudget(time.Nanosecond), func(c *proxy.Config) { c.Relay.ProgressClients = []string{"mine"} })
			if tt.hello != "" {
				g.call(t.Context(), tt.hello, nil)
			}
			resp := g.call(t.Context(), tt.call, inSession(tt.session))
			if req := g.pending(1)[0]; tt.waits {
				g.decide(req, holdgate.AnswerDeny, "the end")
			}
			if text := readAll(t, resp.Body); strings.Contains(text, "the end") != tt.waits {
				t.Errorf("got %s", text)
			}
		})
	}
	t.Run("in the older transport", func(t *testing.T) {
		g, _, _ := newOldGate(t, withMCPBudget(time.Nanosecond))
		stream, endpoint := g.stream(t.Context(), g.client, g.url+"/mcp/old")
		g.message(g.client, endpoint, hello("claude-code"))
		g.message(g.client, endpoint, toolCall("1", "gated"))
		g.decide(g.pending(1)[0], holdgate.AnswerDeny, "the end")
		until(t, stream, "the end")
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
		g, _ := newMCPGate(t, answerJSON(200, toolResult), withIdle(10*time.Millisecond), withPolicy(t, `package holdgate

decision := {"action": "hold", "rule": "test.hold", "hold": {"approvers": `+tt.approvers+`}} if input.tool
`))
		r := bufio.NewReader(g.call(t.Context(), toolCall("1", "x"), nil).Body)
		if req := g.pending(1)[0]; !strings.Contains(until(t, r, "notifications/progress"), "request "+req.ID+" "+tt.says) {
			t.Errorf("%s: it does not say %q", tt.approvers, tt.says)
		}
	}
}
