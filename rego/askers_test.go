package rego

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

func TestRulesThatNameApproversAreListed(t *testing.T) {
	e := open(t, Options{Path: write(t, map[string]string{"a.rego": `package holdgate.custom.a

decisions contains {"action": "hold", "rule": "a.ask", "hold": {"approvers": {"roles": ["security"], "quorum": 2, "escalate": [{"after": "10m", "users": ["eve"]}]}}} if {
	input.tool.name == "a"
}

decisions contains {"action": "hold", "rule": "a.computed", "hold": {"approvers": {"users": [input.agent.id]}}} if input.tool.name == "b"

decisions contains {"action": "hold", "rule": "a.anybody"} if input.tool.name == "c"
`})})
	var got []Asker
	for _, a := range e.Askers() {
		if len(a.IDs) == 1 && a.IDs[0] == "a.ask" {
			a.Location = ""
			got = append(got, a)
		} else if len(a.Approvers.Roles)+len(a.Approvers.Users) > 0 {
			t.Errorf("got %+v too", a)
		}
	}
	want := []Asker{{IDs: []string{"a.ask"}, Approvers: holdgate.Approvers{
		Roles: []string{"security"}, Quorum: 2, Escalate: []holdgate.Escalation{{After: 10 * time.Minute, Users: []string{"eve"}}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("askers (-want +got):\n%s", diff)
	}
}
