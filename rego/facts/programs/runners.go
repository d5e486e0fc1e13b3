package programs

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A runnerKind is a package manager or version manager that runs a command in
// an environment of its own.
type runnerKind struct {
	verbs string // subcommands that run one; none where the name alone does
	shell.Wrapper
}

// runners holds them, by their manuals.
var runners = map[string]runnerKind{
	"uv":     {"run", shell.Wrapper{Valued: "pn", Long: "with with-editable with-requirements python extra group only-group no-group project directory env-file package index index-url default-index"}},
	"poetry": {"run", shell.Wrapper{Valued: "CP", Long: "directory project"}},
	"pipenv": {"run", shell.Wrapper{}},
	"pdm":    {"run", shell.Wrapper{Valued: "pv", Long: "project venv"}},
	"rye":    {"run", shell.Wrapper{}},
	"hatch":  {"run", shell.Wrapper{Valued: "e", Long: "env"}},
	"bundle": {"exec", shell.Wrapper{Long: "gemfile"}},
	"conda":  {"run", shell.Wrapper{Valued: "np", Long: "name prefix cwd"}},
	"mamba":  {"run", shell.Wrapper{Valued: "np", Long: "name prefix cwd"}},
	"mise":   {"exec x", shell.Wrapper{Valued: "C"}},
	"npm":    {"exec x", shell.Wrapper{Valued: "pcwC", Long: "package call workspace prefix"}},
	"pixi":   {"exec", shell.Wrapper{Valued: "e", Long: "environment manifest-path"}},
	"pnpm":   {"exec dlx", shell.Wrapper{Valued: "Cp", Long: "dir filter package"}},
	"yarn":   {"exec dlx", shell.Wrapper{Valued: "p", Long: "package cwd"}},
	"bun":    {"x", shell.Wrapper{Long: "cwd filter"}},
	"npx":    {"", shell.Wrapper{Valued: "pc", Long: "package call"}},
	"bunx":   {"", shell.Wrapper{Valued: "p", Long: "package"}},
	"pnpx":   {"", shell.Wrapper{Valued: "p", Long: "package"}},
	"uvx":    {"", shell.Wrapper{Valued: "p", Long: "from with python"}},
	"pipx":   {"run", shell.Wrapper{Long: "spec python"}},
}

// runner lists such a program, and the command that it runs. What a name runs
// may come from the project, so the command's facts are those of the program
// that is known by that name.
func runner(s *shell.Shell, in shell.Invocation) bool {
	kind := runners[in.Name()]
	s.Found.Work(len(in.Words) / 4)
	for _, f := range argv.ParseOptions(in.Words[1:], "", "script-shell").Values("", "script-shell") {
		s.CodeText(f, in.Under(in.Name()+" --script-shell"))
	}
	verb := 0
	if kind.verbs != "" {
		for verb = 1; verb < len(in.Words) && strings.HasPrefix(in.Words[verb].Text, "-"); verb++ {
			if name, long := strings.CutPrefix(in.Words[verb].Text, "--"); !long {
				verb += argv.ClusterWords(in.Words[verb].Text, kind.Valued)
			} else if wordlist.Has(kind.Long, name) {
				verb++
			}
		}
		if verb >= len(in.Words) || !wordlist.Has(kind.verbs, in.Words[verb].Text) {
			return runsByName(s, in, verb)
		}
	}
	words := in.Words[verb:]
	i, o := s.CommandAt(kind.Wrapper, words)
	next := in.Under(strings.TrimSpace(in.Name() + " " + in.Words[verb].Text))
	if verb == 0 {
		next = in.Under(in.Name())
		if o.Has("", "no-install") || o.Long["no"] != nil {
			next = in.Under(in.Name() + " --no-install")
		}
	}
	for _, f := range append(o.Values("", "call"), callOf(in.Name(), o)...) {
		s.CodeText(f, next)
	}
	if i < len(words) {
		if verb == 0 || wordlist.Has("exec x dlx", in.Words[verb].Text) && in.Name() != "bundle" {
			in.Unbound = append(in.Unbound, words[i].Text)          // a package
			if verb > 0 || next.Via[len(next.Via)-1] != in.Name() { // one that is installed
				in.Unbound = append(in.Unbound, runsBesides(words[i:])...)
			}
		}
		if strings.HasSuffix(words[i].Text, ".py") && in.Name() == "uv" {
			words = append([]argv.Field{{Text: "python"}}, words[i:]...)
			i = 0
		}
		next.Words, next.Plain = words[i:], true
	}
	s.Emit(in)
	if len(next.Words) > 0 && i < len(words) {
		s.Run(next)
	}
	return true
}

// runsBesides are words of a program that nothing is known of which may be code that it runs:
// files from outside of the project that are no data by their names.
func runsBesides(words []argv.Field) (files []string) {
	name := words[0].Text
	_, tool := tools[name]
	_, touches := operands.Table()[name]
	if _, interprets := findInterpreter(name); tool || touches || interprets || specialOf(name) != nil {
		return nil
	}
	for i, w := range words[1:] {
		text := w.Text
		if _, value, glued := strings.Cut(text, "="); glued && strings.HasPrefix(text, "-") {
			text = value
		}
		if collect.LeadsOut(text) && !plainResult.MatchString(text) && !wordlist.Has(outputs, words[i].Text) && !strings.Contains(text, "://") {
			files = append(files, text)
		}
	}
	return files
}

// codeFile is a file of code that a program may run, by its name.
var codeFile = lazyregexp.New(`\.([cm]?[jt]sx?|py|rb|sh|bash|php|pl|lua)$`)

// byName are the runners that run a program of the machine where the project has no
// script of its name, with the subcommands before it.
var byName = map[string]string{"pnpm": "run", "yarn": "run", "bun": "run", "pixi": "run"}

// runsByName follows such a program, where it is one that is known by that name.
func runsByName(s *shell.Shell, in shell.Invocation, verb int) bool {
	before, ok := byName[in.Name()]
	if ok && verb < len(in.Words) && in.Words[verb].Text == before {
		verb++
	}
	if !ok || verb >= len(in.Words) {
		return false
	}
	name := in.Words[verb].Text
	if _, wraps := shell.WrapperTable()[name]; wraps && (verb+1 == len(in.Words) || in.Name() == "pnpm" && in.Words[verb-1].Text == before) {
		return false // a script of the project: as a program it would need words, and pnpm run knows no programs
	}
	_, tool := tools[name]
	_, wraps := shell.WrapperTable()[name]
	_, interprets := findInterpreter(name)
	_, touches := operands.Table()[name]
	if wordlist.Has("install link unlink", name) || !tool && !wraps && !interprets && !touches && s.Follows(name) == nil && specialOf(name) == nil {
		return false
	}
	s.Emit(in)
	next := in.Under(in.Name())
	next.Words, next.Plain = in.Words[verb:], true
	s.Run(next)
	return true
}

// callOf is the shell text that npm's -c takes.
func callOf(name string, o argv.Options) []argv.Field {
	if name == "npm" || name == "npx" {
		return o.Values("c", "")
	}
	return nil
}
