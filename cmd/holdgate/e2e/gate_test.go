package e2e_test

import (
	"strings"
	"testing"
)

// A script goes through gates with `holdgate gate`, and a person answers in each
// way. Nobody has told it what the approvers' door is, nor a token.
func TestAScriptPassesGates(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	door := []string{"HOLDGATE_AGENTS=" + s.agents, "HOLDGATE_STATE_DIR=" + stateDir(t), "HOLDGATE_SESSION=work-1"}
	person := []string{"HOLDGATE_STATE_DIR=" + s.dir}
	file := write(t, "change.diff", "-old\n+new\n")
	for _, c := range []struct {
		name   string
		answer []string
		code   int
		says   string
	}{
		{"approved", []string{"approve", "ID", "--feedback", "well done"}, 0, "well done"},
		{"denied", []string{"reject", "ID", "--reason", "too early"}, 3, "too early"},
		{"steered", []string{"steer", "ID", "add tests:\n- of lines\n\n- of \u202etricks"}, 5, "add tests:\n- of lines\n\n- of tricks\n"},
	} {
		gate := []string{"gate", "before_commit", "--message", c.name, "--context", "diff=@" + file, "--artifact", "a.go"}
		asked := holdgate(t, door, append(gate, "--wait=false")...)
		id := strings.TrimSpace(asked.stdout)
		if asked.code != 4 || id == "" {
			t.Fatalf("%s: asked: %v", c.name, asked)
		}
		seen := holdgate(t, person, "show", id).stdout
		policy, said, _ := strings.Cut(seen, "-- the agent says: its word, not checked --")
		if !strings.Contains(said, "  > diff:\n  >   -old\n  >   +new\n") || !strings.Contains(policy, "before_commit") {
			t.Errorf("%s: people see %s", c.name, seen)
		}
		if strings.Contains(said, "Commit this?") || !strings.Contains(policy, "\nasked      Commit this?\n") {
			t.Errorf("%s: the gate's own message is not policy's: %s", c.name, seen)
		}
		if c.answer[1] = id; c.answer[0] == "approve" {
			shown := parse[request](t, holdgate(t, person, "show", id, "--json").stdout)
			c.answer = append(c.answer, "--digest", shown.Call.Digest)
		}
		if r := holdgate(t, person, c.answer...); r.code != 0 {
			t.Fatalf("%s: answering: %v", c.name, r)
		}
		if r := holdgate(t, door, gate...); r.code != c.code || !strings.Contains(r.stdout, c.says) {
			t.Errorf("%s: want exit code %d, got %v", c.name, c.code, r)
		}
	}
	if r := holdgate(t, person, "sessions", "list"); !strings.Contains(r.stdout, "work-1") || !strings.Contains(r.stdout, "before_commit") {
		t.Errorf("the session: %v", r)
	}
	if r := holdgate(t, door, "gate", "Before Commit"); r.code != 2 || !strings.Contains(r.stderr, "type must be") {
		t.Errorf("a type that is none: %v", r)
	}
	if r := holdgate(t, door, "gate", "expires", "--timeout", "1s"); r.code != 3 {
		t.Errorf("nobody answers: %v", r)
	}
	if r := holdgate(t, person, "audit", "verify"); r.code != 0 {
		t.Errorf("the log: %v", r)
	}
	// As under `holdgate run`, which names the door as a proxy only.
	proxied := []string{"HTTP_PROXY=http://" + s.agents, "HOLDGATE_STATE_DIR=" + stateDir(t)}
	if r := holdgate(t, proxied, "gate", "before_commit", "--wait=false"); r.code != 4 {
		t.Errorf("by the proxy's variable: %v", r)
	}
}
