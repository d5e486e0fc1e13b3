package facts

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/programs"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Keys that stand beside a command and change what it does, as normal makes
// them.
const (
	environmentKeys = "env environment envvars environmentvariables"
	inputKeys       = "stdin input"
	codeKeys        = "code sourcecode source snippet program python javascript js"
)

// shellBeside is the shell that a command runs in, with the environment and
// the standard input that its neighbours give it. Code beside a command may
// be what runs in its place, so it is listed as what cannot be told.
func shellBeside(x *collect.Findings, kind toolKind, args map[string]any, dir string) *shell.Shell {
	sh := shell.New(x, dir, programs.Table())
	for _, k := range sortedKeys(args) {
		n := normal(k)
		text, isText := args[k].(string)
		switch {
		case wordlist.Has(environmentKeys, n):
			for _, a := range assignments(args[k]) {
				sh.RunsValue(a, nil)
				sh.Export(a)
				name, value, _ := strings.Cut(a.Text, "=")
				sh.Set(name, shell.Variable{Values: []string{value}, Known: true})
			}
		case !isText || strings.TrimSpace(text) == "":
		case wordlist.Has(inputKeys, n) && kind.role(k) == roleNone:
			sh.Stdin = shell.Stream{Kind: "heredoc", Text: text, Known: true}
		case wordlist.Has(codeKeys, n) && kind.role(k) != roleCommand:
			shell.New(x, dir, programs.Table()).Emit(shell.Invocation{Via: []string{k}, Words: []argv.Field{{Text: text, Dynamic: []string{programs.Shorten(text)}}}})
		}
	}
	return sh
}

// assignments are the variables of an argument that holds an environment: an
// object, or a list or lines of NAME=value.
func assignments(v any) []argv.Field {
	var out []argv.Field
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			out = append(out, argv.Field{Text: fmt.Sprintf("%s=%v", k, v[k])})
		}
	case []any:
		for _, e := range v {
			if pair, ok := e.(map[string]any); ok {
				e = fmt.Sprintf("%v=%v", pair["name"], pair["value"])
			}
			out = append(out, assignments(e)...)
		}
	case string:
		for line := range strings.Lines(v) {
			if f := (argv.Field{Text: strings.TrimSpace(line)}); argv.IsAssignment(f) {
				out = append(out, f)
			}
		}
	}
	return out
}
