package proxy_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/store/audit"
)

// hooked asks about a command as Claude Code's hook does.
func hooked(g *proxytest.Sidecar, t *testing.T, id, folder, command, query string) agentapi.HookVerdict {
	t.Helper()
	status, body := g.AskAPI(http.MethodPost, "/v1/hooks/claude"+query, fmt.Sprintf(
		`{"hook_event_name":"PreToolUse","session_id":"s1","cwd":%q,"tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":%q}`, folder, command, id))
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	return proxytest.Read[agentapi.HookVerdict](t, body)
}

// The folder is the agent's word: it never makes a call pass that is asked about in the
// session's own folder.
func TestAHooksFolderOnlyNarrows(t *testing.T) {
	t.Parallel()
	const work = "/home/u/app" // files for temporary use are written unasked
	g := proxytest.NewTo(t, nil, nil, proxytest.WithShippedPolicy(), func(c *proxy.Config) { c.Dir, c.Home = work, "/home/u" })
	passes := func(folder, command string) bool {
		return hooked(g, t, "", folder, command, "").Status == holdgate.StatusApproved
	}
	for _, tt := range []struct {
		folder, command string
		passes          bool
	}{
		{work, "echo x > a", true},
		{"", "echo x > a", true},
		{filepath.Join(work, "sub"), "echo x > a", true},
		{filepath.Join(work, "sub"), "echo x > ../a", false},
		{"/home/u/other", "echo x > a", false},
		{"/home/u/other", "echo x > /home/u/other/a", false},
		{"/", "echo x > " + work + "/a", false},
		{work + "/../..", "echo x > a", false},
	} {
		if got := passes(tt.folder, tt.command); got != tt.passes {
			t.Errorf("in %q, %q passes: %t, want %t", tt.folder, tt.command, got, tt.passes)
		}
	}
}

// What policy refuses without asking anybody is denied in so many words: with no status
// the hook would say that Holdgate cannot be asked.
func TestWhatPolicyRefusesIsDeniedAtTheHook(t *testing.T) {
	t.Parallel()
	g := proxytest.NewTo(t, nil, nil, proxytest.WithShippedPolicy())
	got := hooked(g, t, "toolu_1", "/home/u/app", "holdgate approve abc", "")
	if got.Status != holdgate.StatusDenied || got.Request != "" || !strings.Contains(got.Text, "denied by policy") {
		t.Errorf("the hook is told %+v, want denied by policy", got)
	}
}

// What people approved in a model's answer passes the hook once, whichever way its
// arguments are written; an approval at the hook covers nothing else.
func TestAnApprovalInAModelsAnswerPassesTheHookOnce(t *testing.T) {
	t.Parallel()
	g := newOnceGate(t)
	g.approved("toolu_1", "Bash", `{"command":"gated"}`, nil)
	if v := hooked(g.Sidecar, t, "toolu_1", "/src", "gated", ""); v.Status != holdgate.StatusApproved || !strings.Contains(v.Output, "allow") {
		t.Errorf("it was asked about again: %+v", v)
	}
	v := hooked(g.Sidecar, t, "toolu_1", "/src", "gated", "")
	if v.Status != holdgate.StatusPending || !strings.Contains(v.Text, v.Request) {
		t.Errorf("it passed twice: %+v", v)
	}
	r := g.Pending(1)[0]
	_, err := g.Queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Assurance: "local", Digest: r.Call.Digest})
	proxytest.Must(t, err)
	if v := hooked(g.Sidecar, t, "toolu_2", "/src", "gated", ""); v.Status != holdgate.StatusApproved || v.Request != r.ID {
		t.Errorf("the call asked again should take up its request: %+v", v)
	}
	if v := hooked(g.Sidecar, t, "toolu_2", "/src", "gated", ""); v.Status != holdgate.StatusPending {
		t.Errorf("an approval at the hook was used twice: %+v", v)
	}
	g.Verified()
}

// A call that no model has asked for is a finding, in a session whose model is asked
// through Holdgate, and in no other.
func TestACallThatReachesTheHookUnseenIsAFinding(t *testing.T) {
	t.Parallel()
	g := newOnceGate(t)
	if hooked(g.Sidecar, t, "toolu_0", "/src", "ls", ""); len(g.Entries(audit.TypeFinding)) != 0 {
		t.Error("a session without model traffic has a finding")
	}
	g.answer = proxytest.ModelCalls("toolu_1", "Bash", `{"command":"ls"}`)
	if status, body := g.AskAPI(http.MethodPost, proxytest.Messages, proxytest.AskPlain); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	hooked(g.Sidecar, t, "toolu_1", "/src", "ls", "")
	if found := g.Entries(audit.TypeFinding); len(found) != 0 {
		t.Errorf("the model's own call is a finding: %+v", found)
	}
	hooked(g.Sidecar, t, "toolu_9", "/src", "whoami", "")
	if found := g.Entries(audit.TypeFinding); len(found) != 1 || !strings.Contains(found[0].Note, "no model has asked for") {
		t.Errorf("the findings are %+v", found)
	}
}

// What a hook says of itself is the agent's word: an agent cannot flood people with it.
func TestFindingsOfAHookAreBounded(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, nil, func(c *proxy.Config) { c.Quotas = func() gate.Limits { return gate.Limits{Decisions: 1} } })
	for range 20 {
		status, body := g.AskAPI(http.MethodPost, "/v1/hooks/claude?lapsed=7", `{"hook_event_name":"Stop","session_id":"s1"}`)
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, body)
		}
	}
	if n := len(g.Entries(audit.TypeFinding)); n == 0 || n > 10 {
		t.Errorf("20 reports made %d findings", n)
	}
}
