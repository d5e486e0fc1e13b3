package mcpproxy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/store/audit"
)

// A secret of no account.
const secretKey = "AKIA" + "Z7VTQ4NNBWQJ3M2L"

const (
	callThink    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"think","arguments":{}}}`
	secretResult = `{"jsonrpc":"2.0", "id":1,"result":{"content":[{"type":"text","text":"the key is ` + secretKey + `, keep it"}], "structuredContent":{"key":"` + secretKey + `","n":1.50}} }`
)

func onlyKey(text string) string { return strings.ReplaceAll(secretResult, secretKey, text) }

func TestSecretsInResultsAreRedacted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer       http.HandlerFunc
		accept, want string
	}{
		"JSON":             {proxytest.MCPJSON(200, secretResult), "", onlyKey("[redacted]")},
		"events":           {proxytest.MCPEvents("id: 7\n", "data: "+secretResult+"\n\n"), "", "id: 7\ndata: " + onlyKey("[redacted]") + "\n\n"},
		"events in pieces": {proxytest.MCPEvents("data: "+secretResult[:90], secretResult[90:]+"\n\n"), "", "data: " + onlyKey("[redacted]") + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := proxytest.NewMCP(t, c.answer, proxytest.WithSettings(t, "  results: {secrets: redact}\n"))
			if diff := cmp.Diff(c.want, <-calling(g, callThink, nil)); diff != "" {
				t.Error(diff)
			}
			var notes []string
			for _, e := range g.Entries(audit.TypeDecision) {
				notes = append(notes, e.Note)
			}
			if diff := cmp.Diff([]string{"", "the result, without 2 values that policy redacts"}, notes); diff != "" {
				t.Error(diff)
			}
			g.Verified()
		})
	}
}

func TestResultsPassByteForByteWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	twice := `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2},"x":` + `"` + secretKey + `"}`
	for name, settings := range map[string]string{"nobody looks": "", "nothing is found": "  results: {secrets: deny, ask_over: 5000}\n"} {
		answer := secretResult
		if settings != "" {
			answer = onlyKey("none")
		}
		g, _ := proxytest.NewMCP(t, proxytest.MCPJSON(200, answer), proxytest.WithSettings(t, settings+"  profile: balanced\n"))
		if diff := cmp.Diff(answer, <-calling(g, callThink, nil)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		g, _ = proxytest.NewMCP(t, proxytest.MCPJSON(200, twice), proxytest.WithSettings(t, settings+"  profile: balanced\n"))
		if got := <-calling(g, callThink, nil); (got == twice) != (settings == "") {
			t.Errorf("%s: what two readers read differently: %s", name, got)
		}
	}
}

func TestResultsAreRefused(t *testing.T) {
	t.Parallel()
	const rules = `package holdgate.custom.team

results contains {"action": "deny", "rule": "team.notes", "reason": "not for agents"} if contains(input.result.text, "the key is")

results contains {"action": "deny", "rule": "team.files"} if input.mcp.method == "resources/read"

results contains {"action": "allow", "rule": "team.n", "redact": ["/result/body/structuredContent/n"]} if input.result.body.structuredContent.n > 1

