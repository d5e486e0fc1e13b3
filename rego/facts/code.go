package facts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
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
	"awk":        {program: true, valued: "Fvi", code: "e", file: "f"},
	"gawk":       {program: true, valued: "Fvi", code: "e", file: "f"},
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
func (s *shell) interpret(ip interpreter, in invocation, c *Command) {
	words := in.words[1:]
	if len(words) > 0 && wordlist.Has(ip.verbs, words[0].text) {
		if words[0].text == "eval" {
			s.denoEval(words[1:], c)
			return
		}
		if wordlist.Has("task install add create x", words[0].text) {
			c.Unbound = append(c.Unbound, "package.json")
			return
		}
		words = words[1:]
	}
	if strings.HasPrefix(in.name(), "perl") && len(words) > 0 && !wordlist.Has("-v -V --version -c -wc", words[0].text) {
		if _, plain := perlOptions(texts(in.words)); !plain {
			c.Unresolved = append(c.Unresolved, "options of "+in.name())
		}
	}
	words, module := cutModule(words, ip)
	o := parseOptions(words, ip.code+ip.valued+ip.file, ip.long+" "+ip.loads)
	code := o.values(ip.code, "")
	for l := range strings.FieldsSeq(ip.long) {
		code = append(code, o.values("", l)...)
	}
	for _, f := range o.values(ip.file, "") {
		c.Unbound = append(c.Unbound, f.text)
		s.touch(f, collect.AccessRead)
	}
	for l := range strings.FieldsSeq(ip.loads) {
		c.Unbound = append(c.Unbound, texts(o.values("", l))...)
	}
	operands := o.operands
	if ip.program && s.awkOptions(in.words[1:], c) {
		operands = slices.Clone(operands)
		for i := range operands[min(1, len(operands)):] {
			s.touch(operands[i+1], collect.AccessWrite)
		}
	}
	if ip.program && len(code) == 0 && len(o.values(ip.file, "")) == 0 && len(operands) > 0 {
		s.awk(operands[0], c)
		for _, f := range operands[1:] {
			if !isAssignment(f) {
				s.touch(f, collect.AccessRead)
			}
		}
		return
	}
	for _, f := range code {
		s.code(f, c)
	}
	switch {
	case wordlist.Has(standardModules, module):
	case wordlist.Has("node nodejs", in.name()) && o.has("c", "check"):
		for _, f := range operands {
			s.touch(f, collect.AccessRead)
		}
	case module != "":
		if !wordlist.Has(toolModules, module) {
			c.Unbound = append(c.Unbound, module)
		}
		s.moduleArguments(module, in, c)
		s.strays(in)
	case len(code) > 0 || wordlist.Has("vim vi nvim emacs", in.name()):
		access := collect.AccessRead
		if strings.HasPrefix(in.name(), "perl") && perlInPlace(c.Argv) {
			access = perlEdits(join(code, "\n"), c.Argv)
		}
		for _, f := range operands {
			s.touch(f, access)
		}
	case len(operands) > 0 && operands[0].text != "-" && s.readsFile(operands[0], c):
	case len(operands) > 0 && operands[0].text != "-":
		c.Unbound = append(c.Unbound, operands[0].text)
		s.touch(operands[0], collect.AccessRead)
		after := slices.IndexFunc(in.words, func(w field) bool { return w.text == operands[0].text })
		s.strays(invocation{words: append(in.words[:1:1], in.words[after+1:]...)})
	case s.stdin.kind == "file":
		c.Unbound = append(c.Unbound, s.stdin.file)
	case s.stdin.kind != "" && !o.has("vhV", "version"):
		code := field{text: s.stdin.text}
		if !s.stdin.known {
			code.dynamic = []string{"stdin"}
		}
		if !s.code(code, c) {
			c.Unresolved = append(c.Unresolved, "stdin")
		}
		if s.stdin.kind == "pipe" && !slices.Contains(c.Via, "pipe") {
			c.Via = append(c.Via, "pipe")
		}
	}
}

// plainEvalOptions are options of "deno eval" that change neither the program's
// language nor what it loads.
const plainEvalOptions = "-p --print -q --quiet --unstable --ext=js --ext=ts --no-check --check --no-lock -A --allow-all"

// denoEval notes the program of "deno eval".
func (s *shell) denoEval(words []field, c *Command) {
	for _, w := range words {
		switch {
		case wordlist.Has(plainEvalOptions, w.text):
		case strings.HasPrefix(w.text, "-"):
			c.Unresolved = append(c.Unresolved, shorten(w.text))
		default:
			s.code(w, c)
			return
		}
	}
}

// cutModule takes "-m module" and what follows off an interpreter's words.
func cutModule(words []field, ip interpreter) ([]field, string) {
	if ip.module == "" {
		return words, ""
	}
	for i, w := range words {
		switch {
		case i > 0 && len(words[i-1].text) == 2 && strings.HasPrefix(words[i-1].text, "-") && strings.Contains(ip.valued, words[i-1].text[1:]): // -W error
		case !strings.HasPrefix(w.text, "-") || w.text == "-"+ip.code:
			return words, ""
		case w.text == "-"+ip.module && i+1 < len(words):
			return words[:i], words[i+1].text
		case strings.HasPrefix(w.text, "-"+ip.module) && len(w.text) > 2:
			return words[:i], w.text[2:]
		}
	}
	return words, ""
}

const quotedText = `\(?\s*\[?\s*[rbf]*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`

