package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// Seed 003: `run --interactive` stops the agent's work before its first change, after
// changes and before each commit, though the agent knows nothing of gates.
func TestRunInteractiveStopsAtItsGates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		flags []string
		held  bool
	}{{"interactive", []string{"--unconfined", "--interactive"}, true}, {"not", []string{"--unconfined"}, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := runAsker(t, stateDir(t), c.flags...)
			for command, gate := range map[string]string{"cp a b": "before_implement", "go test ./...": "after_implement", "git commit -m x": "before_commit"} {
				got := a.ask(`http://DOOR/v1/would {"tool":"Bash","arguments":{"command":"` + command + `"}}`)
				if held := strings.Contains(got, `"hold"`) && strings.Contains(got, gate); held != c.held {
					t.Errorf("%s: %s", command, got)
				}
			}
			if got := a.ask(`http://DOOR/v1/would {"tool":"Bash","arguments":{"command":"ls"}}`); !strings.Contains(got, `"allow"`) {
				t.Errorf("looking around: %s", got)
			}
		})
	}
}

// Seed 004: for tests of other people's agents Holdgate answers everything by itself.
func TestServeAnswersEverythingByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		auto             string
		approval, choice int // exit codes of a script at a gate
		says             string
	}{{"approve", 0, 0, "who chose a"}, {"deny", 3, 3, ""}, {"first-option", 0, 0, "who chose a"}} {
		t.Run(c.auto, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, "--auto", c.auto)
			door := []string{"HOLDGATE_AGENTS=" + s.agents, "HOLDGATE_STATE_DIR=" + stateDir(t)}
			if r := holdgate(t, door, "gate", "my_check", "--message", "Go on?"); r.code != c.approval || !strings.Contains(r.stdout, "answered by --auto") {
				t.Errorf("an approval: want exit code %d, got %v", c.approval, r)
			}
			if r := holdgate(t, door, "gate", "my_choice", "--message", "Which?", "--option", "a=go ahead", "--option", "b=go back"); r.code != c.choice || !strings.Contains(r.stdout, c.says) {
				t.Errorf("a choice: want exit code %d and %q, got %v", c.choice, c.says, r)
			}
		})
	}
}

// agentSays asks the agents' API as session work-1, and reads the answer.
func agentSays[T any](t *testing.T, s *sidecar, method, path, text string) T {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.agents+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Session-Id", "work-1")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s (%v)", method, path, resp.StatusCode, raw, err)
	}
	return v
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

type said struct {
	Seq       uint64 `json:"seq"`
	Type      string `json:"type"`
	From      string `json:"from"`
	Content   string `json:"content"`
	InReplyTo uint64 `json:"in_reply_to"`
	Gate      string `json:"gate"`
}

// Seed 003, two-way clarification: an agent asks and waits, a person answers with a
// command and the agent gets it; and a person asks back before they decide.
func TestClarificationGoesBothWays(t *testing.T) {
	t.Parallel()
	told := make(chan string, 20)
	channel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // a channel that was killed has said nothing
		told <- string(b)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(channel.Close)
	secret := write(t, "webhook.secret", canaries["the webhook's secret"])
	config := write(t, "holdgate.yaml", "plugins:\n  webhook:\n    config: {url: "+quoted(channel.URL)+", secret_file: "+quoted(secret)+"}\n")
	s := serve(t, nil, "--config", config)
	asked := agentSays[said](t, s, "POST", "/v1/messages", `{"type":"clarification_request","content":"Keep the old format?"}`)
	if asked.Type != "clarification_request" || asked.Seq == 0 || asked.Gate == "" {
		t.Fatalf("the agent's question: %+v", asked)
	}
	for !strings.Contains(next(t, "a channel is told", told), "Keep the old format?") {
	}
	if list := s.must("pending"); !strings.Contains(list, asked.Gate) {
		t.Errorf("pending: %s", list)
	}
	if page := s.must("show", asked.Gate); !strings.Contains(page, "  >   Keep the old format?\n-- end of") || !strings.Contains(page, "holdgate steer "+asked.Gate) {
		t.Errorf("people see %s", page)
	}
	if shown := s.must("messages", "work-1"); !strings.Contains(shown, number(asked.Seq)) || !strings.Contains(shown, "Keep the old format?") {
		t.Errorf("people see %s", shown)
	}
	s.must("messages", "work-1", "--reply", number(asked.Seq), "yes, the old one too")
	got := agentSays[[]said](t, s, "GET", "/v1/messages?wait=60s&after="+number(asked.Seq), "")
	if len(got) != 1 || got[0].Type != "clarification_response" || got[0].InReplyTo != asked.Seq || got[0].Content != "yes, the old one too" || got[0].From == "" {
		t.Fatalf("the agent gets %+v", got)
	}
	if list := s.run("pending"); strings.Contains(list.stdout, asked.Gate) {
		t.Errorf("it was answered, and waits: %v", list)
	}
	for answer, want := range map[string][]string{
		"the new one": {"steer", "the new one"}, "Go on as you think best. you know it": {"approve", "--feedback", "you know it"},
		"This is not answered. ask later": {"deny", "--reason", "ask later"},
	} {
		asked = agentSays[said](t, s, "POST", "/v1/messages", `{"type":"clarification_request","content":"And the names?"}`)
		s.answer(asked.Gate, want...)
		got = agentSays[[]said](t, s, "GET", "/v1/messages?wait=60s&after="+number(asked.Seq), "")
		if len(got) != 1 || got[0].Type != "clarification_response" || got[0].InReplyTo != asked.Seq || got[0].Content != answer {
			t.Errorf("after %q the agent gets %+v", want, got)
		}
	}

	gate := agentSays[struct{ ID, Status string }](t, s, "POST", "/v1/gates", `{"type":"before_commit","message":"Commit the parser?"}`)
	s.must("messages", "work-1", "--ask", "Did you run the tests?")
	back := agentSays[[]said](t, s, "GET", "/v1/messages?wait=60s&after="+number(got[0].Seq), "")
	if len(back) != 1 || back[0].Type != "clarification_request" || back[0].Content != "Did you run the tests?" {
		t.Fatalf("the agent is asked %+v", back)
	}
	agentSays[said](t, s, "POST", "/v1/messages", `{"type":"clarification_response","content":"All of them, and they pass.","in_reply_to":`+number(back[0].Seq)+`}`)
	if shown := s.must("messages", "work-1"); !strings.Contains(shown, "All of them, and they pass.") {
		t.Errorf("people see %s", shown)
	}
	if again := agentSays[struct{ Status string }](t, s, "GET", "/v1/gates/"+gate.ID, ""); again.Status != "pending" {
		t.Errorf("asking back has decided: %+v", again)
	}
	s.answer(gate.ID, "approve")
	if ended := agentSays[struct{ Status string }](t, s, "GET", "/v1/gates/"+gate.ID+"?wait=60s", ""); ended.Status != "approved" {
		t.Errorf("the gate is %+v", ended)
	}
}

