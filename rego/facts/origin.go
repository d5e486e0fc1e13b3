package facts

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// An origin says what is known of text that a line makes at run time: by the
// command that prints it, or by the variable that holds it. The weakest comes
// first.
type origin uint8

const (
	originAny   origin = iota // nothing is known
	originNames               // names of files, as a listing prints them, or parts of them
	originValue               // one path, ref or import path: it begins with no dash
	originAtom                // a number, a hash, a date: no slash stands in it either
	originOwn                 // the number of a process that the line itself has started
)

// atomVariables hold numbers that the shell itself keeps.
const atomVariables = "# ? $ RANDOM SRANDOM SECONDS LINENO UID EUID PPID BASHPID SHLVL EPOCHSECONDS"

var portNumber = regexp.MustCompile(`^[0-9]{1,5}$`)

// paramOrigin is where the value of a parameter comes from that is not known.
func (s *shell) paramOrigin(p *syntax.ParamExp) origin {
	if p.Param == nil || p.Excl || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 || p.Names != 0 {
		return originAny
	}
	if p.Length {
		return originAtom
	}
	v, assigned := s.vars[p.Param.Value]
	o := v.origin
	switch {
	case assigned && v.known:
		o = originNames // the line says what a part is taken of
	case assigned, s.remote:
	case p.Param.Value == "!":
		o = originOwn
	case s.wild:
	case wordlist.Has(atomVariables, p.Param.Value):
		o = originAtom
	}
	if p.Exp != nil && !wordlist.Has("# ## % %%", p.Exp.Op.String()) || p.Repl != nil {
		if !assigned && p.Repl == nil && wordlist.Has(":- -", p.Exp.Op.String()) && strings.HasSuffix(p.Param.Value, "PORT") && p.Exp.Word != nil && portNumber.MatchString(p.Exp.Word.Lit()) {
			return originAtom // a port, as the environment has it or by default
		}
		if p.Repl == nil && assigned && !v.known && v.origin == originAtom && wordlist.Has(":- -", p.Exp.Op.String()) && p.Exp.Word != nil && portNumber.MatchString(p.Exp.Word.Lit()) {
			return originAtom
		}
		return originAny
	}
	if p.Exp != nil || p.Slice != nil {
		return min(o, originNames)
	}
	return o
}

// processOrigin is where standard input comes from that is redirected from a
// process substitution.
func (s *shell) processOrigin(w *syntax.Word) origin {
	if len(w.Parts) != 1 {
		return originAny
	}
	if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && len(p.Stmts) == 1 {
		return s.quietly().stmtOrigin(p.Stmts[0])
	}
	return originAny
}

// substituted is what a command substitution puts in its place: text, where
// the line itself tells it, or else where it comes from.
func (s *shell) substituted(c *syntax.CmdSubst) (text string, known bool, o origin) {
	if len(c.Stmts) != 1 || s.remote || slices.ContainsFunc(s.env, func(e field) bool { return len(loads("cat", e)) > 0 }) {
		return "", false, originAny
	}
	q := s.quietly()
	if out := q.output(c.Stmts[0]); out.known {
		return strings.TrimRight(out.text, "\n"), true, originAtom
	}
	return "", false, q.stmtOrigin(c.Stmts[0])
}

// filesWithin reports whether a command substitution lists only files inside of the
// session's folder.
func (s *shell) filesWithin(c *syntax.CmdSubst) bool {
	return len(c.Stmts) == 1 && !s.remote && s.quietly().listsWithin(c.Stmts[0])
}

// namesFile reports whether a parameter stands for one of the files that a listing
// of the session's folder has printed, or for its name without the end.
func (s *shell) namesFile(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || !s.vars[p.Param.Value].within {
		return false
	}
	if p.Exp == nil {
		return true
	}
	end := p.Exp.Word.Lit()
	return wordlist.Has("% %%", p.Exp.Op.String()) && len(end) > 1 && end[0] == '.' && !strings.ContainsAny(end, "/*?[")
}

// quietly is a shell that expands words and lists nothing: what they hold is
// listed where they run.
func (s *shell) quietly() *shell {
	q := s.sub()
	q.quiet = true
	return q
}

