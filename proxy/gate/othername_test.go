package gate_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/caller"
)

// showing sends a model request whose agent shows a token, and which has headers besides.
func showing(g *proxytest.Sidecar, token, body string, headers ...string) <-chan string {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), http.MethodPost, g.URL+proxytest.Messages, strings.NewReader(body))
	proxytest.Must(g.T, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set(caller.TokenHeader, token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answered := make(chan string, 1)
	go func() {
		resp, err := g.Client.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		answered <- proxytest.ReadAll(g.T, resp.Body)
	}()
	return answered
}

// anew is a request that none was like before.
func anew(n *int) string {
	*n++
	return strings.Replace(proxytest.AskPlain, "go", fmt.Sprint("go ", *n), 1)
}

const goesOn = `"tool_use"`

// An attack: an agent whose session must pass a gate first calls it something else,
// in each way that a request can.
func TestAProvenAgentIsBoundUnderAnyNameOfItsSession(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	p := proxytest.WithGates(map[string]sessions.Gate{sessions.GateIntent: {Sessions: []string{"work-*"}}})
	g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "cp a b"))}, nil, proxytest.WithShippedPolicy(), proxytest.WithAnnAndBob(t))
	n := 0
	free := func(who, token string, headers ...string) {
		t.Helper()
		if body := <-showing(g, token, anew(&n), headers...); !strings.Contains(body, goesOn) {
			t.Errorf("%s is held: %s", who, body)
		}
	}
	free("ann, who was not in such a session yet", proxytest.AnnsToken, "X-Session-Id", "play")
	bound := showing(g, proxytest.AnnsToken, anew(&n), "X-Session-Id", "work-1")
	first := g.Pending(1)[0]
	names := [][]string{{}, {"X-Session-Id", "play"}, {"X-Session-Id", "anew"}, {"X-Session-Id", "work-1", "X-Claude-Code-Session-Id", "other"}}
	for _, h := range caller.SessionHeaders {
		names = append(names, []string{h, "by-" + h})
	}
	for _, headers := range names {
		answered := showing(g, proxytest.AnnsToken, anew(&n), headers...)
		for _, r := range g.Pending(2) {
			if r.ID == first.ID {
				continue
			}
			if r.Rule != "session.gate" || r.Gate != sessions.GateIntent {
				t.Errorf("with %q it is held by %s under %s", headers, r.Rule, r.Gate)
			}
			g.Decide(r, holdgate.AnswerDeny, "")
		}
		if body := <-answered; strings.Contains(body, goesOn) {
			t.Errorf("with %q it goes on", headers)
		}
	}
	free("bob", proxytest.BobsToken, "X-Session-Id", "play")
	free("an agent that is nobody", "", "X-Session-Id", "play")

	g.Decide(first, holdgate.AnswerApprove, "")
	if body := <-bound; !strings.Contains(body, goesOn) {
		t.Errorf("approved: %s", body)
	}
	free("ann, whose session has passed", proxytest.AnnsToken, "X-Session-Id", "work-1")
	free("and another of hers", proxytest.AnnsToken, "X-Session-Id", "anew")
	g.Verified()
}

// An attack: the same, in the body and for what people have said of one session.
// A user's id that names another session changes nothing.
func TestAProvenAgentTakesModeAndPauseAlong(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "ls"))}, nil, proxytest.WithShippedPolicy(), proxytest.WithAnnAndBob(t), func(c *proxy.Config) {
		c.Confidence = proxy.Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9}
	})
	n := 0
	asUser := func(user string) string {
		return strings.Replace(anew(&n), "{", `{"metadata":{"user_id":"`+user+`"},`, 1)
	}
	if body := <-showing(g, proxytest.AnnsToken, asUser("user_a_session_1"), "X-Session-Id", "s1"); !strings.Contains(body, goesOn) {
		t.Fatalf("before: %s", body)
	}
	_, err := g.Queue.Sessions.SetMode(t.Context(), "ann", "s1", sessions.Setting{Mode: sessions.ModeManual}, 0, "ann")
	proxytest.Must(t, err)
	for _, headers := range [][]string{{"X-Session-Id", "s2"}, {"Thread-Id", "s3"}, {}} {
		answered := showing(g, proxytest.AnnsToken, asUser(fmt.Sprint("user_a_session_", n)), headers...)
		r := g.Pending(1)[0]
		if r.Rule != "mode.manual" {
			t.Errorf("with %q it is held by %s", headers, r.Rule)
		}
		g.Decide(r, holdgate.AnswerDeny, "")
		<-answered
	}
	// It does not trust its work at all, in one session.
	if status, text := g.AskAPI("POST", "/v1/confidence", `{"score":0.1}`, caller.TokenHeader, proxytest.AnnsToken); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	d := g.Pending(1)[0]
	waiting := showing(g, proxytest.AnnsToken, asUser("user_a_session_9"), "X-Session-Id", "s9")
	if s, _ := g.Queue.Agents.StatusOf("ann", "s9"); s.State != agents.Paused {
		t.Errorf("under another name it is %s", s)
	}
	if body := <-showing(g, proxytest.BobsToken, asUser("user_a_session_1"), "X-Session-Id", "s1"); !strings.Contains(body, goesOn) {
		t.Errorf("bob is another agent, whatever it calls its session: %s", body)
	}
	select {
	case body := <-waiting:
		t.Errorf("a paused agent's request was answered under another name: %s", body)
	default:
	}
	g.Decide(d, holdgate.AnswerDeny, "")
	if body := <-waiting; strings.Contains(body, goesOn) {
		t.Errorf("stopped: %s", body)
	}
	g.Verified()
}

// An attack: an agent that may do something so often does it in many sessions.
func TestAProvenAgentsCallsAreCountedUnderAnyName(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "ls"))}, nil, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, `package holdgate

decision := {"action": "deny", "rule": "test.often", "reason": "too often"} if {
	input.session.repeats > 2
} else := {"action": "deny", "rule": "test.many", "reason": "too many"} if {
	input.usage.calls_per_minute > 200
} else := {"action": "allow", "rule": "test.allow"}
`))
	n := 0
	for i, want := range []bool{true, true, false, false} {
		if body := <-showing(g, proxytest.AnnsToken, anew(&n), "X-Session-Id", fmt.Sprint("s", i)); strings.Contains(body, goesOn) != want {
			t.Errorf("time %d: %s", i+1, body)
		}
	}
	if body := <-showing(g, proxytest.BobsToken, anew(&n), "X-Session-Id", "s0"); !strings.Contains(body, goesOn) {
		t.Errorf("bob: %s", body)
	}
	for i := range 4 { // whose name is its own word
		if body := <-showing(g, "", anew(&n), "X-Session-Id", fmt.Sprint("s", i)); !strings.Contains(body, goesOn) {
			t.Errorf("an agent that is nobody: %s", body)
		}
	}
}