// Seeds 001, 002 and 003: a script goes through a session by the agents' API and by
// `holdgate gate`: its intent, a pause, a redirect, a commit and a stop.
func TestAScriptGoesThroughASession(t *testing.T) {
	t.Parallel()
	config := write(t, "holdgate.yaml", "gates: {intent_approval: {sessions: [\"work-*\"]}}\n")
	s := serve(t, []string{"HOLDGATE_CONFIG=" + config})
	door := []string{"HOLDGATE_AGENTS=" + s.agents, "HOLDGATE_STATE_DIR=" + stateDir(t), "HOLDGATE_SESSION=work-1"}
	type session struct {
		Status string   `json:"status"`
		Needed []string `json:"gates_needed"`
	}
	type gate struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	stands := func() session { return agentSays[session](t, s, "GET", "/v1/session", "") }
	if got := stands(); got.Status != "running" || len(got.Needed) != 1 || got.Needed[0] != "intent_approval" {
		t.Errorf("it begins as %+v", got)
	}
	intent := agentSays[gate](t, s, "POST", "/v1/gates", `{"type":"intent_approval","message":"Build the parser?"}`)
	if got := stands(); got.Status != "waiting_approval" {
		t.Errorf("while its intent waits it is %+v", got)
	}
	s.answer(intent.ID, "approve")
	if got := agentSays[gate](t, s, "GET", "/v1/gates/"+intent.ID+"?wait=60s", ""); got.Status != "approved" {
		t.Errorf("the intent is %+v", got)
	}
	if got := stands(); got.Status != "running" || len(got.Needed) != 0 {
		t.Errorf("behind its intent it is %+v", got)
	}

	s.must("pause", "default", "--reason", "let me look")
	if got := stands(); got.Status != "paused" {
		t.Errorf("paused it is %+v", got)
	}
	commit := agentSays[gate](t, s, "POST", "/v1/gates", `{"type":"before_commit","message":"Commit the parser?"}`)
	s.must("redirect", "default", "Leave the archive alone.")
	s.answer(commit.ID, "approve")
	if got := agentSays[gate](t, s, "GET", "/v1/gates/"+commit.ID, ""); got.Status != "pending" {
		t.Errorf("a paused agent is told of its answer: %+v", got)
	}
	s.must("resume", "default")
	if got := agentSays[gate](t, s, "GET", "/v1/gates/"+commit.ID+"?wait=60s", ""); got.Status != "approved" {
		t.Errorf("the commit is %+v", got)
	}
	if got := agentSays[[]said](t, s, "GET", "/v1/messages?wait=60s", ""); len(got) != 1 || got[0].Type != "redirect" || got[0].Content != "Leave the archive alone." {
		t.Errorf("it is redirected by %+v", got)
	}

	waits := holdgate(t, door, "gate", "before_commit", "--message", "And this?", "--wait=false")
	id := strings.TrimSpace(waits.stdout)
	if waits.code != 4 || id == "" {
		t.Fatalf("a gate by command: %v", waits)
	}
	s.must("stop", "default", "--reason", "enough for today")
	if got := stands(); got.Status != "stopped" {
		t.Errorf("stopped it is %+v", got)
	}
	if r := s.run("show", id, "--json"); !strings.Contains(r.stdout, `"cancelled"`) {
		t.Errorf("what it waited for is %v", r)
	}
	if r := holdgate(t, door, "gate", "before_commit", "--message", "And that?"); r.code != 3 || !strings.Contains(r.stdout+r.stderr, "enough for today") {
		t.Errorf("a stopped agent asks at a gate: %v", r)
	}
}