results contains {"action": "allow", "rule": "team.all", "redact": ["/result"]} if input.result.is_error
`
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}`
	for name, c := range map[string]struct{ ask, answer, want string }{
		"a tool's":        {callThink, secretResult, `"isError":true`},
		"says why":        {callThink, secretResult, "The call to think was run, and its result is withheld (log entry 2): denied by policy (team.notes: not for agents)"},
		"a resource":      {read, `{"jsonrpc":"2.0","id":1,"result":{"contents":[]}}`, `"error":{"code"`},
		"a value":         {callThink, strings.Replace(secretResult, "the key is", "", 1), `"n":"[redacted]"}} }`},
		"all of it":       {callThink, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"` + secretKey + `"}}`, "policy redacts all of it"},
		"another's id":    {callThink, strings.Replace(secretResult, `"id":1`, `"id":"1"`, 1), "team.notes"},
		"a second result": {callThink, `{"jsonrpc":"2.0","id":1,"Result":{},"result":{"content":[]}}`, "differently"},
	} {
		for typ, answer := range map[string]http.HandlerFunc{"JSON": proxytest.MCPJSON(200, c.answer), "events": proxytest.MCPEvents("data: " + c.answer + "\n\n")} {
			g, seen := proxytest.NewMCP(t, answer, proxytest.WithSettings(t, "  profile: balanced\n", rules))
			got := <-calling(g, c.ask, nil)
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, %s: got %s\nwant %s", name, typ, got, c.want)
			}
			if name != "a value" && strings.Contains(got, secretKey) {
				t.Errorf("%s, %s: the secret went on: %s", name, typ, got)
			}
			if len(seen.Bodies) != 1 {
				t.Errorf("%s, %s: the server was asked %d times", name, typ, len(seen.Bodies))
			}
		}
	}
}

func TestAResultIsHeldUntilAPersonLetsItPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer holdgate.Answer
		want   string
	}{
		"approved": {holdgate.AnswerApprove, secretKey},
		"denied":   {holdgate.AnswerDeny, "its result is withheld"},
		"steered":  {holdgate.AnswerSteer, "asks for this instead: use the vault"},
	} {
		for typ, answer := range map[string]http.HandlerFunc{"JSON": proxytest.MCPJSON(200, secretResult), "events": proxytest.MCPEvents("data: " + secretResult + "\n\n")} {
			t.Run(name+", "+typ, func(t *testing.T) {
				g, seen := proxytest.NewMCP(t, answer, proxytest.WithSettings(t, "  results: {secrets: ask}\n  approvers: {high: {assurance: text}}\n"), proxytest.WithMCPBudget(proxytest.Patience), proxytest.WithIdle(20*time.Millisecond))
				got := calling(g, callThink, nil)
				r := g.Pending(1)[0]
				if r.Rule != "results.secrets" || r.Call.Result == nil || r.Call.Result.Size < 100 || !strings.HasPrefix(r.Briefing.Summary, "Gives the agent what was brought by: think of files") {
					t.Errorf("asked as %s: %+v: %s", r.Rule, r.Call.Result, r.Briefing.Summary)
				}
				shown := strings.Join(r.Briefing.Details, "\n")
				if !strings.Contains(shown, "the key is [redacted], keep it") || strings.Contains(shown, secretKey) {
					t.Errorf("shown: %s", shown)
				}
				if strings.Contains(strings.Join(r.Allow, " "), "edit") || strings.Contains(strings.Join(r.Allow, " "), "remember") {
					t.Errorf("allowed: %v", r.Allow)
				}
				select {
				case early := <-got:
					t.Fatalf("answered before anybody decided: %s", early)
				default:
				}
				g.Decide(r, c.answer, "use the vault")
				out := <-got
				if !strings.Contains(out, c.want) || strings.Contains(out, secretKey) != (name == "approved") {
					t.Errorf("got %s", out)
				}
				if name == "approved" && (!strings.Contains(out, `"n":1.50`) || len(g.Entries(audit.TypeUsed)) != 1) {
					t.Errorf("got %s, with uses %v", out, g.Entries(audit.TypeUsed))
				}
				if len(seen.Bodies) != 1 {
					t.Errorf("the server was asked %d times", len(seen.Bodies))
				}
				g.Verified()
			})
		}
	}
}

// The call has been made: the same call again gets the result of that.
func TestAHeldResultIsPickedUpWithoutASecondCall(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]string{"events": "", "JSON": "application/json"} {
		t.Run(name, func(t *testing.T) {
			g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, secretResult), proxytest.WithSettings(t, "  results: {ask_over: 10, secrets: redact}\n"), proxytest.WithMCPBudget(300*time.Millisecond))
			var h http.Header
			if accept != "" {
				h = http.Header{"Accept": {accept}}
			}
			first := <-calling(g, callThink, h)
			r := g.Pending(1)[0]
			if !strings.Contains(first, "was run, and its result waits") || !strings.Contains(first, r.ID) || strings.Contains(first, "the key is") {
				t.Fatalf("at the end of the client's patience: %s", first)
			}
			if again := <-calling(g, callThink, h); !strings.Contains(again, r.ID) {
				t.Errorf("while it still waits: %s", again)
			}
			if n := len(g.Pending(1)); n != 1 {
				t.Errorf("%d requests", n)
			}
			g.Decide(r, holdgate.AnswerApprove, "fine")
			out := <-calling(g, strings.Replace(callThink, `"id":1`, `"id":"nine"`, 1), h)
			if !strings.Contains(out, `"id":"nine"`) || !strings.Contains(out, "the key is [redacted]") || strings.Contains(out, secretKey) || !strings.Contains(out, "fine") {
				t.Errorf("picked up: %s", out)
			}
			if len(seen.Bodies) != 1 {
				t.Errorf("the server was asked %d times", len(seen.Bodies))
			}
			<-calling(g, callThink, h)
			if len(seen.Bodies) != 2 {
				t.Errorf("once it is delivered the same call is a new one: the server was asked %d times", len(seen.Bodies))
			}
			g.Verified()
		})
	}
}

func TestAResultWhoseClientLeftIsPickedUp(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, secretResult), proxytest.WithSettings(t, "  results: {secrets: ask}\n  approvers: {high: {assurance: text}}\n"), proxytest.WithMCPBudget(proxytest.Patience))
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/mcp/files", strings.NewReader(callThink))
		req.Header.Set("Accept", "application/json, text/event-stream")
		if resp, err := g.Client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	r := g.Pending(1)[0]
	leave()
	<-g.Closed
	g.Decide(r, holdgate.AnswerApprove, "")
	if out := <-calling(g, callThink, nil); !strings.Contains(out, secretKey) {
		t.Errorf("picked up: %s", out)
	}
	if len(seen.Bodies) != 1 {
		t.Errorf("the server was asked %d times", len(seen.Bodies))
	}
}

func TestResultsInABatchAreNotHeld(t *testing.T) {
	t.Parallel()
	g, _ := proxytest.NewMCP(t, proxytest.MCPJSON(200, "["+strings.Replace(secretResult, `"id":1`, `"id":2`, 1)+`,{"jsonrpc":"2.0","id":1,"result":{"content":[]}}]`),
		proxytest.WithSettings(t, "  results: {ask_over: 100}\n"))
	got := <-calling(g, "["+callThink+","+strings.Replace(callThink, `"id":1`, `"id":2`, 1)+"]", nil)
	if !strings.Contains(got, "not about results in a batch") || !strings.Contains(got, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`) || strings.Contains(got, secretKey) {
		t.Errorf("got %s", got)
	}
	g.Pending(0)
}

