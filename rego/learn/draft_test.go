package learn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
)

func bash(line string) rego.Input { return tool("Bash", fmt.Sprintf(`{"command":%q}`, line)) }

func draft(t *testing.T, r *recorder, in rego.Input, kind learn.DraftKind) (learn.Drafted, error) {
	t.Helper()
	return learn.Draft(t.Context(), r.engine, learn.PastOf(r.decide(in), rego.Own{}), kind)
}

// A drafted rule is about what the call was asked for, and not about the line's first
// command: it asks about the call and its like, and about nothing else.
func TestADraftIsOfTheCommandThatWasAskedAbout(t *testing.T) {
	r := record(t, nil)
	for _, c := range []struct{ of, also, other string }{
		{"cd src && git push --force origin main", "git push --force origin other", "cd src && ls"},
		{"git status && kubectl delete pod web-1", "kubectl delete pod web-2", "git status"},
		{"make build", "make test", "ls"},
		{"cd src && ls", "ls -l", "cd src"},
	} {
		d, err := draft(t, r, bash(c.of), learn.DraftRefuse)
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
			continue
		}
		e := policy(t, map[string]string{d.Name + ".rego": d.Files[d.Name+".rego"]})
		for line, want := range map[string]bool{c.of: true, c.also: true, c.other: false} {
			if got := e.Decide(t.Context(), bash(line)); (got.Rule == d.Name && got.Action == holdgate.Deny) != want {
				t.Errorf("drafted of %q, of %q the policy says %s by %s: want by the draft: %t\n%s", c.of, line, got.Action, got.Rule, want, d.Files[d.Name+".rego"])
			}
		}
	}
}

// "Never ask" is an exception for calls like one. Where the rule does not say what it asks
// about, or asks for all that comes to a gate, the exception would be for far more.
func TestNeverAskIsRefusedWhereItWouldBeForMore(t *testing.T) {
	r := record(t, map[string]string{"own.rego": `package holdgate.custom.own

decisions contains {"action": "hold", "rule": "own.all", "risk": "low", "reason": "all"} if input.tool.name == "all"

decisions contains {"action": "hold", "rule": "own.gate", "risk": "low", "reason": "gate", "about": [input.tool.name], "hold": {"gate": "code_review"}} if input.tool.name == "gated"

decisions contains {"action": "hold", "rule": "own.each", "risk": "low", "reason": "each", "about": [input.tool.name], "hold": {"required": true}} if input.tool.name == "each"

decisions contains {"action": "hold", "rule": "own.plain", "risk": "low", "reason": "plain", "about": [input.tool.name]} if input.tool.name == "plain"
`, "settings.yaml": "settings: {tools: {all: auto, gated: auto, each: auto, plain: auto}}\n"})
	for name, says := range map[string]string{"all": "does not say what", "gated": "at the gate code_review", "each": "each time"} {
		if d, err := draft(t, r, tool(name, `{}`), learn.DraftNever); !errors.Is(err, learn.ErrDraft) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, %v: want an error with %q", name, d.Files, err, says)
		}
	}
	d, err := draft(t, r, tool("plain", `{}`), learn.DraftNever)
	if err != nil || !strings.Contains(d.Files[learn.ExceptionsFile], "own.plain") {
		t.Errorf("got %v, %v", d.Files, err)
	}
}

// A new exception stands beside those that are in force, and nothing else is lost.
func TestExceptionsAreAddedToAFile(t *testing.T) {
	t.Parallel()
	const more = "settings:\n  exceptions:\n    - {rule: new}\n"
	for file, want := range map[string]string{
		"settings:\n    exceptions:\n        - {rule: old}\n    # of ours\n    approvers: {high: {quorum: 2}}\nother: [1]\n": `{"other":[1],"settings":{"approvers":{"high":{"quorum":2}},"exceptions":[{"rule":"old"},{"rule":"new"}]}}`,
		"":                             `{"settings":{"exceptions":[{"rule":"new"}]}}`,
		"# nothing\n":                  `{"settings":{"exceptions":[{"rule":"new"}]}}`,
		"settings:\n":                  `{"settings":{"exceptions":[{"rule":"new"}]}}`,
		"settings: {profile: strict}":  `{"settings":{"exceptions":[{"rule":"new"}],"profile":"strict"}}`,
		"settings: {exceptions: []}":   `{"settings":{"exceptions":[{"rule":"new"}]}}`,
		"settings: {exceptions: null}": `{"settings":{"exceptions":[{"rule":"new"}]}}`,
		"settings: {exceptions: x}":    "",
		"settings: [x]":                "",
		"[x]":                          "",
		"settings: {":                  "",
	} {
		text, err := learn.WithExceptions(file, more)
		var got map[string]any
		if yerr := yaml.Unmarshal([]byte(text), &got); err == nil && yerr != nil {
			t.Errorf("%q: %v", file, yerr)
		}
		raw, _ := json.Marshal(got)
		if (err != nil) != (want == "") || want != "" && string(raw) != want {
			t.Errorf("%q: %s, %v, want %s", file, raw, err, want)
		}
		if strings.Contains(file, "of ours") && !strings.Contains(text, "# of ours") {
			t.Errorf("a comment is lost:\n%s", text)
		}
	}
}
