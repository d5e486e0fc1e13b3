package gate_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

// grantPolicy asks one question about everything that is gated, and a second
// one about what says twice. What says never must be answered by a person.
const grantPolicy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "grant.allow"}

text := sprintf("%v %v", [
	object.get(input, ["tool", "arguments"], ""),
	object.get(input, ["model", "name"], ""),
])

answered contains a.rule if some a in input.answers

decision := {"action": "deny", "rule": "grant.deny", "reason": "a grant does not make it right"} if {
	contains(text, "revoked")
	"grant.first" in answered
} else := {"action": "hold", "rule": "grant.second", "reason": "one more question"} if {
	contains(text, "twice")
	"grant.first" in answered
} else := {"action": "hold", "rule": "grant.required", "reason": "a person, each time", "hold": {"required": true}} if {
	contains(text, "never")
} else := {"action": "hold", "rule": "grant.first", "reason": "it says gated"} if {
	contains(text, "gated")
}
`

func TestAGrantAnswersInAPersonsPlace(t *testing.T) {
	t.Parallel()
	sent := func(t *testing.T, command string) (*proxytest.Sidecar, func() string) {
		var seen proxytest.Counter
		up := proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", command), proxytest.MessageEnd("tool_use"))
		g := proxytest.New(t, up, proxytest.WithPolicy(t, grantPolicy))
		return g, func() string {
			return proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
		}
	}
	first := func(g *proxytest.Sidecar, send func() string) {
		got := make(chan string, 1)
		go func() { got <- send() }()
		g.ApproveAndRemember(approvals.Remember{})
		if body := <-got; !strings.Contains(body, "toolu_1") {
			t.Errorf("the approved call did not go on:\n%s", body)
		}
	}
	t.Run("the same call goes on unasked, its use in the log before it", func(t *testing.T) {
		g, send := sent(t, "echo gated")
		first(g, send)
		if body := send(); !strings.Contains(body, "toolu_1") {
			t.Fatalf("the call did not go on:\n%s", body)
		}
		used := g.Entries(audit.TypeGranted)
		if len(used) != 1 || used[0].Decision.Rule != "grant.first" || used[0].Grant == "" {
			t.Errorf("logged: %+v", used)
		}
		last := g.Entries(audit.TypeDecision)
		if d := last[len(last)-1]; d.Decision.Action != holdgate.Allow || d.Seq < used[0].Seq {
			t.Errorf("the last decision is %+v", d)
		}
		g.Verified()
	})
	t.Run("it is asked about again where an earlier call has left the shell elsewhere", func(t *testing.T) {
		command := "echo gated > out"
		var seen proxytest.Counter
		g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", command), proxytest.MessageEnd("tool_use")).ServeHTTP(w, r)
		}), proxytest.WithPolicy(t, grantPolicy))
		send := func() string {
			return proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
		}
		first(g, send)
		for _, moved := range []string{"cd /srv/other && ls", "cd ..", "cd $ELSEWHERE"} {
			command = moved
			if body := send(); !strings.Contains(body, "toolu_1") {
				t.Fatalf("%s did not go on:\n%s", moved, body)
			}
			command = "echo gated > out"
			first(g, send) // waits for a person
			if body := send(); !strings.Contains(body, "toolu_1") {
				t.Errorf("after %s: the grant is not for where the shell stands:\n%s", moved, body)
			}
		}
	})
	t.Run("it is asked about again once the grant is revoked", func(t *testing.T) {
		g, send := sent(t, "echo gated")
		first(g, send)
		list, err := g.Queue.Grants.List(t.Context(), "")
		proxytest.Must(t, err)
		_, err = g.Queue.Grants.Revoke(t.Context(), list[0].ID, "ann")
		proxytest.Must(t, err)
		got := make(chan string, 1)
		go func() { got <- send() }()
		g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "not again")
		if body := <-got; strings.Contains(body, "toolu_1") {
			t.Errorf("the call went on:\n%s", body)
		}
	})
	t.Run("the next question is still asked", func(t *testing.T) {
		g, send := sent(t, "echo gated twice")
		got := make(chan string, 1)
		go func() { got <- send() }()
		g.ApproveAndRemember(approvals.Remember{})
		g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
		<-got
		go func() { got <- send() }()
		r := g.Pending(1)[0]
		if r.Rule != "grant.second" {
			t.Errorf("asked under %s", r.Rule)
		}
		g.Decide(r, holdgate.AnswerDeny, "no")
		if body := <-got; strings.Contains(body, "toolu_1") {
			t.Errorf("the call went on:\n%s", body)
		}
	})
	t.Run("policy still denies", func(t *testing.T) {
		g, send := sent(t, "echo gated revoked")
		got := make(chan string, 1)
		go func() { got <- send() }()
		g.ApproveAndRemember(approvals.Remember{})
		if body := <-got; !strings.Contains(body, "grant.deny") {
			t.Errorf("the approved call went on:\n%s", body)
		}
		if body := send(); !strings.Contains(body, "grant.deny") {
			t.Errorf("the granted call went on:\n%s", body)
		}
	})
	t.Run("a required answer cannot be remembered", func(t *testing.T) {
		g, send := sent(t, "echo never")
		got := make(chan string, 1)
		go func() { got <- send() }()
		r := g.Pending(1)[0]
		for _, way := range r.Allow {
			if way == "remember" {
				t.Error("remembering is offered")
			}
		}
		g.Decide(r, holdgate.AnswerDeny, "no")
		<-got
	})
	t.Run("a model request goes on unasked too", func(t *testing.T) {
		var seen proxytest.Counter
		g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"id":"msg_1","type":"message","role":"assistant","model":"gated","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{}}`), proxytest.WithPolicy(t, grantPolicy))
		ask := func(content string) string {
			return proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, `{"model":"gated","max_tokens":9,"messages":[{"role":"user","content":"`+content+`"}]}`).Body)
		}
		got := make(chan string, 1)
		go func() { got <- ask("one") }()
		g.ApproveAndRemember(approvals.Remember{})
		<-got
		if body := ask("two"); !strings.Contains(body, "hello") {
			t.Errorf("the next request did not go on:\n%s", body)
		}
	})
}