// stmtOrigin is where the output of a statement comes from. The shell is a
// quiet one.
func (s *shell) stmtOrigin(st *syntax.Stmt) origin {
	s.x.Tick()
	if st.Background || st.Negated || !silences(st.Redirs) {
		return originAny
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		if words := s.fields(c.Args); len(words) > 0 {
			return s.printedBy(words, s.stdin.origin)
		}
	case *syntax.BinaryCmd:
		return s.binaryOrigin(c)
	}
	return originAny
}

func (s *shell) binaryOrigin(c *syntax.BinaryCmd) origin {
	switch c.Op {
	case syntax.Pipe:
		if s.numbersLines(c) {
			return originAtom
		}
		right := s.sub()
		right.stdin = stream{kind: "pipe", origin: s.stmtOrigin(c.X)}
		return right.stmtOrigin(c.Y)
	case syntax.OrStmt: // git rev-parse HEAD || echo none
		o := s.stmtOrigin(c.X)
		if out := s.output(c.Y); out.known && !strings.HasPrefix(out.text, "-") {
			return min(o, originNames)
		}
		return min(o, s.stmtOrigin(c.Y))
	case syntax.AndStmt: // cd x && pwd
		if call, ok := c.X.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "cd" {
			return s.stmtOrigin(c.Y)
		}
	}
	return originAny
}

// numbersLines reports whether a pipe ends in the numbers of lines that grep has
// found in one file: grep -n x f | head -1 | cut -d: -f1.
func (s *shell) numbersLines(c *syntax.BinaryCmd) bool {
	var calls [][]field
	for st := (&syntax.Stmt{Cmd: c}); st != nil; {
		pipe, ok := st.Cmd.(*syntax.BinaryCmd)
		last := st
		if ok {
			last = pipe.Y
		}
		call, simple := last.Cmd.(*syntax.CallExpr)
		if !simple || !silences(last.Redirs) || ok && pipe.Op != syntax.Pipe || len(calls) > 4 {
			return false
		}
		words := s.fields(call.Args)
		if len(words) == 0 || s.overridden(words[0].text) {
			return false
		}
		calls = append(calls, words)
		st = nil
		if ok {
			st = pipe.X
		}
	}
	cut, grep := calls[0], calls[len(calls)-1]
	for _, words := range calls[1 : len(calls)-1] {
		if !wordlist.Has("head tail sort", words[0].text) {
			return false
		}
	}
	o := parseOptions(grep[1:], "efABCm", "regexp file max-count")
	first := cut[0].text == "cut" && (join(cut[1:], " ") == "-f1" || join(cut[1:], " ") == "-f 1") ||
		cut[0].text == "awk" && len(cut) == 2 && strings.ReplaceAll(cut[1].text, " ", "") == "{print$1}"
	if len(calls) == 2 && first && grep[0].text == "wc" && cut[0].text == "awk" {
		return true
	}
	if grep[0].text == "du" && len(calls) == 2 && first {
		return !slices.ContainsFunc(grep[1:], func(w field) bool { return strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "h0") })
	}
	numbered := grep[0].text == "grep" && o.has("n", "line-number") && !o.has("rRHo", "recursive") && !o.has("", "with-filename") && len(o.operands) <= 2
	return numbered && cut[0].text == "cut" && (join(cut[1:], " ") == "-d: -f1" || join(cut[1:], " ") == "-f1 -d:" || join(cut[1:], " ") == "-d : -f 1")
}

// silences reports whether redirections do no more than throw messages away,
// or read a file.
func silences(list []*syntax.Redirect) bool {
	for _, r := range list {
		quiet := r.Op == syntax.RdrOut && r.N != nil && r.N.Value == "2" && r.Word.Lit() == "/dev/null"
		if !quiet && r.Op != syntax.RdrIn {
			return false
		}
	}
	return true
}

