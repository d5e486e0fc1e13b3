package programs

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/grammar"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// An interpreter runs code of another language, which is not read here but
// for what is obvious in it.
type interpreter struct {
	code    string // short options that take code
	long    string // long options that take code, blank-separated
	valued  string // short options that take something else
	module  string // short option that names a module to run
	verbs   string // subcommands before the file
	program bool   // the first operand is code (awk, sed's script is a case of its own)
	file    string // short option that names a file of code
	loads   string // long options that name one, blank-separated
}

var interpreters = map[string]interpreter{
	"python":     {code: "c", valued: "WXQ", module: "m"},
	"pypy":       {code: "c", valued: "WX", module: "m"},
	"perl":       {code: "eE", valued: "IMm"},
	"ruby":       {code: "e", valued: "IrCE"},
	"node":       {code: "ep", long: "eval print", valued: "C", file: "r", loads: "require import loader"},
	"nodejs":     {code: "ep", long: "eval print", valued: "C", file: "r", loads: "require import loader"},
	"deno":       {code: "", long: "", verbs: "run eval test task serve repl"},
	"bun":        {code: "ep", long: "eval print", verbs: "run test x create install add"},
	"tsx":        {code: "ep", long: "eval print"},
	"ts-node":    {code: "ep", long: "eval print", valued: "PO"},
	"php":        {code: "rBRE", valued: "cdzS", file: "f"},
	"lua":        {code: "e", valued: "l"},
	"luajit":     {code: "e", valued: "l"},
	"osascript":  {code: "e", valued: "ls"},
	"rscript":    {code: "e"},
	"julia":      {code: "eE", long: "eval print", valued: "LpJ"},
	"groovy":     {code: "e"},
	"scala":      {code: "e"},
	"elixir":     {code: "e", long: "eval", valued: "rS"},
	"tclsh":      {},
	"expect":     {code: "c", file: "f"},
	"pwsh":       {code: "c", long: "command", valued: "f"},
	"powershell": {code: "c", long: "command", valued: "f"},
	"awk":        {program: true, valued: "Fvil", code: "e", file: "fE"},
	"gawk":       {program: true, valued: "Fvil", code: "e", file: "fE"},
	"mawk":       {program: true, valued: "FvW", file: "f"},
	"nawk":       {program: true, valued: "Fv", file: "f"},
	"jshell":     {},
	"irb":        {},
	"ipython":    {code: "c", module: "m"},
	"vim":        {code: "c", valued: "uSsTwW", long: "cmd"},
	"vi":         {code: "c", valued: "uSsTwW"},
	"nvim":       {code: "c", valued: "uSsTwW", long: "cmd"},
	"emacs":      {long: "eval execute", valued: "lf"},
}

// findInterpreter finds one by its name, which may end in a version.
func findInterpreter(name string) (interpreter, bool) {
	if ip, ok := interpreters[name]; ok {
		return ip, true
	}
	ip, ok := interpreters[strings.TrimRight(name, "0123456789.-")]
	return ip, ok
}

// standardModules are modules of Python's own that run none of the project's
// code.
const standardModules = "json.tool py_compile compileall tabnanny ast tokenize dis calendar platform sysconfig"

// toolModules are modules that are programs of their own: no project has others of
// their names.
const toolModules = "pip http.server"

