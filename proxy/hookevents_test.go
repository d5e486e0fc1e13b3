package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/store/audit"
)

// A hookTeller tells the sidecar of events as a hook does.
type hookTeller struct {
	*proxytest.Sidecar

	t     *testing.T
	agent string
}

// tells tells of an event of session s1 with these members besides.
func (h hookTeller) tells(event, query, more string) agentapi.HookVerdict {
	h.t.Helper()
	status, body := h.AskAPI(http.MethodPost, "/v1/hooks/"+h.agent+query, fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s1","cwd":"/src",%s}`, event, more))
	if status != http.StatusOK {
		h.t.Fatalf("status %d: %s", status, body)
	}
	return proxytest.Read[agentapi.HookVerdict](h.t, body)
}

func bash(command, id string) string {
	return fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":%q`, command, id)
}

// waitsAt asks at an event and has ann answer the question.
func (h hookTeller) waitsAt(event, command string, a holdgate.Answer) agentapi.HookVerdict {
	h.t.Helper()
	got := make(chan agentapi.HookVerdict, 1)
	go func() { got <- h.tells(event, "?wait=1m", bash(command, "")) }()
	h.Decide(h.Pending(1)[0], a, "so be it")
	return <-got
}

// What people approved before the call, the agent's own user is not asked about: for that call,
// once. Codex and Claude Code ask their user behind the hook.
func TestTheAgentsUserIsNotAskedAboutWhatPeopleApproved(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "codex"}
	if v := h.waitsAt("PreToolUse", "gated", holdgate.AnswerApprove); v.Status != holdgate.StatusApproved {
		t.Fatalf("%+v", v)
	}
	for what, command := range map[string]string{"another call": "gated too", "what policy lets go on": "ls"} {
		if v := h.tells("PermissionRequest", "?wait=0s", bash(command, "")); strings.Contains(v.Output, "allow") {
			t.Errorf("%s is approved: %+v", what, v)
		}
	}
	if v := h.tells("PermissionRequest", "?wait=0s", bash("gated", "")); !strings.Contains(v.Output, `"behavior":"allow"`) || v.Request != "" {
		t.Errorf("the user is asked again: %+v", v)
	}
	if v := h.tells("PermissionRequest", "?wait=0s", bash("gated", "")); v.Status != holdgate.StatusPending || !strings.Contains(v.Output, `"behavior":"deny"`) {
		t.Errorf("one approval spares the user two questions: %+v", v)
	}
}

// Qwen Code asks its user before the hook of the call. People are asked once, the approval is
// used where the call comes, and once.
func TestAnApprovalWhenTheAgentAsksWaitsForTheCall(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "qwen"}
	if v := h.waitsAt("PermissionRequest", "gated", holdgate.AnswerApprove); !strings.Contains(v.Output, `"behavior":"allow"`) {
		t.Fatalf("%+v", v)
	}
	if len(h.Entries(audit.TypeUsed)) != 0 {
		t.Error("the approval is used before the call comes")
	}
	if v := h.tells("PreToolUse", "?wait=0s", bash("gated", "c1")); v.Status != holdgate.StatusApproved {
		t.Errorf("people are asked again: %+v", v)
	}
	if v := h.tells("PreToolUse", "?wait=0s", bash("gated", "c2")); v.Status != holdgate.StatusPending {
		t.Errorf("the approval is used twice: %+v", v)
	}
	if used := h.Entries(audit.TypeUsed); len(used) != 1 {
		t.Errorf("it is used %d times", len(used))
	}
	h.Verified()
}

// Claude Code asks its user behind the hook of the call, which runs next: what people approve
// then is used, and is not there for the same call once more.
func TestAnApprovalBehindTheHookIsUsedThere(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "claude"}
	if v := h.waitsAt("PermissionRequest", "gated", holdgate.AnswerApprove); !strings.Contains(v.Output, `"behavior":"allow"`) {
		t.Fatalf("%+v", v)
	}
	if v := h.tells("PreToolUse", "?wait=0s", bash("gated", "c2")); v.Status != holdgate.StatusPending {
		t.Errorf("the same call passes once more: %+v", v)
	}
	h.Verified()
}

// An agent that people have stopped meanwhile is not told that they approve.
func TestAStoppedAgentsUserIsSparedNothing(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "claude"}
	if v := h.waitsAt("PreToolUse", "gated", holdgate.AnswerApprove); v.Status != holdgate.StatusApproved {
		t.Fatalf("%+v", v)
	}
	h.Intervene(holdgate.AgentDefault, agents.Stop)
	if v := h.tells("PermissionRequest", "?wait=0s", bash("gated", "")); strings.Contains(v.Output, `"behavior":"allow"`) {
		t.Errorf("%+v", v)
	}
}