// printedBy is what a command prints that reads the given text.
func (s *shell) printedBy(words []field, in origin) origin {
	name, args := words[0].text, words[1:]
	if !words[0].known() || s.overridden(name) {
		return originAny
	}
	for i, w := range args {
		if !w.known() && w.origin == originAny {
			return originAny
		}
		if !excluded(name, args, i) && (collect.Classify(w.text, collect.AccessRead) == collect.ClassSecret || aimsAtSecrets(w.text)) {
			return originAny
		}
	}
	for name == "xargs" && len(args) > 1 && args[0].known() && xargsPlain.MatchString(args[0].text) {
		args = args[1:]
	}
	if name == "command" || name == "xargs" {
		if len(args) == 0 || strings.HasPrefix(args[0].text, "-") && args[0].text != "-v" {
			return originAny
		}
		if args[0].text == "-v" {
			return originValue
		}
		return s.printedBy(args, in)
	}
	switch {
	case wordlist.Has("echo printf", name) && len(args) > 0 && !strings.HasPrefix(args[0].text, "-"):
		if len(args) == 1 && args[0].origin == originOwn && len(args[0].dynamic) == 1 && args[0].text == args[0].dynamic[0] {
			return originOwn
		}
		o := originNames
		for i, w := range args {
			if name == "printf" && i == 0 && wordlist.Has(`%s %s\n`, w.text) {
				continue
			}
			if w.known() || strings.Trim(w.text, "${}") != strings.Trim(w.dynamic[0], "${}") {
				return originAny
			}
			o = min(o, w.origin)
		}
		return o
	case printsNumbers(name, args):
		return originAtom
	case name == "cat" && len(args) == 1:
		return s.contentOrigin(args[0])
	case name == "jobs" && len(args) == 1 && wordlist.Has("-p -pr -rp", args[0].text):
		return originOwn
	case wordlist.Has("nproc whoami id uname arch seq", name):
		return originAtom
	case wordlist.Has("pwd which mktemp", name):
		return originValue
	case wordlist.Has("ls basename dirname readlink realpath", name):
		return originNames
	}
	o := parseOptions(args, "", "")
	switch name {
	case "head", "tail", "sort", "uniq", "cut", "tr", "wc", "grep", "egrep", "rg", "awk":
		return filterOrigin(name, args, o, in)
	case "date":
		return dateOrigin(args)
	case "git":
		return gitOrigin(args)
	case "go":
		if len(args) > 0 && args[0].text == "list" && !o.has("fm", "f") && !o.has("", "json") {
			return originValue
		}
	case "find", "fd":
		if !slices.ContainsFunc(args, func(w field) bool {
			return wordlist.Has("-printf -exec -execdir -ok -okdir -delete -x -X --exec --exec-batch", w.text)
		}) {
			return originNames
		}
	case "pgrep", "lsof", "docker":
		if name == "pgrep" || o.has("q", "quiet") && name == "docker" || o.has("t", "") && name == "lsof" {
			return originAtom
		}
	}
	return originAny
}

// aimsAtSecrets reports whether a word picks the names of secrets out of a
// listing.
func aimsAtSecrets(word string) bool {
	word = strings.ReplaceAll(strings.ToLower(word), "venv", "")
	return slices.ContainsFunc(strings.Fields(`\.e env pem key cred secret id_ ssh token passw netrc kube gnupg .aws history`), func(part string) bool {
		return strings.Contains(word, part)
	})
}

// excluded reports whether the word at i is a pattern of what is left out of a
// listing.
func excluded(name string, args []field, i int) bool {
	switch name {
	case "find":
		return i > 1 && wordlist.Has("-path -name -ipath -iname", args[i-1].text) && wordlist.Has("-not !", args[i-2].text)
	case "grep", "egrep", "rg":
		return parseOptions(args, "e", "").has("v", "invert-match")
	}
	return false
}

// leadingHash is a format of git whose lines begin with a hash or a time.
var leadingHash = regexp.MustCompile(`^(format:|tformat:)?%(H|h|ct|at|cs|as)[ \t,|:]`)

// firstOrigin is where the first word of each line comes from that a statement prints.
// The shell is a quiet one.
func (s *shell) firstOrigin(st *syntax.Stmt) origin {
	if st.Background || st.Negated || !silences(st.Redirs) {
		return originAny
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if call, ok := c.Y.Cmd.(*syntax.CallExpr); ok && c.Op == syntax.Pipe && silences(c.Y.Redirs) {
			words := s.fields(call.Args)
			if len(words) > 0 && wordlist.Has("sort head tail uniq grep", words[0].text) && !s.overridden(words[0].text) && !slices.ContainsFunc(words[1:], func(f field) bool {
				return !f.known() || strings.HasPrefix(f.text, "-") && strings.ContainsAny(f.text, "oc")
			}) {
				return s.firstOrigin(c.X)
			}
		}
	case *syntax.CallExpr:
		words := s.fields(c.Args)
		if len(words) < 3 || words[0].text != "git" || s.overridden("git") || !wordlist.Has("log show rev-list", words[1].text) || !known(words) {
			return originAny
		}
		for _, w := range words[2:] {
			option, format, _ := strings.Cut(w.text, "=")
			if wordlist.Has("--format --pretty", option) && leadingHash.MatchString(format) && !strings.ContainsAny(format, "\n\x00") && !strings.Contains(format, "%n") {
				return originAtom
			}
		}
	}
	return originAny
}