// What can be seen in code without reading its language.
var (
	codeDeletes = regexp.MustCompile(`\b(?:os\.remove|os\.unlink|os\.rmdir|os\.removedirs|shutil\.rmtree|rmtree|rimraf|unlink|unlinkSync|rmdirSync|rmSync|fs\.rm|fs\.rmdir|rmdir|remove_tree|FileUtils\.rm(?:_rf|_r|tree|_f)?|File\.delete|Dir\.delete|Path|os\.remove|filesystem\.remove_all|remove_all|Deno\.remove(?:Sync)?)` + quotedText + `(\)\.(?:unlink|rmdir))?`)
	codeRuns    = regexp.MustCompile(`\b(?:os\.system|os\.popen|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|execSync|exec|spawn|spawnSync|execFile|execFileSync|system|shell_exec|passthru|popen|proc_open|do shell script|os\.execute|io\.popen|run_cmd|qx|\$)` + quotedText)
	codeStrings = regexp.MustCompile(`"((?:[^"\\\n]|\\.){1,200})"|'((?:[^'\\\n]|\\.){1,200})'`)
	codeBang    = regexp.MustCompile(`(?m)(?:^|[:|\s])!\s*(\S.*)$`)
	codeTicks   = regexp.MustCompile("`([^`\n]+)`")
	recursive   = regexp.MustCompile(`rmtree|rimraf|rm_r|remove_all|recursive|remove_tree`)
)

// code notes code in another language: where it is not read, it is unresolved, and
// what it plainly deletes, runs or opens is listed. It reports whether all that
// the code does was seen: see the package snippet.
func (s *shell) code(f field, c *Command) bool {
	text := f.text
	if text == "" && len(f.dynamic) == 0 {
		return false
	}
	if s.reads(f, c) {
		return true
	}
	c.Unresolved = append(c.Unresolved, shorten(text))
	for _, m := range codeDeletes.FindAllStringSubmatch(text, 50) {
		s.x.Tick()
		if strings.HasPrefix(m[0], "Path") && m[2] == "" {
			continue
		}
		s.touch(field{text: unquoteCode(m[1])}, collect.AccessDelete)
		if recursive.MatchString(text) {
			s.x.Facts.Impact.Recursive = true
		}
	}
	for _, re := range []*regexp.Regexp{codeRuns, codeBang, codeTicks} {
		for _, m := range re.FindAllStringSubmatch(text, 50) {
			s.x.Tick()
			run := m[1]
			if re == codeRuns {
				run = unquoteCode(run)
			}
			s.runsInCode(run, c.Program)
		}
	}
	for _, m := range codeStrings.FindAllStringSubmatch(text, 200) {
		s.x.Tick()
		str := m[1] + m[2]
		if class := collect.Classify(str, collect.AccessRead); (class == collect.ClassSecret || class == collect.ClassPersistence) && !strings.ContainsAny(str, " \n") {
			s.touch(field{text: str}, collect.AccessRead)
		}
		if strings.Contains(str, "://") {
			s.x.URLsIn(str)
		}
	}
	return false
}

// runsInCode walks a string that code hands to a shell. Where it is no shell
// text after all, nothing is lost: the code is unresolved in any case.
func (s *shell) runsInCode(text, program string) {
	sub := s.sub(program)
	if stmts, err := sub.parse(text); err != nil || len(stmts) == 0 {
		return
	}
	sub.stdin = stream{}
	sub.taint = append(slices.Clip(sub.taint), program+" code")
	sub.script(text)
}

var awkRuns = regexp.MustCompile(`system\s*\(\s*"((?:[^"\\\n]|\\.)*)"|\|&?\s*(?:getline\s*)?"((?:[^"\\\n]|\\.)*)"|"((?:[^"\\\n]|\\.)*)"\s*\|&?\s*getline`)
var awkWrites = regexp.MustCompile(`>>?\s*"((?:[^"\\\n]|\\.)*)"`)

// awk notes a program in AWK. One with words of the shell in it is unresolved
// only where it runs or writes.
func (s *shell) awk(f field, c *Command) {
	if f.known() {
		s.code(f, c)
		return
	}
	acts := strings.Contains(f.text, "system") || strings.Contains(f.text, "|") && strings.Contains(f.text, `"`) && awkRuns.MatchString(f.text)
	for _, m := range awkRuns.FindAllStringSubmatch(f.text, 50) {
		s.runsInCode(m[1]+m[2]+m[3], c.Program)
	}
	for _, m := range awkWrites.FindAllStringSubmatch(f.text, 50) {
		s.touch(field{text: m[1]}, collect.AccessWrite)
	}
	if acts || strings.Contains(f.text, "@load") || strings.Contains(f.text, "getline") {
		c.Unresolved = append(c.Unresolved, shorten(f.text))
	}
}

// awkOptions notes what the options of an awk load and write, and reports whether
// it writes the files that it reads.
func (s *shell) awkOptions(words []field, c *Command) (inPlace bool) {
	o := parseOptions(words, "Fvfilpode", "include load assign field-separator file source")
	for _, f := range append(o.values("i", "include"), o.values("l", "load")...) {
		if strings.TrimSuffix(f.text, ".awk") == "inplace" {
			inPlace = true
		} else {
			c.Unbound = append(c.Unbound, f.text)
		}
	}
	for _, long := range []string{"profile", "pretty-print", "dump-variables"} {
		for _, f := range append(o.values(long[:1], long), o.values(map[string]string{"pretty-print": "o"}[long], "")...) {
			s.touch(f, collect.AccessWrite)
		}
	}
	return inPlace
}

// maxUnresolved bounds the length of one unresolved word, in bytes.
const maxUnresolved = 200

func shorten(s string) string {
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
	return ansiC(s[1 : len(s)-1])
}
