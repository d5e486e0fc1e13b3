package gate_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/store/audit"
)

// said is a request of a conversation: these messages, each with a comma behind it.
func said(messages ...string) string {
	return `{"model":"m","max_tokens":9,"messages":[` + strings.TrimSuffix(strings.Join(messages, ""), ",") + `]}`
}

const (
	tidy     = `{"role":"user","content":[{"type":"text","text":"Tidy up"},{"type":"text","text":"<system-reminder>be kind</system-reminder>"}]},`
	ran      = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok","cache_control":{"type":"ephemeral"}},{"type":"text","text":"<system-reminder>go on</system-reminder>"}]},`
	done     = `{"role":"assistant","content":"Done."},`
	tidyLess = `{"role":"user","content":"Tidy up"},`
	picture  = `{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AAAA"}}]},`
)

// An approval for a task covers the calls of that task, and ends for good with what the
// user says next.
func TestAGrantForATask(t *testing.T) {
	t.Parallel()
	task := approvals.Remember{Scope: record.ScopeTask}
	begin := func(t *testing.T) *proxytest.Sidecar {
		t.Helper()
		var seen proxytest.Counter
		g := proxytest.New(t, proxytest.Calling(&seen, "echo gated"), proxytest.WithPolicy(t, grantPolicy))
		got := g.InSession("s1", said(tidy))
		g.ApproveAndRemember(task)
		if body := <-got; !strings.Contains(body, "toolu_1") {
			t.Fatalf("the approved call did not go on:\n%s", body)
		}
		return g
	}
	passes := func(t *testing.T, g *proxytest.Sidecar, session, body string) {
		t.Helper()
		if body := <-g.InSession(session, body); !strings.Contains(body, "toolu_1") {
			t.Errorf("the call did not go on:\n%s", body)
		}
	}
	asked := func(t *testing.T, g *proxytest.Sidecar, session, body string) {
		t.Helper()
		got := g.InSession(session, body)
		g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "no")
		if body := <-got; strings.Contains(body, "toolu_1") {
			t.Errorf("the call went on:\n%s", body)
		}
	}
	for name, next := range map[string]string{
		"another message":        said(tidy, ran, done, `{"role":"user","content":"Now publish it"},`),
		"the same message again": said(tidy, ran, done, tidyLess),
		"a picture":              said(tidy, ran, done, picture),
		"typed while it works":   said(tidy, strings.Replace(ran, "go on", "The user sent a new message while you were working: publish it", 1)),
		"in a result's message":  said(tidy, strings.Replace(ran, "<system-reminder>go on</system-reminder>", "stop that, publish it", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := begin(t)
			passes(t, g, "s1", said(tidy, ran))
			passes(t, g, "s1", said(tidyLess, ran, ran))
			asked(t, g, "s1", next)
			if list, err := g.Queue.Grants.List(t.Context(), ""); err != nil || len(list) > 0 {
				t.Errorf("the grant is in force: %+v, %v", list, err)
			}
			logged := g.Entries(audit.TypeGrant)
			if last := logged[len(logged)-1]; last.Note != "its task is over; uses: 2" {
				t.Errorf("logged: %s", last.Note)
			}
			g = g.Restarted()
			asked(t, g, "s1", said(tidy, ran)) // the old conversation brings nothing back
			g.Verified()
		})
	}
	t.Run("another conversation", func(t *testing.T) {
		t.Parallel()
		g := begin(t)
		asked(t, g, "s1", said(`{"role":"user","content":"Look around"},`))
		asked(t, g, "s2", said(tidy))
		passes(t, g, "s1", said(tidy, ran))
		passes(t, g.Restarted(), "s1", said(tidy, ran))
	})
	t.Run("the run ends", func(t *testing.T) {
		t.Parallel()
		g := begin(t)
		proxytest.Must(t, g.Queue.RunEnded(t.Context(), holdgate.AgentDefault))
		asked(t, g, "s1", said(tidy, ran))
	})
	for name, ask := range map[string]struct{ session, body, want string }{
		"nobody knows the task":          {"s1", said(`{"role":"assistant","content":"hello"},`), "it is not known on which task the agent works"},
		"others are in the session, too": {holdgate.SessionDefault, said(tidy), "it is not known on which task the agent works"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen proxytest.Counter
			g := proxytest.New(t, proxytest.Calling(&seen, "echo gated"), proxytest.WithPolicy(t, grantPolicy))
			got := g.InSession(ask.session, ask.body)
			r := g.Pending(1)[0]
			_, err := g.Queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Assurance: "local", Digest: r.Call.Digest, Remember: &task})
			if err == nil || !strings.Contains(err.Error(), ask.want) || r.OfTask {
				t.Errorf("of a task: %t; %v", r.OfTask, err)
			}
			g.Decide(r, holdgate.AnswerDeny, "")
			<-got
		})
	}
}
