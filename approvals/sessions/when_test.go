package sessions_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/sessions"
)

func TestTheConditionOfAGateIsChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		when sessions.When
		want string // empty: it is taken
	}{
		{"all of it", sessions.When{
			Paths: []string{"src/auth/**", "/etc/*", "a?.sql"}, Tools: []string{"Edit", "files/*"}, Categories: []string{"write", "exec"},
			Below: 80, Taint: []string{"untrusted", "private", "secrets"}, Risk: "high",
		}, ""},
		{"nothing", sessions.When{}, "when names no condition"},
		{"a class of letters", sessions.When{Paths: []string{"src/[ab]"}}, `when.paths must be patterns of names with *, ** and ?, not "src/[ab]"`},
		{"alternatives", sessions.When{Tools: []string{"{Edit,Write}"}}, "when.tools must be patterns"},
		{"an empty pattern", sessions.When{Paths: []string{""}}, `when.paths must be patterns of names with *, ** and ?, not ""`},
		{"a category of nothing", sessions.When{Categories: []string{"writes"}}, `when.categories must be of read, write, delete, exec, network, spawn, database, message, unknown, not "writes"`},
		{"a taint of nothing", sessions.When{Taint: []string{"dirty"}}, `when.taint must be of untrusted, private, secrets, not "dirty"`},
		{"a risk of nothing", sessions.When{Risk: "grave"}, `when.risk must be of low, medium, high, critical, not "grave"`},
		{"a confidence of nothing", sessions.When{Below: 101}, "when.confidence_below must be from 0 to 1, or from 0 to 100"},
		{"a negative confidence", sessions.When{Below: -1}, "when.confidence_below must be from 0 to 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := sessions.NewGates(map[string]sessions.Gate{"before_commit": {When: &c.when}})
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), "gates.before_commit."+c.want) {
					t.Errorf("the error is %v, want one with %q", err, c.want)
				}
			case err != nil:
				t.Error(err)
			case all.Conditions()["before_commit"].Line() != 0.8 || all.Of("before_commit").Message == "":
				t.Errorf("it is %+v", all.Of("before_commit"))
			}
		})
	}
}
