package gate_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/store/audit"
)

// advised is a gate whose checkpoints have these levels.
func advised(t *testing.T, configured map[string]sessions.Gate) *proxytest.Sidecar {
	t.Helper()
	all, err := sessions.NewGates(configured)
	proxytest.Must(t, err)
	var seen proxytest.Counter
	return proxytest.NewWith(t, proxytest.Parts{Queue: func(c *approvals.Config) { c.Gates = all }}, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "git commit -m x"))}, nil, proxytest.WithShippedPolicy())
}

// Seeds 002 and 003: an advisory gate is told to people and logged, and holds nothing.
func TestAnAdvisoryGateIsToldAndHoldsNothing(t *testing.T) {
	t.Parallel()
	yes := true
	t.Run("where the agent asks", func(t *testing.T) {
		g := advised(t, map[string]sessions.Gate{"my_check": {Level: sessions.Advisory}})
		status, body := g.AskAPI("POST", "/v1/gates", `{"type":"my_check","message":"Using the new parser."}`)
		if got := proxytest.Read[agentapi.Gate](t, body); status != 201 || got.Status != holdgate.StatusApproved {
			t.Errorf("%d %s", status, body)
		}
		told := g.Entries(audit.TypeFinding)
		if len(told) != 1 || told[0].Note != "at the advisory gate my_check: Using the new parser." || told[0].Call.Gate != "my_check" {
			t.Errorf("told: %+v", told)
		}
	})
	t.Run("where traffic shows it, once", func(t *testing.T) {
		g := advised(t, map[string]sessions.Gate{"before_commit": {Enabled: &yes, Level: sessions.Advisory}})
		for range 2 {
			if body := <-g.InSession("s1", proxytest.AskPlain); !strings.Contains(body, `"tool_use"`) {
				t.Fatalf("held: %s", body)
			}
		}
		told := g.Entries(audit.TypeFinding)
		if len(told) != 1 || told[0].Note != "at the advisory gate before_commit" || told[0].Call.Tool == nil {
			t.Errorf("told: %+v", told)
		}
		d := g.Entries(audit.TypeDecision)
		found := false
		for _, e := range d {
			found = found || e.Decision.Rule == "session.advice" && e.Decision.Would != nil && *e.Decision.Would == holdgate.Hold
		}
		if !found {
			t.Errorf("the log does not say what a mandatory gate would have done: %+v", d)
		}
		g.Verified()
	})
	t.Run("not where its condition is not met", func(t *testing.T) {
		g := advised(t, map[string]sessions.Gate{"before_commit": {Enabled: &yes, Level: sessions.Advisory, When: &sessions.When{Taint: []string{"untrusted"}}}})
		if body := <-g.InSession("s1", proxytest.AskPlain); !strings.Contains(body, `"tool_use"`) {
			t.Fatalf("held: %s", body)
		}
		if told := g.Entries(audit.TypeFinding); len(told) > 0 {
			t.Errorf("told: %+v", told)
		}
	})
	t.Run("and a mandatory one holds", func(t *testing.T) {
		g := advised(t, map[string]sessions.Gate{"before_commit": {Enabled: &yes}})
		got := g.InSession("s1", proxytest.AskPlain)
		g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "not yet")
		if body := <-got; strings.Contains(body, `"tool_use"`) || len(g.Entries(audit.TypeFinding)) != 0 {
			t.Errorf("%s", body)
		}
	})
	t.Run("and one with options is asked about", func(t *testing.T) {
		g := advised(t, nil)
		_, body := g.AskAPI("POST", "/v1/gates", `{"type":"constraint_exception","message":"Too little memory."}`)
		if got := proxytest.Read[agentapi.Gate](t, body); got.Status != holdgate.StatusPending {
			t.Errorf("%s", body)
		}
	})
}
