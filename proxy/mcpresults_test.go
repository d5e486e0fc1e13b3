package proxy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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
		"JSON":             {answerJSON(200, secretResult), "", onlyKey("[redacted]")},
		"events":           {answerEvents("id: 7\n", "data: "+secretResult+"\n\n"), "", "id: 7\ndata: " + onlyKey("[redacted]") + "\n\n"},
		"events in pieces": {answerEvents("data: "+secretResult[:90], secretResult[90:]+"\n\n"), "", "data: " + onlyKey("[redacted]") + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := newMCPGate(t, c.answer, withSettings(t, "  results: {secrets: redact}\n"))
			if diff := cmp.Diff(c.want, <-g.calling(callThink, nil)); diff != "" {
				t.Error(diff)
			}
			var notes []string
			for _, e := range g.entries(audit.TypeDecision) {
				notes = append(notes, e.Note)
			}
			if diff := cmp.Diff([]string{"", "the result, without 2 values that policy redacts"}, notes); diff != "" {
				t.Error(diff)
			}
			g.verified()
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
		g, _ := newMCPGate(t, answerJSON(200, answer), withSettings(t, settings+"  profile: balanced\n"))
		if diff := cmp.Diff(answer, <-g.calling(callThink, nil)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		g, _ = newMCPGate(t, answerJSON(200, twice), withSettings(t, settings+"  profile: balanced\n"))
		if got := <-g.calling(callThink, nil); (got == twice) != (settings == "") {
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
		for typ, answer := range map[string]http.HandlerFunc{"JSON": answerJSON(200, c.answer), "events": answerEvents("data: " + c.answer + "\n\n")} {
			g, seen := newMCPGate(t, answer, withSettings(t, "  profile: balanced\n", rules))
			got := <-g.calling(c.ask, nil)
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, %s: got %s\nwant %s", name, typ, got, c.want)
			}
			if name != "a value" && strings.Contains(got, secretKey) {
				t.Errorf("%s, %s: the secret went on: %s", name, typ, got)
			}
			if len(seen.bodies) != 1 {
				t.Errorf("%s, %s: the server was asked %d times", name, typ, len(seen.bodies))
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
		for typ, answer := range map[string]http.HandlerFunc{"JSON": answerJSON(200, secretResult), "events": answerEvents("data: " + secretResult + "\n\n")} {
			t.Run(name+", "+typ, func(t *testing.T) {
				g, seen := newMCPGate(t, answer, withSettings(t, "  results: {secrets: ask}\n  approvers: {high: {assurance: text}}\n"), withMCPBudget(patience), withIdle(20*time.Millisecond))
				got := g.calling(callThink, nil)
				r := g.pending(1)[0]
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
				g.decide(r, c.answer, "use the vault")
				out := <-got
				if !strings.Contains(out, c.want) || strings.Contains(out, secretKey) != (name == "approved") {
					t.Errorf("got %s", out)
				}
				if name == "approved" && (!strings.Contains(out, `"n":1.50`) || len(g.entries(audit.TypeUsed)) != 1) {
					t.Errorf("got %s, with uses %v", out, g.entries(audit.TypeUsed))
				}
				if len(seen.bodies) != 1 {
					t.Errorf("the server was asked %d times", len(seen.bodies))
				}
				g.verified()
			})
		}
	}
}

// The call has been made: the same call again gets the result of that.
func TestAHeldResultIsPickedUpWithoutASecondCall(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]string{"events": "", "JSON": "application/json"} {
		t.Run(name, func(t *testing.T) {
			g, seen := newMCPGate(t, answerJSON(200, secretResult), withSettings(t, "  results: {ask_over: 10, secrets: redact}\n"), withMCPBudget(300*time.Millisecond))
			var h http.Header
			if accept != "" {
				h = http.Header{"Accept": {accept}}
			}
			first := <-g.calling(callThink, h)
			r := g.pending(1)[0]
			if !strings.Contains(first, "was run, and its result waits") || !strings.Contains(first, r.ID) || strings.Contains(first, "the key is") {
				t.Fatalf("at the end of the client's patience: %s", first)
			}
			if again := <-g.calling(callThink, h); !strings.Contains(again, r.ID) {
				t.Errorf("while it still waits: %s", again)
			}
			if n := len(g.pending(1)); n != 1 {
				t.Errorf("%d requests", n)
			}
			g.decide(r, holdgate.AnswerApprove, "fine")
			out := <-g.calling(strings.Replace(callThink, `"id":1`, `"id":"nine"`, 1), h)
			if !strings.Contains(out, `"id":"nine"`) || !strings.Contains(out, "the key is [redacted]") || strings.Contains(out, secretKey) || !strings.Contains(out, "fine") {
				t.Errorf("picked up: %s", out)
			}
			if len(seen.bodies) != 1 {
				t.Errorf("the server was asked %d times", len(seen.bodies))
			}
			<-g.calling(callThink, h)
			if len(seen.bodies) != 2 {
				t.Errorf("once it is delivered the same call is a new one: the server was asked %d times", len(seen.bodies))
			}
			g.verified()
		})
	}
}

func TestAResultWhoseClientLeftIsPickedUp(t *testing.T) {
	t.Parallel()
	g, seen := newMCPGate(t, answerJSON(200, secretResult), withSettings(t, "  results: {secrets: ask}\n  approvers: {high: {assurance: text}}\n"), withMCPBudget(patience))
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/mcp/files", strings.NewReader(callThink))
		req.Header.Set("Accept", "application/json, text/event-stream")
		if resp, err := g.client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	r := g.pending(1)[0]
	leave()
	<-g.closed
	g.decide(r, holdgate.AnswerApprove, "")
	if out := <-g.calling(callThink, nil); !strings.Contains(out, secretKey) {
		t.Errorf("picked up: %s", out)
	}
	if len(seen.bodies) != 1 {
		t.Errorf("the server was asked %d times", len(seen.bodies))
	}
}

func TestResultsInABatchAreNotHeld(t *testing.T) {
	t.Parallel()
	g, _ := newMCPGate(t, answerJSON(200, "["+strings.Replace(secretResult, `"id":1`, `"id":2`, 1)+`,{"jsonrpc":"2.0","id":1,"result":{"content":[]}}]`),
		withSettings(t, "  results: {ask_over: 100}\n"))
	got := <-g.calling("["+callThink+","+strings.Replace(callThink, `"id":1`, `"id":2`, 1)+"]", nil)
	if !strings.Contains(got, "not about results in a batch") || !strings.Contains(got, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`) || strings.Contains(got, secretKey) {
		t.Errorf("got %s", got)
	}
	g.pending(0)
}

func TestResultsOfTheOlderTransportAreJudged(t *testing.T) {
	t.Parallel()
	const rules = `package holdgate.custom.team

results contains {"action": "deny", "rule": "team.path", "reason": "p"} if input.tool.arguments.path == "secret"

results contains {"action": "hold", "rule": "team.ask"} if input.tool.arguments.path == "ask"
`
	g, o, _ := newOldGate(t, withSettings(t, "  tools: {old/remove: auto}\n  exceptions: [{rule: files.delete, reason: test}]\n", rules), withMCPBudget(400*time.Millisecond))
	stream, endpoint := g.stream(t.Context(), g.client, g.url+"/mcp/old")
	for path, want := range map[string]string{"x": "done", "secret": "team.path", "ask": "its result waits"} {
		if status, _ := g.message(g.client, endpoint, toolCall("1", path)); status != 202 {
			t.Fatalf("%s: status %d", path, status)
		}
		if got := until(t, stream, want); path == "secret" && strings.Contains(got, "done") {
			t.Errorf("%s: %s", path, got)
		}
	}
	r := g.pending(1)[0]
	g.decide(r, holdgate.AnswerApprove, "")
	n := len(o.seen.bodies)
	if status, _ := g.message(g.client, endpoint, toolCall("2", "ask")); status != 202 {
		t.Fatal(status)
	}
	until(t, stream, `"id":2`)
	if len(o.seen.bodies) != n {
		t.Error("the call was made again")
	}
}

func TestResultsOverStandardStreamsAreJudged(t *testing.T) {
	t.Parallel()
	p := newPipe(t, withSettings(t, "  results: {secrets: redact}\n"))
	p.from(stdio.Client, callThink)
	p.expect(p.server, callThink)
	p.from(stdio.Server, secretResult)
	if diff := cmp.Diff(onlyKey("[redacted]"), strings.TrimSpace(next(p, p.client))); diff != "" {
		t.Error(diff)
	}
}
