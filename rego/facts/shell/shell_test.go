package shell

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// none knows no program but the shell's own.
var none = &Programs{
	Starts:  func(string) Follower { return nil },
	Special: func(string) bool { return false },
	Effects: func(*Shell, Invocation, *holdgate.Command) {},
	Depends: func(_ *Shell, in Invocation, _ string) []string { return argv.Dynamics(in.Words) },
	Runs:    func(*Shell, holdgate.Command) []collect.Run { return nil },
	Fixed:   func(string) bool { return false },
	Why:     func(*Shell, Invocation, *holdgate.Command, int) []string { return nil },
}

// walked are the commands of a text, one a line: what surrounds them, the folder, the
// words, and what is not known of them.
func walked(t testing.TB, text string) (string, holdgate.Facts) {
	t.Helper()
	x := collect.New(t.Context(), collect.Options{Dir: "/w", Home: "/home/u", Deadline: time.Minute})
	x.Guard(func() { New(x, "/w", none).Source(text) })
	f := x.Finish()
	var out []string
	for _, c := range f.Commands {
		line := ""
		for _, v := range c.Via {
			line += v + ": "
		}
		if c.Dir != "" {
			line += "[" + c.Dir + "] "
		}
		line += strings.Join(c.Argv, "|")
		if len(c.Unresolved) > 0 {
			line += " ?" + strings.Join(c.Unresolved, " ")
		}
		out = append(out, line)
	}
	for _, e := range f.ParseErrors {
		out = append(out, "error "+e)
	}
	return strings.Join(out, "\n"), f
}

func TestSource(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"words lose their quotes", `a "b c" d\ e f'g'"h"`, "a|b c|d e|fgh"},
		{"variables that the text sets", `X=b; a $X "${X}c"`, "a|b|bc"},
		{"and split as bash splits", `X="b c"; a $X "$X"`, "a|b|c|b c"},
		{"one that it does not", `a $X`, "a|$X ?$X"},
		{"operators of expansion", `X=abc.go; a ${X%.go} ${Y:-d}`, "a|abc|d ?${Y:-d}"},
		{"a default that another makes unknown", `Y=$(b); a ${Y:-d}`, "$(): b\na|${Y:-d} ?${Y:-d}"},
		{"the name of the script", "printf '%s\\n' 'a \"$(dirname \"$0\")\"' > s/x.sh; bash s/x.sh", "printf|%s\\n|a \"$(dirname \"$0\")\"\nbash: $(): dirname|s/x.sh\nbash: a|s"},
		{"an array with an element that may be there", `X=(b); if c; then X+=(d); fi; a "${X[@]}"`, "c\na|b|d\na|b"},
		{"an array with an element that is not known", `X=(b "$Y"); a "${X[@]}" e`, "a|b|$Y|e ?$Y"},
		{"an array that holds nothing", `X=(); a "${X[@]}" b`, "a|b"},
		{"braces", `a {b,c}{1..2}`, "a|b1|b2|c1|c2"},
		{"what a command prints that the text tells", `a "$(echo b c)" $(printf '%s' d)`, "$(): echo|b|c\n$(): printf|%s|d\na|b c|d"},
		{"what it can't", `a $(b)`, "$(): b\na|$(b) ?$(b)"},
		{"functions and their arguments", `f() { a "$1" "$@"; }; f b c`, "function: a|b|b|c"},
		{"one that is never called is listed all the same", `f() { a; }`, "function: a"},
		{"aliases", `alias x='a b'; x c`, "alias|x=a b\nalias: a|b|c\nx|c"},
		{"branches disagree", `if b; then X=1; else X=2; fi; a $X`, "b\na|$X ?$X"},
		{"a loop over words", `for i in b c; do a $i; done`, "a|b\na|c"},
		{"a folder, where the way there cannot have failed", `cd /v && a; cd /u && b`, "cd|/v\n[/v] a\ncd|/u\n[/u] b"},
		{"a subshell keeps its folder", `(cd /v && a); b`, "cd|/v\n[/v] a\nb"},
		{"wrappers come off", `sudo -u b env X=1 nice a c`, "sudo: env: nice: a|c"},
		{"a shell in a shell", `bash -c 'a "$0"' b`, "bash -c: a|$0 ?$0"},
		{"eval", `X='a b'; eval "$X"`, "eval: a|b"},
		{"text on standard input", "sh <<'E'\na b\nE", "heredoc: sh: a|b"},
		{"a file that the text has written", "echo 'a b' > /tmp/x.sh; sh /tmp/x.sh", "echo|a b\nsh: a|b"},
		{"arithmetic that runs a command", `X='y[$(a)]'; : $((X))`, ":|$((X)) ?$((X))"},
		{"traps", `trap 'a b' EXIT`, "trap: a|b\ntrap|a b|EXIT"},
		{"a mistake", "a\n)", "a\nerror shell: 2:1: `)` can only be used to close a subshell"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := walked(t, tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzSource holds that no text panics, and that a command without a program says why. (Of a pattern that
// names a program the table of programs says it, which is not here, and a folder is none.)
func FuzzSource(f *testing.F) {
	for _, text := range []string{`for i in a b; do $i; done`, `X=$(cat /tmp/x); ${X:-a} b`, `f() { f; }; f`, `case $1 in a) b;; esac`, "cat <<E | sh\n$X\nE", "$/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, found := walked(t, text)
		for _, e := range found.ParseErrors {
			if strings.HasPrefix(e, collect.InternalError) {
				t.Error(e)
			}
		}
		for _, c := range found.Commands {
			if c.Program == "" && len(c.Unresolved) == 0 && len(c.Argv) > 0 && c.Argv[0] != "" && c.Argv[0][0] == '$' && !strings.ContainsAny(c.Argv[0], "*?[") && !strings.HasSuffix(c.Argv[0], "/") {
				t.Errorf("command %q has neither a program nor a reason", c.Argv)
			}
		}
	})
}
