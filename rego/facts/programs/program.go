package programs

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/snippet"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// languageOf is the language of an interpreter whose programs are read, as
// [snippet.Read] calls it, or "". The name may end in a version.
func languageOf(c *holdgate.Command) string {
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
	"ruby": "- -e -w -W0 -W1 -Ilib -rjson -ryaml -rcsv -rset -rtime -rdate -rdigest -rbase64 -rbigdecimal -rpp -rbenchmark -rripper -rstringio -rstrscan -rsecurerandom -rprime -rostruct -rshellwords", "php": "- -r", "lua": "- -e",
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
func reads(s *shell.Shell, code argv.Field, c *holdgate.Command) bool {
	return readsAs(s, languageOf(c), code, c)
}

func readsAs(s *shell.Shell, language string, code argv.Field, c *holdgate.Command) bool {
	if language == "" || !code.Known() || s.Quiet {
		return false
	}
	s.Found.Work(1 + len(code.Text)/16)
	e, err := snippet.Read(language, code.Text)
	s.Found.Unseen, s.Found.Followed = e.Unseen, err == nil
	if language == "perl" {
		modules, plain := perlOptions(c.Argv)
		if !plain {
			return false
		}
		e, err = snippet.ReadPerl(code.Text, modules, perlLoops(c.Argv))
	}
	if err != nil {
		return false
	}
	switch {
	case language == "python":
		c.Unbound = append(c.Unbound, shadows(s)...)
	case language == "php" && len(e.Project) > 0: // any of the project's classes may be loaded
		for _, p := range s.Found.Facts.Paths {
			if p.Access == collect.AccessWrite && p.Inside && (path.Ext(p.Path) == ".php" || path.Base(p.Path) == "composer.json") && !slices.Contains(c.Argv, p.Path) {
				c.Unbound = append(c.Unbound, p.Path)
			}
		}
	}
	seen := len(e.Unseen)+len(e.Deletes) == 0
	if slices.ContainsFunc(e.Reads, func(p outcome.Place) bool { return p.Below || strings.ContainsAny(p.Path, "*?[") }) {
		picksSecrets(s, code.Text, e.Reads)
	}
	s.Found.Facts.Impact.Recursive = s.Found.Facts.Impact.Recursive || e.Trees
	for _, p := range e.Reads {
		seen = place(s, p, collect.AccessRead) && seen
	}
	for _, p := range e.Writes {
		seen = place(s, p, collect.AccessWrite) && seen
	}
	for _, p := range e.Deletes {
		seen = place(s, p, collect.AccessDelete) && seen
	}
	for _, line := range e.Shell {
		started(s, line, c.Program)
	}
	for _, words := range e.Commands {
		line, ok := quoteWords(words)
		if !ok {
			return false
		}
		started(s, line, c.Program)
	}
	if language == "ruby" && slices.ContainsFunc(e.Project, func(m string) bool { return strings.HasPrefix(m, "lib/") }) && !slices.Contains(c.Argv, "-Ilib") {
		return false // it may be of any package
	}
	for _, module := range e.Project {
		files := modulesOf(language, module)
		c.Unbound = append(c.Unbound, files...)
		for _, folder := range e.Folders {
			for _, file := range files {
				c.Unbound = append(c.Unbound, path.Join(folder, file))
			}
		}
	}
	for _, folder := range e.Folders {
		seen = s.Stays(argv.Field{Text: folder}) && seen
	}
	return seen
}

// picksSecrets notes that a program which goes through files names some that hold secrets: it
// may look for just these.
func picksSecrets(s *shell.Shell, code string, reads []outcome.Place) {
	for _, m := range codeStrings.FindAllStringSubmatch(code, 200) {
		s.Found.Tick()
		if str := m[1] + m[2]; collect.Classify(str, collect.AccessRead) == collect.ClassSecret && !strings.ContainsAny(str, " \n") &&
			!slices.ContainsFunc(reads, func(p outcome.Place) bool { return strings.HasSuffix(p.String(), str) }) {
			s.Touch(argv.Field{Text: str}, collect.AccessRead)
		}
	}
}

// shadows are files that the line writes under the names of modules that every program
// loads: Python takes a json.py that lies at hand for its own.
func shadows(s *shell.Shell) (files []string) {
	for _, p := range s.Found.Facts.Paths {
		name := path.Base(p.Path)
		if name == "__init__.py" {
			name = path.Base(path.Dir(p.Path)) + ".py"
		}
		if module, ok := strings.CutSuffix(name, ".py"); ok && p.Access == collect.AccessWrite && snippet.PythonModule(module) {
			files = append(files, p.Path)
		}
	}
	return files
}

// readsFile notes what a program does whose file the line has written, and reports
// whether all of it could be seen.
func readsFile(s *shell.Shell, f argv.Field, c *holdgate.Command) bool {
	text, ok := s.Content(f)
	if !ok {
		return false
	}
	before := *c
	if !reads(s, argv.Field{Text: text}, c) {
		*c = before
		unreadFile(s, c, f.Text, text)
		return false
	}
	if language := languageOf(c); language != "python" { // Node looks for modules where the file lies
		for i, u := range c.Unbound {
			if !path.IsAbs(u) && path.IsAbs(f.Text) && i >= len(before.Unbound) {
				c.Unbound[i] = path.Join(path.Dir(f.Text), u)
			}
		}
	}
	s.Touch(f, collect.AccessRead)
	// It runs, and has been shown: as good as a file of the project.
	c.Unbound, c.Project = append(c.Unbound, f.Text), append(c.Project, f.Text)
	return true
}

// modulesOf are the files that a module of the project may be.
func modulesOf(language, module string) []string {
	if language == "python" {
		file, _, _ := strings.Cut(module, ".")
		return []string{strings.ReplaceAll(module, ".", "/") + ".py", file + "/__init__.py"}
	}
	switch language {
	case "ruby":
		return []string{strings.TrimSuffix(module, ".rb") + ".rb"}
	case "php":
		return []string{module}
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
func started(s *shell.Shell, line, program string) {
	sub := s.Sub(program)
	sub.Stdin = shell.Stream{}
	sub.Script(line)
}

// plainEnds are the ends of names that a program may change in every folder of the project,
// hidden ones too, into which its patterns lead: hooks, settings, pipelines and what an
// agent is told have other ones.
const plainEnds = ".go .ts .tsx .js .jsx .mjs .cjs .mts .cts .vue .svelte .astro .py .pyi .rb .php .java .kt .scala .groovy .c .h .cc .cpp .cxx .hpp .cs .fs .vb .rs " +
	".swift .m .mm .dart .ex .exs .erl .hs .ml .clj .lua .pl .pm .r .jl .zig .sol .sql .proto .graphql .gql .tf .rego .css .scss .sass .less .html .htm .xhtml .hbs .ejs " +
	".pyc .pyo .class .o .orig .rej .bak .tmp .swp .txt .csv .tsv .rst .adoc .po .snap .log .svg .png .jpg .jpeg .gif .webp .bin"

// place notes that a program touches a file, or the files below a folder. It
// reports false where those may be anything.
func place(s *shell.Shell, p outcome.Place, access string) bool {
	s.Found.Tick()
	f := argv.Field{Text: p.String()}
	s.Touch(f, access)
	if !p.Below {
		return true
	}
	if access != collect.AccessRead {
		s.Found.Facts.Impact.Recursive = true
		if folder := (argv.Field{Text: p.Path}); p.Path == "." || !s.Stays(folder) && !strings.HasPrefix(p.Path+"/", "/tmp/") {
			return wordlist.Has(plainEnds, path.Ext(p.Pattern)) && s.Stays(folder)
		}
		return true
	}
	return s.Stays(argv.Field{Text: p.Path}) || strings.HasPrefix(p.Path+"/", "/tmp/") || strings.HasPrefix(p.Path, "/usr/")
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
