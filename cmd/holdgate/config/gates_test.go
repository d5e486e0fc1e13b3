package config_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func TestAGatesConditionIsRead(t *testing.T) {
	c, err := load(t, `gates: {before_commit: {enabled: true, when: {paths: ["src/**"], confidence_below: 80, risk: high}}}`, config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Types()
	if err != nil {
		t.Fatal(err)
	}
	if w := all.Of("before_commit").When; w == nil || w.Paths[0] != "src/**" || w.Line() != 0.8 || w.Risk != "high" {
		t.Errorf("the condition is %+v", w)
	}
	for text, want := range map[string]string{
		"gates:\n  before_commit:\n    when: {path: [a]}\n":          `holdgate.yaml:3: gates.before_commit.when: unknown key "path"`,
		"gates: {before_commit: {when: {}}}\n":                       "gates.before_commit.when names no condition",
		"gates: {before_commit: {when: {taint: [dirt]}}}\n":          `gates.before_commit.when.taint must be of untrusted, private, secrets, not "dirt"`,
		"gates: {before_commit: {when: {confidence_below: lots}}}\n": "holdgate.yaml:1: gates.before_commit.when.confidence_below: want a number",
		"gates: {before_commit: {when: {paths: [\"{a,b}\"]}}}\n":     "gates.before_commit.when.paths must be patterns of names",
		"gates:\n  before_commit:\n    requird: true\n":              `holdgate.yaml:3: gates.before_commit: unknown key "requird"`,
		"gates: {x: {options: [{id: a, label: A, efect: deny}]}}\n":  `unknown key "efect"`,
	} {
		if _, err := load(t, text, config.Flags{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", text, err, want)
		}
	}
}
