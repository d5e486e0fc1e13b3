package gate

import (
	"encoding/json"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// A hook's call is not counted where it was counted in a model's answer. Its id is the
// agent's word, and does not make another call the one that was there.
func TestTheIdOfACallAtAHookIsNotTheCall(t *testing.T) {
	t.Parallel()
	m := newProvenance()
	who := approvals.Caller{Agent: holdgate.Agent{ID: "a"}, Session: holdgate.Session{ID: "s"}}
	tool := func(name, command string) *holdgate.Tool {
		return &holdgate.Tool{Name: name, Arguments: json.RawMessage(`{"command":"` + command + `"}`)}
	}
	m.became(who, "c1", tool("Bash", "ls"), fateReleased)
	for _, tt := range []struct {
		id   string
		call *holdgate.Tool
		same bool
	}{
		{"c1", tool("Bash", "ls"), true},
		{"c2", tool("Bash", "ls"), true},
		{"c1", tool("Bash", "rm a"), false},
		{"c1", tool("Other", "ls"), false},
		{"", tool("Bash", "rm a"), false},
	} {
		if _, same, _ := m.reached(who, tt.id, tt.call); same != tt.same {
			t.Errorf("%s with %s %s is the same: %t", tt.id, tt.call.Name, tt.call.Arguments, same)
		}
	}
}
