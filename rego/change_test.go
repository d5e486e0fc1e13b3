package rego

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/rego/ruleset"
)

const (
	teamRule  = "package holdgate.custom.team\n\ndecisions contains {\"action\": \"deny\", \"rule\": \"team.no_make\"} if {\n\tsome c in input.facts.commands\n\tc.program == \"make\"\n}\n"
	otherRule = "\ndecisions contains {\"action\": \"hold\", \"rule\": \"team.ask_bake\"} if {\n\tsome c in input.facts.commands\n\tbaking[c.program]\n}\n\nbaking := {\"bake\"}\n"
)

func TestChangeSaysWhatDiffers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		was, is map[string]string
		want    string // as Change.String
		loosens bool
	}{
		{"a comment", map[string]string{"a.rego": teamRule}, map[string]string{"a.rego": "# a comment\n" + teamRule}, "nothing differs", false},
		{"a rule more", map[string]string{"a.rego": teamRule}, map[string]string{"a.rego": teamRule + otherRule}, "a.rego changed (team.ask_bake)", false},
		{"a file more", map[string]string{"a.rego": teamRule},
			map[string]string{"a.rego": teamRule, "b.rego": strings.ReplaceAll(teamRule, "team", "b")}, "b.rego added (b.no_make)", false},
		{"a rule less", map[string]string{"a.rego": teamRule + otherRule}, map[string]string{"a.rego": teamRule}, "a.rego changed (team.ask_bake) (may loosen)", true},
		{"a file less", map[string]string{"a.rego": teamRule, "b.rego": strings.ReplaceAll(teamRule, "team", "b")},
			map[string]string{"a.rego": teamRule}, "b.rego removed (b.no_make) (may loosen)", true},
		{"a rule with another condition", map[string]string{"a.rego": teamRule}, map[string]string{"a.rego": strings.Replace(teamRule, `"make"`, `"cmake"`, 1)},
			"a.rego changed (team.no_make) (may loosen)", true},
		{"a rule that only observes now", map[string]string{"a.rego": teamRule},
			map[string]string{"a.rego": strings.Replace(teamRule, `"rule"`, `"observe": true, "rule"`, 1)}, "a.rego changed (team.no_make) (may loosen)", true},
		{"more of what a rule looks at", map[string]string{"a.rego": teamRule + otherRule}, map[string]string{"a.rego": teamRule + otherRule + "\nbaking := {\"roast\"}\n"},
			"a.rego changed (may loosen)", true},
		{"a file that was renamed", map[string]string{"a.rego": teamRule}, map[string]string{"b.rego": teamRule}, "a.rego removed (team.no_make); b.rego added (team.no_make)", false},
		{"a tool is refused", map[string]string{"a.rego": teamRule}, map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {X: deny}}\n"}, `settings.tools.X: - -> "deny"`, false},
		{"a tool is let through", map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {X: ask}}\n"}, map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {X: auto}}\n"},
			`settings.tools.X: "ask" -> "auto" (may loosen)`, true},
		{"a tool is asked about that was refused", map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {X: deny}}\n"},
			map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {X: ask}}\n"}, `settings.tools.X: "deny" -> "ask" (may loosen)`, true},
		{"a tool is asked about that was let through", map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {X: auto}}\n"},
			map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {X: ask}}\n"}, `settings.tools.X: "auto" -> "ask"`, false},
		{"one tool is asked about where all were refused", map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {\"x/*\": deny}}\n"},
			map[string]string{"a.rego": teamRule, "s.yaml": "settings: {tools: {\"x/*\": deny, x/y: ask}}\n"}, `settings.tools.x/y: - -> "ask" (may loosen)`, true},
		{"an exception", map[string]string{"a.rego": teamRule}, map[string]string{"a.rego": teamRule, "s.yaml": "settings: {exceptions: [{rule: files.delete, reason: why}]}\n"},
			`settings.exceptions: - -> [{"reason":"why","rule":"files.delete"}] (may loosen)`, true},
		{"an exception less", map[string]string{"a.rego": teamRule, "s.yaml": "settings: {exceptions: [{rule: files.delete, reason: why}]}\n"}, map[string]string{"a.rego": teamRule},
			`settings.exceptions: [{"reason":"why","rule":"files.delete"}] -> -`, false},
		{"data of the user's own, whose values stay out", map[string]string{"a.rego": teamRule}, map[string]string{"a.rego": teamRule, "d.json": `{"mine": {"token": "s3cr3t"}}`},
			`mine.token: - -> - (may loosen)`, true},
		{"a policy in place of the pack", map[string]string{"a.rego": teamRule}, map[string]string{"a.rego": whole(`decision := {"action": "deny", "rule": "all"}`)},
			"it does not stand to the shipped pack as before", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := compare(pushed(t, tt.was), pushed(t, tt.is))
			if got := c.String(); c.MayLoosen != tt.loosens || got != tt.want && !(c.Replaces && strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s (may loosen: %v)\nwant %s (may loosen: %v)", got, c.MayLoosen, tt.want, tt.loosens)
			}
		})
	}
}

func pushed(t *testing.T, files map[string]string) *policy {
	t.Helper()
	p, err := load(t.Context(), spec{pushed: &Pushed{Name: "test", Files: files}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRulesOfThePackAreListed(t *testing.T) {
	rules := open(t, Options{}).Rules()
	byID := map[string]ruleset.Rule{}
	for _, r := range rules {
		for _, id := range r.IDs {
			byID[id] = r
		}
	}
	for id, want := range map[string]ruleset.Rule{
		"files.delete":  {Package: "holdgate", Risk: "medium"},
		"tools.setting": {Package: "holdgate", Risk: "medium"},
		"kind.unknown":  {Package: "holdgate", Risk: "high"},
	} {
		got, ok := byID[id]
		if !ok || got.Title == "" || !strings.HasPrefix(got.Location, ruleset.PackName+"/") {
			t.Errorf("%s: got %+v", id, got)
			continue
		}
		if diff := cmp.Diff(want, ruleset.Rule{Package: got.Package, Risk: got.Risk}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}