// What Holdgate refuses by itself is logged without credentials, as what policy decides is.
func TestARefusalOfHoldgatesOwnLogsNoCredential(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "claude"}
	h.Intervene(holdgate.AgentDefault, agents.Stop)
	h.tells("PreToolUse", "?wait=0s", bash("PGPASSWORD=hunter22 psql", "c1"))
	logged := 0
	for _, e := range h.Entries(audit.TypeDecision) {
		if e.Decision.Rule != holdgate.RuleStopped {
			continue
		}
		if logged++; strings.Contains(string(e.Input), "hunter22") || !strings.Contains(string(e.Input), "psql") {
			t.Errorf("the log has %s", e.Input)
		}
	}
	if logged == 0 {
		t.Error("no refusal is in the log")
	}
}

// What policy lets go on by itself is left to the agent's user, and what people deny is denied
// there with their words.
func TestWhatElseTheAgentsUserIsAsked(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "claude"}
	if v := h.tells("PermissionRequest", "?wait=0s", bash("ls", "")); v.Status != holdgate.StatusApproved || v.Output != "" || v.Text != "" {
		t.Errorf("%+v", v)
	}
	v := h.waitsAt("PermissionRequest", "gated", holdgate.AnswerDeny)
	if v.Status != holdgate.StatusDenied || !strings.Contains(v.Output, `"behavior":"deny"`) || !strings.Contains(v.Output, "so be it") {
		t.Errorf("%+v", v)
	}
}

// What came of a call is in the log with the call's request, and counts for the session.
func TestWhatCameOfACallIsWrittenDown(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "claude"}
	h.tells("UserPromptSubmit", "", `"prompt":"clean up; the key is sk-ant-api03-`+strings.Repeat("a1B2", 24)+`"`)
	got := make(chan agentapi.HookVerdict, 1)
	go func() { got <- h.tells("PreToolUse", "?wait=1m", bash("gated", "c1")) }()
	r := h.Pending(1)[0]
	if got := r.Briefing.Place.Task; got != "“clean up; the key is [redacted]”" {
		t.Errorf("the task is %s", got)
	}
	h.Decide(r, holdgate.AnswerApprove, "")
	<-got
	h.tells("PostToolUseFailure", "", bash("gated", "c1")+`,"error":"Exit code 3\nno"`)
	h.tells("PreToolUse", "?wait=0s", bash("ls", "c2"))
	h.tells("PostToolUse", "", bash("ls", "c2")+`,"tool_response":{"stdout":"abc"}`)
	var notes []string
	for _, e := range h.Entries(audit.TypeResult) {
		if strings.HasPrefix(e.Note, "by the agent's word") {
			notes = append(notes, e.RequestID+" "+e.Call.ID+" "+e.Note)
		}
	}
	want := r.ID + " c1 by the agent's word: the tool failed, exit code 3, 14 bytes came back, c2 by the agent's word: the tool ended well, 3 bytes came back"
	if got := strings.Join(notes, ","); got != want {
		t.Errorf("the log has %q, want %q", got, want)
	}
	s, err := h.Queue.Sessions.Track(t.Context(), "default", "s1")
	proxytest.Must(t, err)
	if n := s.Results().Count(); n.Succeeded != 1 || n.Failed != 1 {
		t.Errorf("the session counts %+v", n)
	}
	if found := h.Entries(audit.TypeFinding); len(found) != 0 {
		t.Errorf("the findings are %+v", found)
	}
	h.Verified()
}

// A call that has run without being let is a finding: refused, waiting, or never asked about.
// What ran before the sidecar knew the session is none, nor is a tool that has failed.
func TestACallThatRanWithoutBeingLetIsAFinding(t *testing.T) {
	t.Parallel()
	h := hookTeller{proxytest.New(t, nil), t, "claude"}
	ran := func(command, id string) {
		h.tells("PostToolUse", "", bash(command, id)+`,"tool_response":{"stdout":""}`)
	}
	ran("before", "c0")
	if found := h.Entries(audit.TypeFinding); len(found) != 0 {
		t.Fatalf("what ran before is %+v", found)
	}
	h.tells("PreToolUse", "?wait=0s", bash("ls", "c1"))
	ran("ls", "c1")
	ran("ls", "c1")
	ran("unseen", "c2")
	if v := h.waitsAt("PreToolUse", "gated denied", holdgate.AnswerDeny); v.Status != holdgate.StatusDenied {
		t.Fatalf("%+v", v)
	}
	ran("gated denied", "")
	h.tells("PreToolUse", "?wait=0s", bash("gated", "c3"))
	ran("gated", "c3")
	h.tells("PostToolUseFailure", "", bash("unseen too", "c5")+`,"error":"no"`)
	var got []string
	for _, e := range h.Entries(audit.TypeFinding) {
		got = append(got, strings.TrimPrefix(e.Note, "unapproved: the agent has run a call of Bash "))
	}
	want := "that its hook has not asked about|that its hook has not asked about|that was refused|that waits for people to decide"
	if strings.Join(got, "|") != want {
		t.Errorf("the findings are %q, want %q", got, want)
	}
}