// interpret notes the code that an interpreter is given and the files that it
// would run.
func interpret(s *shell.Shell, ip interpreter, in shell.Invocation, c *holdgate.Command) {
	words := in.Words[1:]
	if len(words) > 0 && wordlist.Has(ip.verbs, words[0].Text) {
		if words[0].Text == "eval" {
			denoEval(s, words[1:], c)
			return
		}
		if wordlist.Has("task install add create x", words[0].Text) {
			c.Unbound = append(c.Unbound, "package.json")
			return
		}
		words = words[1:]
	}
	if strings.HasPrefix(in.Name(), "perl") && len(words) > 0 && !wordlist.Has("-v -V --version -c -wc", words[0].Text) {
		if _, plain := perlOptions(argv.Texts(in.Words)); !plain {
			c.Unresolved = append(c.Unresolved, "options of "+in.Name())
		}
	}
	words, module := cutModule(words, ip)
	o := argv.ParseOptions(words, ip.code+ip.valued+ip.file, ip.long+" "+ip.loads)
	code := o.Values(ip.code, "")
	for l := range strings.FieldsSeq(ip.long) {
		code = append(code, o.Values("", l)...)
	}
	for _, f := range o.Values(ip.file, "") {
		c.Unbound = append(c.Unbound, f.Text)
		s.Touch(f, collect.AccessRead)
	}
	if in.Name() == "ruby" {
		for _, f := range o.Values("r", "") { // loaded even where a script is only checked
			if collect.LeadsOut(f.Text) {
				c.Unbound = append(c.Unbound, f.Text)
			}
		}
	}
	if in.Name() == "php" {
		for _, f := range append(o.Values("c", ""), o.Values("dz", "")...) {
			if _, value, _ := strings.Cut("="+f.Text, "="); collect.LeadsOut(value[strings.LastIndexByte(value, '=')+1:]) {
				c.Unbound = append(c.Unbound, value[strings.LastIndexByte(value, '=')+1:])
			}
		}
	}
	for l := range strings.FieldsSeq(ip.loads) {
		c.Unbound = append(c.Unbound, argv.Texts(o.Values("", l))...)
	}
	operands := o.Operands
	if ip.program && awkOptions(s, in.Words[1:], c) {
		operands = slices.Clone(operands)
		for i := range operands[min(1, len(operands)):] {
			s.Touch(operands[i+1], collect.AccessWrite)
		}
	}
	if ip.program && len(code) == 0 && len(o.Values(ip.file, "")) == 0 && len(operands) > 0 {
		awk(s, operands[0], c)
		for _, f := range operands[1:] {
			if !argv.IsAssignment(f) {
				s.Touch(f, collect.AccessRead)
			}
		}
		return
	}
	for _, f := range code {
		obvious(s, f, c)
	}
	if module != "" {
		if !wordlist.Has(standardModules, module) {
			interpretModule(s, module, in, c)
		}
		return
	}
	for _, long := range []string{"cpu-prof-dir", "heap-prof-dir", "diagnostic-dir", "report-dir"} {
		for _, f := range o.Values("", long) {
			s.Touch(f, collect.AccessWrite)
			s.Claims(f, in.Words)
		}
	}
	interpretFiles(s, in, o, code, operands, c)
}

// interpretModule is for a module of an interpreter that is run, as in python -m x.
func interpretModule(s *shell.Shell, module string, in shell.Invocation, c *holdgate.Command) {
	if !wordlist.Has(toolModules, module) {
		c.Unbound = append(c.Unbound, module)
	}
	moduleArguments(s, module, in, c)
	if at := slices.IndexFunc(in.Words, func(w argv.Field) bool { return w.Text == module || strings.HasSuffix(w.Text, "m"+module) }); module == "http.server" {
		servesOthers(s, module, in.Words[at+1:], c)
	}
	strays(s, in)
}

// interpretFiles is for what an interpreter is given besides options: files that its
// code edits, a script, or a program on standard input.
func interpretFiles(s *shell.Shell, in shell.Invocation, o argv.Options, code, operands []argv.Field, c *holdgate.Command) {
	switch {
	case wordlist.Has("node nodejs", in.Name()) && o.Has("c", "check"), in.Name() == "php" && o.Has("l", "syntax-check") && o.Only("ln", "syntax-check no-php-ini"), in.Name() == "ruby" && o.Has("c", "") && o.Only("cw", ""):
		for _, f := range operands {
			s.Touch(f, collect.AccessRead)
		}
	case len(code) > 0 || wordlist.Has("vim vi nvim emacs", in.Name()):
		access := collect.AccessRead
		if strings.HasPrefix(in.Name(), "perl") && perlInPlace(c.Argv) {
			access = perlEdits(argv.Join(code, "\n"), c.Argv)
		}
		for _, f := range operands {
			if f.Within && access == collect.AccessWrite {
				listed(s)
				continue
			}
			s.Touch(f, access)
		}
	case len(operands) > 0 && operands[0].Text != "-" && readsFile(s, operands[0], c):
	case len(operands) > 0 && operands[0].Text != "-":
		c.Unbound = append(c.Unbound, operands[0].Text)
		s.Touch(operands[0], collect.AccessRead)
		after := slices.IndexFunc(in.Words, func(w argv.Field) bool { return w.Text == operands[0].Text })
		strays(s, shell.Invocation{Words: append(in.Words[:1:1], in.Words[after+1:]...)})
	case s.Stdin.Kind == "file":
		c.Unbound = append(c.Unbound, s.Stdin.File)
	case s.Stdin.Kind != "" && !o.Has("vhV", "version"):
		code := argv.Field{Text: s.Stdin.Text}
		if !s.Stdin.Known {
			code.Dynamic = []string{"stdin"}
		}
		if !obvious(s, code, c) {
			c.Unresolved = append(c.Unresolved, "stdin")
			s.Found.Explain("stdin", s.Found.Why[Shorten(code.Text)])
		}
		if s.Stdin.Kind == "pipe" && !slices.Contains(c.Via, "pipe") {
			c.Via = append(c.Via, "pipe")
		}
	}
}

