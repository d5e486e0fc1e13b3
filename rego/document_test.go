package rego

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/verdict"
)

// What a decision is written as must be read as the same decision.
func TestDocumentIsReadAsTheSameDecision(t *testing.T) {
	for _, rules := range []string{
		`decision := {"action": "allow"}`,
		`decision := {"action": "deny", "rule": "r", "reason": "why", "risk": "high", "redact": ["/tool/arguments/a"]}`,
		`decision := {"action": "hold"}`,
		`decision := {"action": "hold", "rule": "r", "reason": "why", "risk": "low", "also": [{"rule": "s", "reason": "too", "risk": "low"}],
	"hold": {"gate": "g", "kind": "choice", "message": "m", "options": [{"id": "a", "label": "A", "effect": "deny"}], "timeout": "90s", "required": true,
		"approvers": {"roles": ["ops"], "users": ["ada"], "quorum": 2, "assurance": "local", "four_eyes": true, "escalate": [{"after": "10m", "roles": ["leads"]}]},
		"allow": ["steer"], "show": ["diff"], "passes": true}}`,
	} {
		e := open(t, Options{Path: write(t, map[string]string{"p.rego": whole(rules)})})
		want := e.Decide(t.Context(), Input{Call: bashCall("ls")})
		doc := verdict.Document(want)
		if doc["revision"] != want.Revision {
			t.Errorf("the document does not say which revision decided: %v", doc)
		}
		delete(doc, "revision")
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := verdict.Read(ast.MustParseTerm(string(raw)).Value)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		got.Revision, want.Facts = want.Revision, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-decision +read again):\n%s", raw, diff)
		}
		if want.Action == holdgate.Hold && len(got.Hold.Approvers.Escalate) != len(want.Hold.Approvers.Escalate) {
			t.Error("escalation is lost")
		}
	}
}