func TestResultsOfTheOlderTransportAreJudged(t *testing.T) {
	t.Parallel()
	const rules = `package holdgate.custom.team

results contains {"action": "deny", "rule": "team.path", "reason": "p"} if input.tool.arguments.path == "secret"

results contains {"action": "hold", "rule": "team.ask"} if input.tool.arguments.path == "ask"
`
	g, o, _ := proxytest.NewOldMCP(t, proxytest.WithSettings(t, "  tools: {old/remove: auto}\n  exceptions: [{rule: files.delete, reason: test}]\n", rules), proxytest.WithMCPBudget(400*time.Millisecond))
	stream, endpoint := g.OpenStream(t.Context(), g.Client, g.URL+"/mcp/old")
	for path, want := range map[string]string{"x": "done", "secret": "team.path", "ask": "its result waits"} {
		if status, _ := g.SendMessage(g.Client, endpoint, proxytest.ToolCall("1", path)); status != 202 {
			t.Fatalf("%s: status %d", path, status)
		}
		if got := proxytest.Until(t, stream, want); path == "secret" && strings.Contains(got, "done") {
			t.Errorf("%s: %s", path, got)
		}
	}
	r := g.Pending(1)[0]
	g.Decide(r, holdgate.AnswerApprove, "")
	n := len(o.Seen.Bodies)
	if status, _ := g.SendMessage(g.Client, endpoint, proxytest.ToolCall("2", "ask")); status != 202 {
		t.Fatal(status)
	}
	proxytest.Until(t, stream, `"id":2`)
	if len(o.Seen.Bodies) != n {
		t.Error("the call was made again")
	}
}

func TestResultsOverStandardStreamsAreJudged(t *testing.T) {
	t.Parallel()
	p := newPipe(t, proxytest.WithSettings(t, "  results: {secrets: redact}\n"))
	p.from(stdio.Client, callThink)
	p.expect(p.server, callThink)
	p.from(stdio.Server, secretResult)
	if diff := cmp.Diff(onlyKey("[redacted]"), strings.TrimSpace(next(p, p.client))); diff != "" {
		t.Error(diff)
	}
}