// plainEvalOptions are options of "deno eval" that change neither the program's
// language nor what it loads.
const plainEvalOptions = "-p --print -q --quiet --unstable --ext=js --ext=ts --no-check --check --no-lock -A --allow-all"

// denoEval notes the program of "deno eval".
func denoEval(s *shell.Shell, words []argv.Field, c *holdgate.Command) {
	for _, w := range words {
		switch {
		case wordlist.Has(plainEvalOptions, w.Text):
		case strings.HasPrefix(w.Text, "-"):
			c.Unresolved = append(c.Unresolved, Shorten(w.Text))
		default:
			obvious(s, w, c)
			return
		}
	}
}

// cutModule takes "-m module" and what follows off an interpreter's words.
func cutModule(words []argv.Field, ip interpreter) ([]argv.Field, string) {
	if ip.module == "" {
		return words, ""
	}
	for i, w := range words {
		switch {
		case i > 0 && len(words[i-1].Text) == 2 && strings.HasPrefix(words[i-1].Text, "-") && strings.Contains(ip.valued, words[i-1].Text[1:]): // -W error
		case !strings.HasPrefix(w.Text, "-") || w.Text == "-"+ip.code:
			return words, ""
		case w.Text == "-"+ip.module && i+1 < len(words):
			return words[:i], words[i+1].Text
		case strings.HasPrefix(w.Text, "-"+ip.module) && len(w.Text) > 2:
			return words[:i], w.Text[2:]
		}
	}
	return words, ""
}

const quotedText = `\(?\s*\[?\s*[rbf]*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`

// What can be seen in code without reading its language.
var (
	codeDeletes = lazyregexp.New(`\b(?:os\.remove|os\.unlink|os\.rmdir|os\.removedirs|shutil\.rmtree|rmtree|rimraf|unlink|unlinkSync|rmdirSync|rmSync|fs\.rm|fs\.rmdir|rmdir|remove_tree|FileUtils\.rm(?:_rf|_r|tree|_f)?|File\.delete|Dir\.delete|Path|os\.remove|filesystem\.remove_all|remove_all|Deno\.remove(?:Sync)?)` + quotedText + `(\)\.(?:unlink|rmdir))?`)
	codeRuns    = lazyregexp.New(`\b(?:os\.system|os\.popen|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|execSync|exec|spawn|spawnSync|execFile|execFileSync|system|shell_exec|passthru|popen|proc_open|do shell script|os\.execute|io\.popen|run_cmd|qx|\$)` + quotedText)
	codeStrings = lazyregexp.New(`"((?:[^"\\\n]|\\.){1,200})"|'((?:[^'\\\n]|\\.){1,200})'`)
	codeBang    = lazyregexp.New(`(?m)(?:^|[:|\s])!\s*([^\s=].*)$`)
	codeTicks   = lazyregexp.New("`([^`\n]+)`")
	recursive   = lazyregexp.New(`rmtree|rimraf|rm_r|remove_all|recursive|remove_tree`)
)

