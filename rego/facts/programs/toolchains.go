package programs

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A tool is a compiler, bundler, formatter, linter, test runner or task runner:
// it works in the session's folder, but for what these options say. Options are
// blank-separated, with their dashes; long ones in lower case.
type tool struct {
	loads   string // options whose value is code, or settings that name code
	writes  string // options whose value is a file or folder that it writes
	empties string // options with which it empties that folder first
	runs    string // options whose value is a command
	valued  string // options whose value is none of these
	inPlace string // options or subcommands with which it rewrites its operands; "*" where it always does
	checks  string // options with which it does not rewrite them after all
	verbs   string // subcommands before its operands
	tests   bool   // it runs what its operands name

	properties bool // -D sets what code it runs
}

// toolCommand notes the code from elsewhere that a tool loads, and the files that
// it writes.
func toolCommand(s *shell.Shell, t tool, in shell.Invocation, c *holdgate.Command) {
	w := in.Words[1:]
	rewrites, checks, empties := t.inPlace == "*", false, false
	var operands, out []argv.Field
	for i := 0; i < len(w); i++ {
		s.Found.Tick()
		text := w[i].Text
		if t.properties && strings.HasPrefix(text, "-D") {
			switch name, value, _ := strings.Cut(text, "="); {
			case writtenProperty.MatchString(name) && value != "":
				out = append(out, argv.Field{Text: value, Dynamic: w[i].Dynamic, Origin: w[i].Origin})
			case collect.LeadsOut(value):
				c.Unbound = append(c.Unbound, loadedFiles(value)...)
			}
		}
		if len(text) < 2 || text[0] != '-' {
			rewrites = rewrites || len(operands) == 0 && wordlist.Has(t.inPlace, text)
			if !wordlist.Has(t.verbs, text) || len(operands) > 0 {
				operands = append(operands, w[i])
			}
			continue
		}
		name, value, joined := t.option(text)
		rewrites, checks, empties = rewrites || wordlist.Has(t.inPlace, name), checks || wordlist.Has(t.checks, name) || wordlist.Has(t.checks, text), empties || wordlist.Has(t.empties, name)
		kind := t.kind(name)
		if kind == "" {
			continue
		}
		f := argv.Field{Text: value, Dynamic: w[i].Dynamic, Origin: w[i].Origin}
		if !joined && i+1 < len(w) && !strings.HasPrefix(w[i+1].Text, "-") {
			i++
			f = w[i]
		}
		switch kind {
		case "loads":
			c.Unbound = append(c.Unbound, loadedFiles(f.Text)...)
		case "runs":
			s.CodeText(f, in.Under(in.Name()+" "+name))
		case "writes":
			out = append(out, f)
		}
	}
	for _, f := range out {
		access := collect.AccessWrite
		if empties && !wordlist.Has("build dist out public site _site www", path.Base(f.Text)) {
			access = collect.AccessDelete
		}
		s.Claims(f, in.Words)
		s.Pours(f, func() { use(s, in, f, access) })
	}
	for _, f := range operands {
		switch {
		case rewrites && !checks:
			use(s, in, f, collect.AccessWrite)
		case wordlist.Has("npx bunx pnpx", in.Name()) || wordlist.Has("pnpm npm yarn", in.Name()) && slices.ContainsFunc(w, func(f argv.Field) bool { return f.Text == "exec" }): // a command of its own
		case !t.tests && plainResult.MatchString(f.Text):
		case (t.tests || t.inPlace == "" && throughTemp.MatchString(f.Text)) && collect.LeadsOut(f.Text):
			file, _, _ := strings.Cut(f.Text, "::")
			c.Unbound = append(c.Unbound, file)
		}
	}
}

// writtenProperty is a property of a build tool that names a file of results.
var writtenProperty = lazyregexp.New(`^-D[\w.]*(outputFile|reportFile|output\.file|OutputFile)$`)

// throughTemp is what lies in a folder for temporary files, and is no plain text.
var throughTemp = lazyregexp.New(`^(/private)?(/var)?/tmp(/|$)`)

// plainResult is a file that no program runs, by its name: what tools read and make.
var plainResult = lazyregexp.New(`(?i)\.(png|jpe?g|webp|gif|svg|pdf|html?|json|jsonl|csv|tsv|txt|log|md|xml|ipynb|mp4|webm|parquet)$`)

// option is an option's name, as the table has it, and its value where that is
// part of the word.
func (t tool) option(text string) (name, value string, joined bool) {
	name, value, joined = strings.Cut(text, "=")
	if len(name) > 2 {
		if t.kind(name) == "" {
			name = strings.ToLower(name)
		}
		if !joined && t.kind(name) == "" && text[1] != '-' && t.kind(text[:2]) != "" && !strings.HasPrefix(text, "-proc:") {
			return text[:2], text[2:], true
		}
	}
	return name, value, joined
}

func (t tool) kind(option string) string {
	switch {
	case wordlist.Has(t.loads, option):
		return "loads"
	case wordlist.Has(t.writes, option):
		return "writes"
	case wordlist.Has(t.runs, option):
		return "runs"
	case wordlist.Has(t.valued, option):
		return "valued"
	}
	return ""
}

// loadedFiles are the files in an option's value, but for programs of the system.
func loadedFiles(value string) []string {
	list := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ':' })
	if strings.Contains(value, "://") {
		list = []string{value}
	}
	return slices.DeleteFunc(list, collect.SystemProgram)
}

