package rego

import (
	"encoding/json"
	"strings"
	"testing"
)

// The facts of an input are the JSON that rules read as input.facts.
func TestTheFactsOfAnInput(t *testing.T) {
	t.Parallel()
	e := open(t, Options{})
	for name, c := range map[string]struct{ input, want string }{
		"found": {`{"kind":"tool_call","tool":{"name":"Bash","arguments":{"command":"git push --force"}}}`, "git push --force"},
		"given": {`{"kind":"tool_call","tool":{"name":"Bash","arguments":{}},"facts":{"commands":[{"program":"make","argv":["make","all"]}]}}`, "make all"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := e.Facts(t.Context(), []byte(c.input))
			var got struct {
				Commands []struct{ Argv []string }
				Impact   struct{ Paths int }
			}
			if err == nil {
				err = json.Unmarshal(text, &got)
			}
			if err != nil || len(got.Commands) != 1 || strings.Join(got.Commands[0].Argv, " ") != c.want {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
	if text, err := e.Facts(t.Context(), []byte(`{"kind":"tool_call","surprise":1}`)); err == nil {
		t.Errorf("what policy does not know has the facts %s", text)
	}
}
