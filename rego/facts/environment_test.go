package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentOfCommands(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"without an assignment there is none", "ls", ""},
		{"an assignment before a command", "A=1 B='x y' ls", "A=1 B=x y"},
		{"is for this command alone", "A=1 true; ls", ""},
		{"a plain assignment is for no command", "A=1; ls", ""},
		{"an export is for all that follow", "export A=1 && cd x && ls", "A=1"},
		{"so is one of a name alone", "A=1; export A; ls", "A=1"},
		{"and a declaration that exports", "declare -x A=1; ls", "A=1"},
		{"a declaration that does not is none", "declare A=1; ls", ""},
		{"all assignments are exported where the shell is told so", "set -a; A=1; ls", "A=1"},
		{"a later value takes the place of an earlier one", "export A=1; export A=2; ls", "A=2"},
		{"so it does without a second export", "export A=1; A=2; ls", "A=2"},
		{"and before the command", "export A=1; A=2 ls", "A=2"},
		{"a value of run time is not resolved", "A=$(date) ls", "A?"},
		{"nor is one that a branch may have set", "export A=1; if x; then export A=2; fi; ls", "A?"},
		{"unset takes it away", "export A=1; unset A; ls", ""},
		{"export -n takes it away", "export A=1; export -n A; ls", ""},
		{"a subshell keeps its own", "(export A=1); ls", ""},
		{"env and sudo set it too", "env A=1 sudo B=2 ls", "A=1 B=2"},
		{"a shell hands it on", "A=1 bash -c 'ls'", "A=1"},
		{"a function hands it on", "f() { ls; }; A=1 f", "A=1"},
		{"what changes programs counts without an export", "LD_PRELOAD=./x.so; ls", "LD_PRELOAD=./x.so"},
		{"so does PATH", "PATH=/x:$PATH; ls", "PATH?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := bashFacts(t, tt.line)
			var got []string
			for _, c := range f.Commands {
				if c.Program != "ls" {
					continue
				}
				for _, v := range c.Env {
					if v.Unresolved {
						got = append(got, v.Name+"?")
					} else {
						got = append(got, v.Name+"="+v.Value)
					}
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("environment of ls in %q (-want +got):\n%s", tt.line, diff)
			}
		})
	}
}