// cmakeCode are the variables of CMake whose value it runs or includes.
var cmakeCode = lazyregexp.New(`^-D(CMAKE_\w*(?:COMPILER|LAUNCHER|LINKER|INCLUDE|TOOLCHAIN|PROGRAM|TOOL|MODULE)\w*)(?::\w+)?=(.+)$`)

// cmakeCommand is cmake, whose variables name programs and scripts.
func cmakeCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	for _, w := range in.Words[1:] {
		if m := cmakeCode.FindStringSubmatch(strings.Replace(w.Text, "-D ", "-D", 1)); m != nil {
			c.Unbound = append(c.Unbound, loadedFiles(strings.ReplaceAll(m[2], ";", ":"))...)
		}
	}
	toolCommand(s, tools["cmake"], in, c)
	c.Unbound = append(c.Unbound, runsFiles("cmake", in.Words[1:])...)
	mentions(s, in)
}

// protocCommand is protoc: each --NAME_out is a folder that it writes.
func protocCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	for _, w := range in.Words[1:] {
		name, value, ok := strings.Cut(w.Text, "=")
		if !ok || !strings.HasSuffix(name, "_out") {
			continue
		}
		if i := strings.LastIndexByte(value, ':'); i >= 0 {
			value = value[i+1:]
		}
		use(s, in, argv.Field{Text: value, Dynamic: w.Dynamic}, collect.AccessWrite)
	}
	for _, w := range in.Words[1:] {
		if plugin, ok := strings.CutPrefix(w.Text, "--plugin="); ok {
			c.Unbound = append(c.Unbound, loadedFiles(plugin[strings.IndexByte(plugin, '=')+1:])...)
		}
	}
	mentions(s, in)
}

// debuggerLooks are the commands of gdb and lldb that run the program under test
// and look at it.
const debuggerLooks = "run r start bt backtrace where thread frame info p print x list l next n step s finish continue c break b tbreak breakpoint watch up down disassemble register image quit q exit process"

// debuggerCommand is gdb and lldb: their commands can run others, and call what
// the program under test has.
func debuggerCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	const commands = "-o -O -k -K -ex -iex --ex --eval-command --init-eval-command --one-line --one-line-before-file --one-line-on-crash"
	const scripts = "-s -S -x -ix --source --source-before-file --command --init-command -Q"
	words := in.Words[1:]
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i].Text, "=")
		f := argv.Field{Text: value, Dynamic: words[i].Dynamic}
		if !joined && i+1 < len(words) && (wordlist.Has(commands, name) || wordlist.Has(scripts, name)) {
			i++
			f = words[i]
		}
		verb, _, _ := strings.Cut(strings.TrimSpace(f.Text), " ")
		switch {
		case name == "--" || name == "--args":
		case wordlist.Has(scripts, name):
			c.Unbound = append(c.Unbound, f.Text)
		case wordlist.Has(commands, name) && !onlyLooks(verb, f.Text):
			c.Unresolved = append(c.Unresolved, Shorten(f.Text))
			runsInCode(s, strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(f.Text, "shell"), "!")), c.Program)
		case !strings.HasPrefix(words[i].Text, "-") && strings.Contains(words[i].Text, "/"):
			c.Unbound = append(c.Unbound, words[i].Text)
			s.Touch(words[i], collect.AccessRead)
		}
	}
}

// onlyLooks reports whether a debugger's command runs the program under test or
// shows something, and calls and pipes nothing.
func onlyLooks(verb, text string) bool {
	verb, _, _ = strings.Cut(verb, "/")
	return wordlist.Has(debuggerLooks, verb) && !strings.ContainsAny(text, "|(!`;\n=") && !strings.Contains(text, "command")
}

// moduleArguments reads what follows python -m as the tool of that name does, and
// notes the script that a profiler or a debugger runs.
func moduleArguments(s *shell.Shell, module string, in shell.Invocation, c *holdgate.Command) {
	at := slices.IndexFunc(in.Words, func(w argv.Field) bool { return w.Text == module || w.Text == "-m"+module })
	if at < 0 {
		return
	}
	rest := in
	rest.Words = in.Words[at:]
	if t, ok := tools[module]; ok {
		toolCommand(s, t, rest, c)
		return
	}
	switch module {
	case "timeit":
		o := argv.ParseOptions(rest.Words[1:], "nrsu", "setup number repeat unit")
		for _, f := range append(o.Values("s", "setup"), o.Operands...) {
			obvious(s, f, c)
		}
	default:
		for _, w := range rest.Words[1:] {
			if collect.LeadsOut(w.Text) && strings.HasSuffix(w.Text, ".py") {
				c.Unbound = append(c.Unbound, w.Text)
			}
		}
	}
}

// rustcCommand is rustc, whose linker is a program.
func rustcCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	compiles(s, in)
	for _, w := range in.Words[1:] {
		if _, linker, ok := strings.Cut(w.Text, "linker="); ok {
			c.Unbound = append(c.Unbound, loadedFiles(linker)...)
		}
	}
	toolCommand(s, tool{writes: "-o --out-dir", tests: true, valued: "-C --codegen -L --extern --crate-type --edition --emit --target -A -W -D"}, in, c)
	c.Unbound = slices.DeleteFunc(c.Unbound, func(word string) bool { return shown(s, word) })
}
