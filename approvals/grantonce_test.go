package approvals_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// searching is a model request that offers n tools of the agent's own, and lets the
// provider run others.
func searching(n int, server ...holdgate.ServerTool) holdgate.Call {
	m := &holdgate.Model{Provider: "openai", Name: "gpt-test", ServerTools: server}
	for i := range n {
		m.Tools = append(m.Tools, "mcp__a_server_with_a_long_name__tool_"+strconv.Itoa(i))
	}
	return from(caller, holdgate.Call{Kind: holdgate.KindModelRequest, Model: m})
}

func once(d *holdgate.Decision) { d.Hold.Once = true }

// What policy asks once about is asked once per session and set of tools.
func TestAQuestionThatIsAskedOnce(t *testing.T) {
	t.Parallel()
	search, files := holdgate.ServerTool{Type: "web_search"}, holdgate.ServerTool{Type: "file_search"}
	hosted := func(url string) holdgate.ServerTool { return holdgate.ServerTool{Type: "mcp", Name: "x", URL: url} }
	asked := searching(40, search, hosted("https://a.example"))
	elsewhere := searching(40, search, hosted("https://a.example"))
	elsewhere.Session.ID = "another"
	another := asked
	another.Model = &holdgate.Model{Provider: "azure", Name: "gpt-test", ServerTools: asked.Model.ServerTools}
	later := map[string]struct {
		c        holdgate.Call
		edit     func(*holdgate.Decision)
		released bool
	}{
		"the same again":                      {asked, once, true},
		"other tools of the agent's own":      {searching(3, search, hosted("https://a.example")), once, true},
		"the same tools in another order":     {searching(40, hosted("https://a.example"), search), once, true},
		"one tool more":                       {searching(40, search, hosted("https://a.example"), files), once, false},
		"one tool less":                       {searching(40, search), once, false},
		"the same tool at another address":    {searching(40, search, hosted("https://b.example")), once, false},
		"another provider":                    {another, once, false},
		"another session":                     {elsewhere, once, false},
		"a higher risk":                       {asked, func(d *holdgate.Decision) { once(d); d.Risk = holdgate.RiskHigh }, false},
		"a rule that asks each time now":      {asked, func(*holdgate.Decision) {}, false},
		"another rule":                        {asked, func(d *holdgate.Decision) { once(d); d.Rule = "session.taint" }, false},
		"a person is required":                {asked, func(d *holdgate.Decision) { once(d); d.Hold.Required = true }, false},
		"no tools at the provider any longer": {searching(40), once, false},
	}
	t.Run("approved", func(t *testing.T) {
		b := newBench(t)
		r := b.asks(asked, seen(asked, dir, risk(holdgate.RiskMedium), once))
		if !r.Briefing.Whole || r.Briefing.Hidden > 0 {
			t.Errorf("it is not shown whole: %+v", r.Briefing)
		}
		if why := strings.Join(r.Briefing.Why, "\n"); !strings.Contains(why, "approving it answers for this session") {
			t.Errorf("nobody is told what an approval stands for: %s", why)
		}
		if got := b.decide(r, approve(r, "ana")); got.Outcome.Grant == "" {
			t.Fatalf("the approval stands for nothing else: %+v", got.Outcome)
		} else if g := b.grant(got.Outcome.Grant); g.By[0] != "ana" || g.Session.ID != asked.Session.ID {
			t.Errorf("the grant is %+v", g)
		}
		for name, l := range later {
			if got := b.released(l.c, seen(l.c, dir, risk(holdgate.RiskMedium), l.edit)); got != l.released {
				t.Errorf("%s: released %t, want %t", name, got, l.released)
			}
		}
	})
	t.Run("denied", func(t *testing.T) {
		b := newBench(t)
		r := b.asks(asked, seen(asked, dir, risk(holdgate.RiskMedium), once))
		no := approve(r, "ana")
		no.Decision = holdgate.AnswerDeny
		b.decide(r, no)
		if b.released(asked, seen(asked, dir, risk(holdgate.RiskMedium), once)) {
			t.Error("a denied question is answered")
		}
	})
	for name, c := range map[string]holdgate.Call{"a tool call": call("Bash", args{"command": "ls"}), "no tools at the provider": searching(1)} {
		t.Run("means nothing of "+name, func(t *testing.T) {
			b := newBench(t)
			r := b.asks(c, seen(c, dir, once))
			if got := b.decide(r, approve(r, "ana")); got.Outcome.Grant != "" {
				t.Errorf("a grant was made: %+v", got.Outcome)
			}
		})
	}
}