// xargsPlain are options of xargs that say how many words each command gets.
var xargsPlain = regexp.MustCompile(`^(-r|-0|-r0|-0r|-n[0-9]+|-L[0-9]+|-rn[0-9]+|--no-run-if-empty|--null)$`)

// overridden reports whether the line itself has given the name another
// meaning.
func (s *shell) overridden(name string) bool {
	_, function := s.funcs[name]
	_, alias := s.aliases[name]
	return function || alias
}

// filterOrigin is what is left of what a filter reads.
func filterOrigin(name string, args []field, o options, in origin) origin {
	switch name {
	case "wc":
		if len(o.operands) == 0 {
			return originAtom
		}
		return originNames
	case "grep", "egrep", "rg":
		if o.has("c", "count") && (len(o.operands) < 2 || len(o.operands) == 2 && name != "rg" && !o.has("rRHef", "recursive") && !o.has("", "with-filename") && !o.operands[1].glob) {
			return originAtom
		}
		if o.has("lL", "files-with-matches") || name == "rg" && o.has("", "files") {
			return originNames
		}
		if o.has("or", "only-matching") || len(o.operands) > 1 {
			return originAny
		}
		return in
	case "tr":
		for _, w := range o.operands {
			if strings.Trim(w.text, "\\nrt ,\"'") != "" {
				return originAny
			}
		}
		if in >= originAtom && len(o.operands) == 1 && o.has("d", "delete") {
			return in
		}
		return min(in, originNames)
	case "awk":
		if len(args) != 1 || !strings.HasPrefix(strings.ReplaceAll(args[0].text, " ", ""), "{print$") || strings.Trim(args[0].text, "{}print$0123456789NF ") != "" {
			return originAny
		}
		return min(in, originNames)
	case "cut":
		return min(in, originNames)
	}
	if slices.ContainsFunc(o.operands, func(w field) bool { return strings.Trim(w.text, "0123456789") != "" }) {
		return originAny // it reads a file
	}
	return in
}

// dateOrigin is what date prints, by its format.
func dateOrigin(args []field) origin {
	o := originAtom
	for _, w := range args {
		switch {
		case !w.known() || w.text == "-s" || strings.HasPrefix(w.text, "--set"):
			return originAny
		case strings.HasPrefix(w.text, "+-"):
			return originAny
		case strings.HasPrefix(w.text, "+") && strings.ContainsAny(w.text, "/Dx"):
			o = originNames
		}
	}
	return o
}

// gitOrigin is what git prints that reads its repository.
func gitOrigin(args []field) origin {
	if len(args) > 2 && args[0].text == "-C" {
		args = args[2:]
	}
	if len(args) == 0 {
		return originAny
	}
	o := parseOptions(args[1:], "", "")
	format := ""
	for _, long := range []string{"format", "pretty"} {
		for _, f := range o.values("", long) {
			format = f.text
		}
	}
	switch args[0].text {
	case "rev-parse":
		if o.has("", "show-prefix") || o.has("", "show-cdup") || o.has("", "sq-quote") || o.has("", "parseopt") {
			return originNames
		}
		if o.has("", "show-toplevel") || o.has("", "git-dir") || o.has("", "abbrev-ref") || o.has("", "symbolic-full-name") {
			return originValue
		}
		return originAtom
	case "merge-base", "rev-list", "hash-object":
		return originAtom
	case "branch":
		if o.has("", "show-current") {
			return originValue
		}
	case "describe", "symbolic-ref", "tag":
		if format != "" && args[0].text == "tag" {
			return originAny
		}
		return originValue
	case "log", "show":
		if wordlist.Has("%H %h %T %ct %at %cs", format) {
			return originAtom
		}
	case "for-each-ref":
		if wordlist.Has("%(refname:short) %(refname) %(objectname) %(objectname:short)", format) {
			return originValue
		}
	case "ls-files", "ls-tree":
		return originNames
	case "diff":
		if o.has("", "name-only") {
			return originNames
		}
	}
	return originAny
}
