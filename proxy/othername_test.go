package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/caller"
)

// showing sends a model request whose agent shows a token, and which has headers besides.
func (g *sidecar) showing(token, body string, headers ...string) <-chan string {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+messages, strings.NewReader(body))
	must(g.t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set(caller.TokenHeader, token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answered := make(chan string, 1)
	go func() {
		resp, err := g.client.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		answered <- readAll(g.t, resp.Body)
	}()
	return answered
}

// anew is a request that none was like before.
func anew(n *int) string {
	*n++
	return strings.Replace(askPlain, "go", fmt.Sprint("go ", *n), 1)
}

const goesOn = `"tool_use"`

// An attack: an agent whose session must pass a gate first calls it something else,
// in each way that a request can.
func TestAProvenAgentIsBoundUnderAnyNameOfItsSession(t *testing.T) {
	t.Parallel()
	var seen counter
	p := withGates(map[string]sessions.Gate{sessions.GateIntent: {Sessions: []string{"work-*"}}})
	g := newGateWith(t, p, map[string]string{"test": newUpstream(t, calling(&seen, "cp a b"))}, nil, withShippedPolicy(), annAndBob(t))
	n := 0
	free := func(who, token string, headers ...string) {
		t.Helper()
		if body := <-g.showing(token, anew(&n), headers...); !strings.Contains(body, goesOn) {
			t.Errorf("%s is held: %s", who, body)
		}
	}
	free("ann, who was not in such a session yet", annsToken, "X-Session-Id", "play")
	bound := g.showing(annsToken, anew(&n), "X-Session-Id", "work-1")
	first := g.pending(1)[0]
	names := [][]string{{}, {"X-Session-Id", "play"}, {"X-Session-Id", "anew"}, {"X-Session-Id", "work-1", "X-Claude-Code-Session-Id", "other"}}
	for _, h := range caller.SessionHeaders {
		names = append(names, []string{h, "by-" + h})
	}
	for _, headers := range names {
		answered := g.showing(annsToken, anew(&n), headers...)
		for _, r := range g.pending(2) {
			if r.ID == first.ID {
				continue
			}
			if r.Rule != "session.gate" || r.Gate != sessions.GateIntent {
				t.Errorf("with %q it is held by %s under %s", headers, r.Rule, r.Gate)
			}
			g.decide(r, holdgate.AnswerDeny, "")
		}
		if body := <-answered; strings.Contains(body, goesOn) {
			t.Errorf("with %q it goes on", headers)
		}
	}
	free("bob", bobsToken, "X-Session-Id", "play")
	free("an agent that is nobody", "", "X-Session-Id", "play")

	g.decide(first, holdgate.AnswerApprove, "")
	if body := <-bound; !strings.Contains(body, goesOn) {
		t.Errorf("approved: %s", body)
	}
	free("ann, whose session has passed", annsToken, "X-Session-Id", "work-1")
	free("and another of hers", annsToken, "X-Session-Id", "anew")
	g.verified()
}

// An attack: the same, in the body and for what people have said of one session.
// A user's id that names another session changes nothing.
func TestAProvenAgentTakesModeAndPauseAlong(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGateTo(t, map[string]string{"test": newUpstream(t, calling(&seen, "ls"))}, nil, withShippedPolicy(), annAndBob(t), func(c *proxy.Config) {
		c.Confidence = proxy.Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9}
	})
	n := 0
	asUser := func(user string) string {
		return strings.Replace(anew(&n), "{", `{"metadata":{"user_id":"`+user+`"},`, 1)
	}
	if body := <-g.showing(annsToken, asUser("user_a_session_1"), "X-Session-Id", "s1"); !strings.Contains(body, goesOn) {
		t.Fatalf("before: %s", body)
	}
	_, err := g.queue.Sessions.SetMode(t.Context(), "ann", "s1", sessions.Setting{Mode: sessions.ModeManual}, 0, "ann")
	must(t, err)
	for _, headers := range [][]string{{"X-Session-Id", "s2"}, {"Thread-Id", "s3"}, {}} {
		answered := g.showing(annsToken, asUser(fmt.Sprint("user_a_session_", n)), headers...)
		r := g.pending(1)[0]
		if r.Rule != "mode.manual" {
			t.Errorf("with %q it is held by %s", headers, r.Rule)
		}
		g.decide(r, holdgate.AnswerDeny, "")
		<-answered
	}
	// It does not trust its work at all, in one session.
	if status, text := g.ask("POST", "/v1/confidence", `{"score":0.1}`, caller.TokenHeader, annsToken); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	d := g.pending(1)[0]
	waiting := g.showing(annsToken, asUser("user_a_session_9"), "X-Session-Id", "s9")
	if s, _ := g.queue.Agents.StatusOf("ann", "s9"); s.State != agents.Paused {
		t.Errorf("under another name it is %s", s)
	}
	if body := <-g.showing(bobsToken, asUser("user_a_session_1"), "X-Session-Id", "s1"); !strings.Contains(body, goesOn) {
		t.Errorf("bob is another agent, whatever it calls its session: %s", body)
	}
	select {
	case body := <-waiting:
		t.Errorf("a paused agent's request was answered under another name: %s", body)
	default:
	}
	g.decide(d, holdgate.AnswerDeny, "")
	if body := <-waiting; strings.Contains(body, goesOn) {
		t.Errorf("stopped: %s", body)
	}
	g.verified()
}

// An attack: an agent that may do something so often does it in many sessions.
func TestAProvenAgentsCallsAreCountedUnderAnyName(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGateTo(t, map[string]string{"test": newUpstream(t, calling(&seen, "ls"))}, nil, annAndBob(t), withPolicy(t, `package holdgate

decision := {"action": "deny", "rule": "test.often", "reason": "too often"} if {
	input.session.repeats > 2
} else := {"action": "deny", "rule": "test.many", "reason": "too many"} if {
	input.usage.calls_per_minute > 200
} else := {"action": "allow", "rule": "test.allow"}
`))
	n := 0
	for i, want := range []bool{true, true, false, false} {
		if body := <-g.showing(annsToken, anew(&n), "X-Session-Id", fmt.Sprint("s", i)); strings.Contains(body, goesOn) != want {
			t.Errorf("time %d: %s", i+1, body)
		}
	}
	if body := <-g.showing(bobsToken, anew(&n), "X-Session-Id", "s0"); !strings.Contains(body, goesOn) {
		t.Errorf("bob: %s", body)
	}
	for i := range 4 { // whose name is its own word
		if body := <-g.showing("", anew(&n), "X-Session-Id", fmt.Sprint("s", i)); !strings.Contains(body, goesOn) {
			t.Errorf("an agent that is nobody: %s", body)
		}
	}
}
