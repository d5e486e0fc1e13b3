package gate_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
)

// Requirements 001 and 003: gates are asked about under a condition, by an agent
// that knows of gates and by one that does not.
func TestAGateUnderACondition(t *testing.T) {
	t.Parallel()
	yes := true
	p := proxytest.WithGates(map[string]sessions.Gate{
		"before_implement": {Enabled: &yes, When: &sessions.When{Paths: []string{"auth/**"}, Tools: []string{"Bash"}}},
		"before_commit":    {Enabled: &yes, When: &sessions.When{Taint: []string{"untrusted"}}},
		"before_verify":    {Enabled: &yes, When: &sessions.When{Categories: []string{"write"}}},
		"intent_approval":  {Sessions: []string{"s1"}, When: &sessions.When{Risk: "critical"}},
		"design_review":    {When: &sessions.When{Below: 0.8, Paths: []string{"docs/**"}}},
	})
	g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Asking(
		[2]string{"Bash", `{"command":"cp a b"}`},
		[2]string{"Bash", `{"command":"cp a auth/b"}`},
		[2]string{"Bash", `{"command":"go test ./..."}`},
		[2]string{"Bash", `{"command":"git commit -m x"}`},
		[2]string{"WebFetch", `{"url":"https://docs.example/a"}`},
		[2]string{"Bash", `{"command":"git commit -m x"}`},
	))}, nil, proxytest.WithShippedPolicy(), func(c *proxy.Config) { c.Confidence = proxy.Confidence{Enabled: true} })
	n := 0
	free := func(what string) {
		t.Helper()
		if body := <-g.InSession("s1", anew(&n)); !strings.Contains(body, goesOn) {
			t.Errorf("%s is held: %s", what, body)
		}
	}
	held := func(what, gate string) {
		t.Helper()
		answered := g.InSession("s1", anew(&n))
		r := g.Pending(1)[0]
		if r.Gate != gate || r.Rule != "session.checkpoint" {
			t.Errorf("%s is held under %q by %s", what, r.Gate, r.Rule)
		}
		g.Decide(r, holdgate.AnswerApprove, "")
		if body := <-answered; !strings.Contains(body, goesOn) {
			t.Errorf("%s, approved: %s", what, body)
		}
	}
	free("a change elsewhere, which is not critical")
	held("a change below auth", "before_implement")
	free("a test run, which is no write")
	free("a commit of a session that has read nothing")
	free("a page")
	held("a commit behind a page", "before_commit")

	ask := func(body string) agentapi.Gate {
		t.Helper()
		_, text := g.AskAPI("POST", "/v1/gates", body)
		return proxytest.Read[agentapi.Gate](t, text)
	}
	if got := ask(`{"type":"design_review","artifacts":["src/a.go"]}`); got.Status != holdgate.StatusApproved {
		t.Errorf("a review of something else: %+v", got)
	}
	if got := ask(`{"type":"design_review","artifacts":["docs/a.md"]}`); got.Status != holdgate.StatusPending {
		t.Errorf("a review by an agent that has not said how sure it is: %+v", got)
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	g.AskAPI("POST", "/v1/confidence", `{"score":90}`)
	if got := ask(`{"type":"design_review","artifacts":["docs/b.md"]}`); got.Status != holdgate.StatusApproved {
		t.Errorf("a review by one that is sure: %+v", got)
	}
	g.Verified()
}

// An attack: the agent asks at the gate for something that its condition does not
// name, which nobody is asked about, and then comes by with what it does name.
func TestAGateWhoseConditionWasNotMetIsNotPassed(t *testing.T) {
	t.Parallel()
	yes := true
	p := proxytest.WithGates(map[string]sessions.Gate{
		"before_commit":    {Enabled: &yes, When: &sessions.When{Paths: []string{"src/**"}}},
		"before_implement": {Enabled: &yes, When: &sessions.When{Taint: []string{"untrusted"}}},
	})
	g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Asking(
		[2]string{"Bash", `{"command":"git commit -m x"}`},
		[2]string{"WebFetch", `{"url":"https://docs.example/a"}`},
		[2]string{"Bash", `{"command":"cp a b"}`},
	))}, nil, proxytest.WithShippedPolicy())
	n := 0
	for _, body := range []string{`{"type":"before_commit","artifacts":["README.md"]}`, `{"type":"before_implement"}`} {
		_, text := g.AskAPI("POST", "/v1/gates", body)
		if got := proxytest.Read[agentapi.Gate](t, text); got.Status != holdgate.StatusApproved {
			t.Errorf("%s: %+v", body, got)
		}
	}
	held := func(gate string) {
		t.Helper()
		answered := g.InSession("s1", anew(&n))
		r := g.Pending(1)[0]
		if r.Gate != gate {
			t.Errorf("held under %q by %s, want %s", r.Gate, r.Rule, gate)
		}
		g.Decide(r, holdgate.AnswerDeny, "")
		<-answered
	}
	held("before_commit")
	<-g.InSession("s1", anew(&n))
	held("before_implement")
	g.Verified()
}
