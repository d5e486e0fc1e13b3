package facts

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A runnerKind is a package manager or version manager that runs a command in
// an environment of its own.
type runnerKind struct {
	verbs string // subcommands that run one; none where the name alone does
	wrapper
}

// runners holds them, by their manuals.
var runners = map[string]runnerKind{
	"uv":     {"run", wrapper{valued: "pn", long: "with with-editable with-requirements python extra group only-group no-group project directory env-file package index index-url default-index"}},
	"poetry": {"run", wrapper{valued: "CP", long: "directory project"}},
	"pipenv": {"run", wrapper{}},
	"pdm":    {"run", wrapper{valued: "pv", long: "project venv"}},
	"rye":    {"run", wrapper{}},
	"hatch":  {"run", wrapper{valued: "e", long: "env"}},
	"bundle": {"exec", wrapper{long: "gemfile"}},
	"conda":  {"run", wrapper{valued: "np", long: "name prefix cwd"}},
	"mamba":  {"run", wrapper{valued: "np", long: "name prefix cwd"}},
	"mise":   {"exec x", wrapper{valued: "C"}},
	"npm":    {"exec x", wrapper{valued: "pcwC", long: "package call workspace prefix"}},
	"pixi":   {"exec", wrapper{valued: "e", long: "environment manifest-path"}},
	"pnpm":   {"exec dlx", wrapper{valued: "Cp", long: "dir filter package"}},
	"yarn":   {"exec dlx", wrapper{valued: "p", long: "package cwd"}},
	"bun":    {"x", wrapper{long: "cwd filter"}},
	"npx":    {"", wrapper{valued: "pc", long: "package call"}},
	"bunx":   {"", wrapper{valued: "p", long: "package"}},
	"pnpx":   {"", wrapper{valued: "p", long: "package"}},
	"uvx":    {"", wrapper{valued: "p", long: "from with python"}},
	"pipx":   {"run", wrapper{long: "spec python"}},
}

// runner lists such a program, and the command that it runs. What a name runs
// may come from the project, so the command's facts are those of the program
// that is known by that name.
func runner(s *shell, in invocation) bool {
	kind := runners[in.name()]
	s.x.Work(len(in.words) / 4)
	for _, f := range parseOptions(in.words[1:], "", "script-shell").values("", "script-shell") {
		s.codeText(f, in.under(in.name()+" --script-shell"))
	}
	verb := 0
	if kind.verbs != "" {
		for verb = 1; verb < len(in.words) && strings.HasPrefix(in.words[verb].text, "-"); verb++ {
			if name, long := strings.CutPrefix(in.words[verb].text, "--"); !long {
				verb += clusterWords(in.words[verb].text, kind.valued)
			} else if wordlist.Has(kind.long, name) {
				verb++
			}
		}
		if verb >= len(in.words) || !wordlist.Has(kind.verbs, in.words[verb].text) {
			return s.runsByName(in, verb)
		}
	}
	words := in.words[verb:]
	i, o := s.commandAt(kind.wrapper, words)
	next := in.under(strings.TrimSpace(in.name() + " " + in.words[verb].text))
	if verb == 0 {
		next = in.under(in.name())
	}
	for _, f := range append(o.values("", "call"), callOf(in.name(), o)...) {
		s.codeText(f, next)
	}
	if i < len(words) {
		if verb == 0 || wordlist.Has("exec x dlx", in.words[verb].text) && in.name() != "bundle" {
			in.unbound = append(in.unbound, words[i].text) // a package
		}
		if strings.HasSuffix(words[i].text, ".py") && in.name() == "uv" {
			words = append([]field{{text: "python"}}, words[i:]...)
			i = 0
		}
		next.words, next.plain = words[i:], true
	}
	s.emit(in)
	if len(next.words) > 0 && i < len(words) {
		s.run(next)
	}
	return true
}

// byName are the runners that run a program of the machine where the project has no
// script of its name, with the subcommands before it.
var byName = map[string]string{"pnpm": "run", "yarn": "run", "bun": "run", "pixi": "run"}

// runsByName follows such a program, where it is one that is known by that name.
func (s *shell) runsByName(in invocation, verb int) bool {
	before, ok := byName[in.name()]
	if ok && verb < len(in.words) && in.words[verb].text == before {
		verb++
	}
	if !ok || verb >= len(in.words) {
		return false
	}
	name := in.words[verb].text
	_, tool := tools[name]
	_, wraps := wrapperTable()[name]
	_, interprets := findInterpreter(name)
	_, touches := programs()[name]
	if wordlist.Has("install link unlink", name) || !tool && !wraps && !interprets && !touches && followerOf(name) == nil && specialOf(name) == nil {
		return false
	}
	s.emit(in)
	next := in.under(in.name())
	next.words, next.plain = in.words[verb:], true
	s.run(next)
	return true
}

// callOf is the shell text that npm's -c takes.
func callOf(name string, o options) []field {
	if name == "npm" || name == "npx" {
		return o.values("c", "")
	}
	return nil
}
