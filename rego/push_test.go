package rego

import (
	"errors"
	"strings"
	"testing"
)

func kept(Load) error { return nil }

func TestPushedPolicyReplacesTheOneBefore(t *testing.T) {
	var told []Load
	e := open(t, Options{OnLoad: func(l Load) { told = append(told, l) }})
	pack := e.Loaded()
	files := map[string]string{"team.rego": custom, "team_test.rego": "package holdgate.custom.team_test\n\nimport data.holdgate.custom.team\n\ntest_it if count(team.decisions) == 1 with input as {\"facts\": {\"commands\": [{\"program\": \"make\"}]}}\n"}
	l, err := e.Replace(t.Context(), &Pushed{Name: "first", Files: files}, kept)
	if err != nil {
		t.Fatal(err)
	}
	if l.Loaded != e.Loaded() || l.Loaded.Name != "first" || l.Change.MayLoosen || len(l.Change.Modules) != 1 {
		t.Errorf("got %+v, want a policy that adds one module", l)
	}
	if got := e.Decide(t.Context(), Input{Call: bashCall("make")}).Rule; got != "team.no_make" {
		t.Errorf("got rule %s", got)
	}
	if l, err = e.Replace(t.Context(), nil, kept); err != nil || l.Loaded != pack || !l.Change.MayLoosen {
		t.Errorf("back to the pack: got %+v, %v, want %+v, and that it may loosen", l, err, pack)
	}
	if len(told) != 1 {
		t.Errorf("OnLoad was told %d times, want 1: whoever pushes knows", len(told))
	}
}

func TestPushedPolicyIsRefusedAsAWhole(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"it does not compile", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := deny deny\n"}, "a.rego:3"},
		{"its tests fail", map[string]string{"a.rego": custom, "a_test.rego": "package holdgate.custom.a_test\n\ntest_no if false\n"}, "1 of the policy's 1 tests failed"},
		{"no file", nil, "0 files"},
		{"a file outside", map[string]string{"../a.rego": custom}, "no name for a file"},
		{"an absolute name", map[string]string{"/a.rego": custom}, "no name for a file"},
		{"a hidden file", map[string]string{"x/.a.rego": custom}, "begins with a dot"},
		{"a name that is not clean", map[string]string{"x//a.rego": custom}, "no name for a file"},
		{"a file of another kind", map[string]string{"a.rego": custom, "a.sh": ""}, "no file of a policy"},
		{"settings of the wrong type", map[string]string{"s.yaml": "settings: {tools: 7}\n"}, "settings.tools"},
		{"data under a name of the pack", map[string]string{"d.json": `{"holdgate": {}}`, "a.rego": custom}, "would hide rules"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, Options{})
			was := e.Loaded()
			_, err := e.Replace(t.Context(), &Pushed{Name: "bad", Files: tt.files}, func(Load) error { t.Error("it was kept"); return nil })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error that says %q", err, tt.want)
			}
			if e.Loaded() != was {
				t.Error("the policy in force changed")
			}
		})
	}
}

func TestWhatCannotBeKeptIsNotInForce(t *testing.T) {
	e := open(t, Options{})
	was, full := e.Loaded(), errors.New("disk full")
	if _, err := e.Replace(t.Context(), &Pushed{Name: "n", Files: map[string]string{"a.rego": custom}}, func(Load) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if e.Loaded() != was {
		t.Error("the policy in force changed")
	}
}

func TestPolicyOfFilesIsNotReplaced(t *testing.T) {
	e := open(t, Options{Path: write(t, map[string]string{"a.rego": custom})})
	if _, err := e.Replace(t.Context(), nil, kept); !errors.Is(err, ErrElsewhere) {
		t.Errorf("got %v, want %v", err, ErrElsewhere)
	}
}