// obvious notes code in another language: where it is not read, it is unresolved, and
// what it plainly deletes, runs or opens is listed. It reports whether all that
// the code does was seen: see the package snippet.
func obvious(s *shell.Shell, f argv.Field, c *holdgate.Command) bool {
	text := f.Text
	if text == "" && len(f.Dynamic) == 0 {
		return false
	}
	if reads(s, f, c) {
		return true
	}
	c.Unresolved = append(c.Unresolved, Shorten(text))
	s.Found.Explain(Shorten(text), unreadCode(s, f, c))
	for _, m := range codeDeletes.FindAllStringSubmatch(text, 50) {
		s.Found.Tick()
		if strings.HasPrefix(m[0], "Path") && m[2] == "" {
			continue
		}
		s.Touch(argv.Field{Text: unquoteCode(m[1])}, collect.AccessDelete)
		if recursive.MatchString(text) {
			s.Found.Facts.Impact.Recursive = true
		}
	}
	for _, re := range []*lazyregexp.Regexp{codeRuns, codeBang, codeTicks} {
		for _, m := range re.FindAllStringSubmatch(text, 50) {
			s.Found.Tick()
			run := m[1]
			if re == codeRuns {
				run = unquoteCode(run)
			}
			runsInCode(s, run, c.Program)
		}
	}
	for _, m := range codeStrings.FindAllStringSubmatch(text, 200) {
		s.Found.Tick()
		str := m[1] + m[2]
		if class := collect.Classify(str, collect.AccessRead); (class == collect.ClassSecret || class == collect.ClassPersistence) && !strings.ContainsAny(str, " \n") {
			s.Touch(argv.Field{Text: str}, collect.AccessRead)
		}
		if strings.Contains(str, "://") {
			s.Found.URLsIn(str)
		}
	}
	return false
}

// runsInCode walks a string that code hands to a shell. Where it is no shell
// text after all, nothing is lost: the code is unresolved in any case.
func runsInCode(s *shell.Shell, text, program string) {
	sub := s.Sub(program)
	if stmts, err := sub.Parse(text); err != nil || len(stmts) == 0 {
		return
	}
	sub.Stdin = shell.Stream{}
	sub.Taint = append(slices.Clip(sub.Taint), program+" code")
	sub.Script(text)
}

var awkRuns = lazyregexp.New(`system\s*\(\s*"((?:[^"\\\n]|\\.)*)"|\|&?\s*(?:getline\s*)?"((?:[^"\\\n]|\\.)*)"|"((?:[^"\\\n]|\\.)*)"\s*\|&?\s*getline`)
var awkWrites = lazyregexp.New(`>>?\s*"((?:[^"\\\n]|\\.)*)"`)

// awk notes a program in AWK. One with words of the shell in it is unresolved
// only where it runs or writes.
func awk(s *shell.Shell, f argv.Field, c *holdgate.Command) {
	if f.Known() {
		obvious(s, f, c)
		return
	}
	acts := strings.Contains(f.Text, "system") || strings.Contains(f.Text, "|") && strings.Contains(f.Text, `"`) && awkRuns.MatchString(f.Text)
	for _, m := range awkRuns.FindAllStringSubmatch(f.Text, 50) {
		runsInCode(s, m[1]+m[2]+m[3], c.Program)
	}
	for _, m := range awkWrites.FindAllStringSubmatch(f.Text, 50) {
		s.Touch(argv.Field{Text: m[1]}, collect.AccessWrite)
	}
	if acts || strings.Contains(f.Text, "@load") || strings.Contains(f.Text, "getline") {
		c.Unresolved = append(c.Unresolved, Shorten(f.Text))
	}
}

// awkOptions notes what the options of an awk load and write, and reports whether
// it writes the files that it reads.
func awkOptions(s *shell.Shell, words []argv.Field, c *holdgate.Command) (inPlace bool) {
	o := argv.ParseOptions(words, "Fvfilpode", "include load assign field-separator file source")
	for _, f := range append(o.Values("i", "include"), o.Values("l", "load")...) {
		if strings.TrimSuffix(f.Text, ".awk") == "inplace" {
			inPlace = true
		} else {
			c.Unbound = append(c.Unbound, f.Text)
		}
	}
	for _, long := range []string{"profile", "pretty-print", "dump-variables"} {
		for _, f := range append(o.Values(long[:1], long), o.Values(map[string]string{"pretty-print": "o"}[long], "")...) {
			s.Touch(f, collect.AccessWrite)
		}
	}
	return inPlace
}

// maxUnresolved bounds the length of one unresolved word, in bytes.
const maxUnresolved = 200

// Shorten is a text cut to what a reason holds.
func Shorten(s string) string {
	if len(s) <= maxUnresolved {
		return s
	}
	return strings.ToValidUTF8(s[:maxUnresolved], "") + "..."
}

// unquoteCode takes the quotes off a string literal, and the escapes that most
// languages share.
func unquoteCode(s string) string {
	if len(s) < 2 {
		return s
	}
	return grammar.AnsiC(s[1 : len(s)-1])
}
