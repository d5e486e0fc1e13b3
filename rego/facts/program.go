package facts

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/snippet"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// languageOf is the language of an interpreter whose programs are read, as
// [snippet.Read] calls it, or "". The name may end in a version.
func languageOf(c *Command) string {
	name := strings.TrimRight(strings.ToLower(c.Program), "0123456789.")
	switch name {
	case "pypy":
		name = "python"
	case "nodejs":
		name = "node"
	case "gawk", "mawk", "nawk", "original-awk":
		name = "awk"
	case "luajit":
		name = "lua"
	case "rscript":
		name = "r"
	}
	if wordlist.Has("ruby php lua r", name) && slices.ContainsFunc(c.Argv[min(1, len(c.Argv)):], func(w string) bool {
		return strings.HasPrefix(w, "-") && !wordlist.Has(plainWordOptions[name], w)
	}) {
		return ""
	}
	if !snippet.Known(name) || wordlist.Has("node bun tsx ts-node", name) && slices.ContainsFunc(c.Argv[min(1, len(c.Argv)):], changesReading) {
		return ""
	}
	return name
}

// plainWordOptions are options of other interpreters that load nothing but what
// only computes.
var plainWordOptions = map[string]string{
	"ruby": "- -e -w -rjson -ryaml -rcsv -rset -rtime -rdate -rdigest -rbase64 -rbigdecimal -rpp", "php": "- -r", "lua": "- -e",
	"r": "- -e --vanilla --no-save --no-restore --no-environ --no-init-file --no-site-file --quiet --slave",
}

// plainScriptOptions are options of Node.js and Bun that change neither what a
// program means nor what is loaded before it.
const plainScriptOptions = "- -- -e -p -pe -i --eval --print --input-type=module --input-type=commonjs --no-warnings --trace-warnings --trace-uncaught --trace-deprecation --no-deprecation --enable-source-maps --stack-trace-limit"

func changesReading(word string) bool {
	option, _, _ := strings.Cut(word, "=")
	return strings.HasPrefix(word, "-") && !wordlist.Has(plainScriptOptions, word) &&
		!wordlist.Has("--eval --print --max-old-space-size --stack-trace-limit", option)
}

// reads notes what a program that is handed to an interpreter does. It reports
// false where not all of it can be seen, or where it deletes: what it touches is
// noted all the same.
func (s *shell) reads(code field, c *Command) bool { return s.readsAs(languageOf(c), code, c) }

func (s *shell) readsAs(language string, code field, c *Command) bool {
	if language == "" || !code.known() || s.quiet {
		return false
	}
	s.x.Work(1 + len(code.text)/16)
	e, err := snippet.Read(language, code.text)
	if language == "perl" {
		modules, plain := perlOptions(c.Argv)
		if !plain {
			return false
		}
		e, err = snippet.ReadPerl(code.text, modules)
	}
	if err != nil {
		return false
	}
	seen := len(e.Unseen)+len(e.Deletes) == 0
	s.x.Facts.Impact.Recursive = s.x.Facts.Impact.Recursive || e.Trees
	for _, p := range e.Reads {
		seen = s.place(p, collect.AccessRead) && seen
	}
	for _, p := range e.Writes {
		seen = s.place(p, collect.AccessWrite) && seen
	}
	for _, p := range e.Deletes {
		seen = s.place(p, collect.AccessDelete) && seen
	}
	for _, line := range e.Shell {
		s.started(line, c.Program)
	}
	for _, words := range e.Commands {
		line, ok := quoteWords(words)
		if !ok {
			return false
		}
		s.started(line, c.Program)
	}
	for _, module := range e.Project {
		c.Unbound = append(c.Unbound, modulesOf(language, module)...)
	}
	return seen
}

// readsFile notes what a program does whose file the line has written, and reports
// whether all of it could be seen.
func (s *shell) readsFile(f field, c *Command) bool {
	text, ok := s.content(f)
	if !ok || languageOf(c) == "" {
		return false
	}
	before := *c
	if !s.reads(field{text: text}, c) {
		*c = before
		return false
	}
	if language := languageOf(c); language != "python" { // Node looks for modules where the file lies
		for i, u := range c.Unbound {
			if !path.IsAbs(u) && path.IsAbs(f.text) && i >= len(before.Unbound) {
				c.Unbound[i] = path.Join(path.Dir(f.text), u)
			}
		}
	}
	s.touch(f, collect.AccessRead)
	// It runs, and has been shown: as good as a file of the project.
	c.Unbound, c.Project = append(c.Unbound, f.text), append(c.Project, f.text)
	return true
}

// modulesOf are the files that a module of the project may be.
func modulesOf(language, module string) []string {
	if language == "python" {
		file, _, _ := strings.Cut(module, ".")
		return []string{strings.ReplaceAll(module, ".", "/") + ".py", file + "/__init__.py"}
	}
	files := []string{module}
	if path.Ext(module) == "" || strings.HasPrefix(module, "node_modules/") {
		for _, end := range []string{".js", ".json", ".cjs", ".mjs", ".ts", "/index.js", "/package.json"} {
			files = append(files, module+end)
		}
	}
	return files
}

// started walks a line that a program hands to a shell, whole as it stands.
func (s *shell) started(line, program string) {
	sub := s.sub(program)
	sub.stdin = stream{}
	sub.script(line)
}

// place notes that a program touches a file, or the files below a folder. It
// reports false where those may be anything.
func (s *shell) place(p outcome.Place, access string) bool {
	s.x.Tick()
	f := field{text: p.String()}
	s.touch(f, access)
	if !p.Below {
		return true
	}
	if access != collect.AccessRead {
		s.x.Facts.Impact.Recursive = true
		if folder := (field{text: p.Path}); p.Path == "." || !s.stays(folder) && !strings.HasPrefix(p.Path+"/", "/tmp/") {
			return strings.Trim(p.Pattern, "*") != "" && s.stays(folder)
		}
		return true
	}
	return s.stays(field{text: p.Path}) || strings.HasPrefix(p.Path+"/", "/tmp/") || strings.HasPrefix(p.Path, "/usr/")
}

// quoteWords writes words as a shell line that runs them.
func quoteWords(words []string) (string, bool) {
	quoted := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			return "", false
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " "), true
}
