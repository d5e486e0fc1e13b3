package shell

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
	OriginAny   origin = iota // nothing is known
	OriginText                // text that a file of the project holds: code that reads it is as safe as the project's own
	OriginNames               // names of files, as a listing prints them, or parts of them
	OriginValue               // one path, ref or import path: it begins with no dash
	OriginAtom                // a number, a hash, a date: no slash stands in it either
	OriginOwn                 // the number of a process that the line itself has started
)

// atomVariables hold numbers that the shell itself keeps.
const atomVariables = "# ? $ RANDOM SRANDOM SECONDS LINENO UID EUID PPID BASHPID SHLVL EPOCHSECONDS"

var portNumber = regexp.MustCompile(`^[0-9]{1,5}$`)

// paramOrigin is where the value of a parameter comes from that is not known.
func (s *Shell) paramOrigin(p *syntax.ParamExp) origin {
	if p.Param == nil || p.Excl || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 || p.Names != 0 {
		return OriginAny
	}
	if p.Length {
		return OriginAtom
	}
	v, assigned := s.Vars[p.Param.Value]
	o := v.origin
	switch {
	case assigned && v.Known:
		o = OriginNames // the line says what a part is taken of
	case assigned, s.Remote:
	case p.Param.Value == "!":
		o = OriginOwn
	case s.Wild:
	case wordlist.Has(atomVariables, p.Param.Value):
		o = OriginAtom
	}
	if p.Exp != nil && !wordlist.Has("# ## % %%", p.Exp.Op.String()) || p.Repl != nil {
		if !assigned && p.Repl == nil && wordlist.Has(":- -", p.Exp.Op.String()) && strings.HasSuffix(p.Param.Value, "PORT") && p.Exp.Word != nil && portNumber.MatchString(p.Exp.Word.Lit()) {
			return OriginAtom // a port, as the environment has it or by default
		}
		if p.Repl == nil && assigned && !v.Known && v.origin == OriginAtom && wordlist.Has(":- -", p.Exp.Op.String()) && p.Exp.Word != nil && portNumber.MatchString(p.Exp.Word.Lit()) {
			return OriginAtom
		}
		return OriginAny
	}
	if p.Exp != nil || p.Slice != nil {
		return min(o, OriginNames)
	}
	return o
}

// processOrigin is where standard input comes from that is redirected from a
// process substitution.
func (s *Shell) processOrigin(w *syntax.Word) origin {
	if len(w.Parts) != 1 {
		return OriginAny
	}
	if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && len(p.Stmts) == 1 {
		return s.quietly().stmtOrigin(p.Stmts[0])
	}
	return OriginAny
}

// substituted is what a command substitution puts in its place: text, where
// the line itself tells it, or else where it comes from.
func (s *Shell) substituted(c *syntax.CmdSubst) (text string, known bool, o origin) {
	if len(c.Stmts) != 1 || s.Remote || slices.ContainsFunc(s.Env, func(e Field) bool { return len(Loads("cat", e)) > 0 }) {
		return "", false, OriginAny
	}
	q := s.quietly()
	if out := q.output(c.Stmts[0]); out.Known {
		return strings.TrimRight(out.Text, "\n"), true, OriginAtom
	}
	return "", false, q.stmtOrigin(c.Stmts[0])
}

// filesWithin reports whether a command substitution lists only files inside of the
// session's folder.
func (s *Shell) filesWithin(c *syntax.CmdSubst) bool {
	return len(c.Stmts) == 1 && !s.Remote && s.quietly().listsWithin(c.Stmts[0])
}

// namesFile reports whether a parameter stands for one of the files that a listing
// of the session's folder has printed, or for its name without the end.
func (s *Shell) namesFile(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || !s.Vars[p.Param.Value].within {
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
func (s *Shell) quietly() *Shell {
	q := s.Sub()
	q.Quiet = true
	return q
}

// stmtOrigin is where the output of a statement comes from. The shell is a
// quiet one.
func (s *Shell) stmtOrigin(st *syntax.Stmt) origin {
	s.Found.Tick()
	if st.Background || st.Negated || !silences(st.Redirs) {
		return OriginAny
	}
	in := s.Stdin.Origin
	for _, r := range st.Redirs {
		if r.Op == syntax.RdrIn {
			in = max(s.fileOrigin(s.one(r.Word, quoting{})), s.processOrigin(r.Word))
			if st.Cmd == nil {
				return in // $(< file)
			}
		}
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		if words := s.fields(c.Args); len(words) > 0 {
			return s.PrintedBy(words, in)
		}
	case *syntax.BinaryCmd:
		return s.binaryOrigin(c)
	}
	return OriginAny
}

func (s *Shell) binaryOrigin(c *syntax.BinaryCmd) origin {
	switch c.Op {
	case syntax.Pipe:
		if s.numbersLines(c) {
			return OriginAtom
		}
		right := s.Sub()
		right.Stdin = Stream{Kind: "pipe", Origin: s.stmtOrigin(c.X)}
		return right.stmtOrigin(c.Y)
	case syntax.OrStmt: // git rev-parse HEAD || echo none
		o := s.stmtOrigin(c.X)
		if out := s.output(c.Y); out.Known && !strings.HasPrefix(out.Text, "-") && plainText.MatchString(strings.TrimSpace(out.Text)) {
			return min(o, OriginNames)
		}
		return min(o, s.stmtOrigin(c.Y))
	case syntax.AndStmt: // cd x && pwd
		if call, ok := c.X.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "cd" {
			return s.stmtOrigin(c.Y)
		}
	}
	return OriginAny
}

// numbersLines reports whether a pipe ends in the numbers of lines that grep has
// found in one file: grep -n x f | head -1 | cut -d: -f1.
func (s *Shell) numbersLines(c *syntax.BinaryCmd) bool {
	var calls [][]Field
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
		if len(words) == 0 || s.overridden(words[0].Text) {
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
		if !wordlist.Has("head tail sort", words[0].Text) {
			return false
		}
	}
	o := ParseOptions(grep[1:], "efABCm", "regexp file max-count")
	first := cut[0].Text == "cut" && (Join(cut[1:], " ") == "-f1" || Join(cut[1:], " ") == "-f 1") ||
		cut[0].Text == "awk" && len(cut) == 2 && strings.ReplaceAll(cut[1].Text, " ", "") == "{print$1}"
	if len(calls) == 2 && first && grep[0].Text == "wc" && cut[0].Text == "awk" {
		return true
	}
	if grep[0].Text == "du" && len(calls) == 2 && first {
		return !slices.ContainsFunc(grep[1:], func(w Field) bool { return strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "h0") })
	}
	numbered := grep[0].Text == "grep" && o.Has("n", "line-number") && !o.Has("rRHo", "recursive") && !o.Has("", "with-filename") && len(o.Operands) <= 2
	return numbered && cut[0].Text == "cut" && (Join(cut[1:], " ") == "-d: -f1" || Join(cut[1:], " ") == "-f1 -d:" || Join(cut[1:], " ") == "-d : -f 1")
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

// PrintedBy is what a command prints that reads the given text.
func (s *Shell) PrintedBy(words []Field, in origin) origin {
	name, args := words[0].Text, words[1:]
	if !words[0].Known() || s.overridden(name) {
		return OriginAny
	}
	for i, w := range args {
		if !w.Known() && w.Origin < OriginNames && !(w.Origin == OriginText && wordlist.Has("echo printf", name)) {
			return OriginAny
		}
		if !excluded(name, args, i) && (collect.Classify(w.Text, collect.AccessRead) == collect.ClassSecret || aimsAtSecrets(w.Text)) {
			return OriginAny
		}
	}
	for name == "xargs" && len(args) > 1 && args[0].Known() && xargsPlain.MatchString(args[0].Text) {
		args = args[1:]
	}
	if name == "command" || name == "xargs" {
		if len(args) == 0 && name == "xargs" {
			return min(in, OriginText) // it prints what it reads
		}
		if len(args) == 0 || strings.HasPrefix(args[0].Text, "-") && args[0].Text != "-v" {
			return OriginAny
		}
		if args[0].Text == "-v" {
			return OriginValue
		}
		return s.PrintedBy(args, in)
	}
	switch {
	case name == "printf" && len(args) == 2 && numberFormat.MatchString(args[0].Text):
		return OriginAtom
	case wordlist.Has("echo printf", name) && len(args) > 0 && !strings.HasPrefix(args[0].Text, "-"):
		if len(args) == 1 && args[0].Origin == OriginOwn && len(args[0].Dynamic) == 1 && args[0].Text == args[0].Dynamic[0] {
			return OriginOwn
		}
		o := OriginNames
		for i, w := range args {
			if name == "printf" && i == 0 && wordlist.Has(`%s %s\n`, w.Text) {
				continue
			}
			if w.Known() || strings.Trim(w.Text, "${}") != strings.Trim(w.Dynamic[0], "${}") {
				return OriginAny
			}
			o = min(o, w.Origin)
		}
		return o
	case printsNumbers(name, args):
		return OriginAtom
	case name == "cat" && len(args) == 1:
		return max(s.contentOrigin(args[0]), s.fileOrigin(args[0]))
	case wordlist.Has("sed jq yq node python python3 sqlite3 curl", name):
		return s.pickedOrigin(name, args, in)
	case name == "jobs" && len(args) == 1 && wordlist.Has("-p -pr -rp", args[0].Text):
		return OriginOwn
	case wordlist.Has("nproc whoami id uname arch seq", name):
		return OriginAtom
	case wordlist.Has("pwd which mktemp", name):
		return OriginValue
	case wordlist.Has("ls basename dirname readlink realpath", name):
		return OriginNames
	}
	o := ParseOptions(args, "", "")
	switch name {
	case "head", "tail", "sort", "uniq", "cut", "tr", "wc", "grep", "egrep", "rg", "awk":
		return s.filterOrigin(name, args, o, in)
	case "date":
		return dateOrigin(args)
	case "git":
		return gitOrigin(args)
	case "go":
		if len(args) > 0 && args[0].Text == "list" && !o.Has("fm", "f") && !o.Has("", "json") {
			return OriginValue
		}
	case "find", "fd":
		if findsFiles(args) || !slices.ContainsFunc(args, func(w Field) bool {
			return wordlist.Has("-printf -exec -execdir -ok -okdir -delete -x -X --exec --exec-batch", w.Text)
		}) {
			return OriginNames
		}
	case "pgrep", "lsof", "docker":
		if name == "pgrep" || o.Has("q", "quiet") && name == "docker" || o.Has("t", "") && name == "lsof" {
			return OriginAtom
		}
	}
	return OriginAny
}

// findsFiles reports whether all that a find prints are names of files that a grep has
// picked out: find src -exec grep -l x {} +
func findsFiles(args []Field) bool {
	i := slices.IndexFunc(args, func(w Field) bool { return w.Text == "-exec" })
	if i < 0 || i+2 >= len(args) || !wordlist.Has("grep egrep fgrep", args[i+1].Text) {
		return false
	}
	o := ParseOptions(args[i+2:], "efABCm", "regexp file")
	return o.Has("lL", "files-with-matches") && !slices.ContainsFunc(slices.Concat(args[:i], args[i+2:]), func(w Field) bool {
		return wordlist.Has("-printf -fprintf -fprint -fls -exec -execdir -ok -okdir -delete -ls", w.Text)
	})
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
func excluded(name string, args []Field, i int) bool {
	switch name {
	case "find":
		return i > 1 && wordlist.Has("-path -name -ipath -iname", args[i-1].Text) && wordlist.Has("-not !", args[i-2].Text)
	case "grep", "egrep", "rg":
		return ParseOptions(args, "e", "").Has("v", "invert-match")
	}
	return false
}

// leadingHash is a format of git whose lines begin with a hash or a time.
var leadingHash = regexp.MustCompile(`^(format:|tformat:)?%(H|h|ct|at|cs|as)[ \t,|:]`)

// firstOrigin is where the first word of each line comes from that a statement prints.
// The shell is a quiet one.
func (s *Shell) firstOrigin(st *syntax.Stmt) origin {
	if st.Background || st.Negated || !silences(st.Redirs) {
		return OriginAny
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if call, ok := c.Y.Cmd.(*syntax.CallExpr); ok && c.Op == syntax.Pipe && silences(c.Y.Redirs) {
			words := s.fields(call.Args)
			if len(words) > 0 && wordlist.Has("sort head tail uniq grep", words[0].Text) && !s.overridden(words[0].Text) && !slices.ContainsFunc(words[1:], func(f Field) bool {
				return !f.Known() || strings.HasPrefix(f.Text, "-") && strings.ContainsAny(f.Text, "oc")
			}) {
				return s.firstOrigin(c.X)
			}
		}
	case *syntax.CallExpr:
		words := s.fields(c.Args)
		if len(words) < 3 || words[0].Text != "git" || s.overridden("git") || !wordlist.Has("log show rev-list", words[1].Text) || !known(words) {
			return OriginAny
		}
		for _, w := range words[2:] {
			option, format, _ := strings.Cut(w.Text, "=")
			if wordlist.Has("--format --pretty", option) && leadingHash.MatchString(format) && !strings.ContainsAny(format, "\n\x00") && !strings.Contains(format, "%n") {
				return OriginAtom
			}
		}
	}
	return OriginAny
}

// xargsPlain are options of xargs that say how many words each command gets.
var xargsPlain = regexp.MustCompile(`^(-r|-0|-r0|-0r|-n[0-9]+|-L[0-9]+|-rn[0-9]+|--no-run-if-empty|--null)$`)

// overridden reports whether the line itself has given the name another
// meaning.
func (s *Shell) overridden(name string) bool {
	_, function := s.funcs[name]
	_, alias := s.aliases[name]
	return function || alias
}

// filterOrigin is what is left of what a filter reads.
func (s *Shell) filterOrigin(name string, args []Field, o Options, in origin) origin {
	switch name {
	case "wc":
		if len(o.Operands) == 0 {
			return OriginAtom
		}
		return OriginNames
	case "grep", "egrep", "rg":
		if o.Has("c", "count") && (len(o.Operands) < 2 || len(o.Operands) == 2 && name != "rg" && !o.Has("rRHef", "recursive") && !o.Has("", "with-filename") && !o.Operands[1].Glob) {
			return OriginAtom
		}
		if o.Has("lL", "files-with-matches") || name == "rg" && o.Has("", "files") {
			return OriginNames
		}
		files := o.Operands
		if !o.Has("ef", "regexp") && len(files) > 0 {
			files = files[1:]
		}
		if o.Has("or", "only-matching") || len(files) > 0 {
			return min(s.filesOrigin(files, in), OriginText)
		}
		return in
	case "tr":
		for _, w := range o.Operands {
			if strings.Trim(w.Text, "\\nrt ,\"'") != "" {
				return min(in, OriginText)
			}
		}
		if in >= OriginAtom && len(o.Operands) == 1 && o.Has("d", "delete") {
			return in
		}
		return min(in, OriginNames)
	case "awk":
		if len(args) == 1 && strings.HasPrefix(strings.ReplaceAll(args[0].Text, " ", ""), "{print$") && strings.Trim(args[0].Text, "{}print$0123456789NF ") == "" {
			return min(in, OriginNames)
		}
		words := ParseOptions(args, "F", "").Operands
		if len(words) == 0 || !words[0].Known() || !printsFields.MatchString(words[0].Text) || slices.ContainsFunc(args, func(w Field) bool { return wordlist.Has("-v -f -e -i", w.Text) }) {
			return OriginAny
		}
		return min(s.filesOrigin(words[1:], in), OriginText)
	}
	files := slices.DeleteFunc(slices.Clone(o.Operands), func(w Field) bool {
		return w.Known() && (strings.Trim(w.Text, "0123456789+") == "" || name == "cut" && w.Text == ",")
	})
	if name == "cut" {
		files = ParseOptions(args, "dfcb", "delimiter fields characters bytes output-delimiter").Operands
		if len(files) == 0 {
			return min(in, OriginNames)
		}
	}
	if len(files) > 0 {
		return min(s.filesOrigin(files, in), OriginText)
	}
	return in
}

// dateOrigin is what date prints, by its format.
func dateOrigin(args []Field) origin {
	o := OriginAtom
	for _, w := range args {
		switch {
		case !w.Known() || w.Text == "-s" || strings.HasPrefix(w.Text, "--set"):
			return OriginAny
		case strings.HasPrefix(w.Text, "+-"):
			return OriginAny
		case strings.HasPrefix(w.Text, "+") && strings.ContainsAny(w.Text, "/Dx"):
			o = OriginNames
		}
	}
	return o
}

// gitOrigin is what git prints that reads its repository.
func gitOrigin(args []Field) origin {
	if len(args) > 2 && args[0].Text == "-C" {
		args = args[2:]
	}
	if len(args) == 0 {
		return OriginAny
	}
	o := ParseOptions(args[1:], "", "")
	format := ""
	for _, long := range []string{"format", "pretty"} {
		for _, f := range o.Values("", long) {
			format = f.Text
		}
	}
	switch args[0].Text {
	case "rev-parse":
		if o.Has("", "show-prefix") || o.Has("", "show-cdup") || o.Has("", "sq-quote") || o.Has("", "parseopt") {
			return OriginNames
		}
		if o.Has("", "show-toplevel") || o.Has("", "git-dir") || o.Has("", "abbrev-ref") || o.Has("", "symbolic-full-name") {
			return OriginValue
		}
		return OriginAtom
	case "merge-base", "rev-list", "hash-object":
		return OriginAtom
	case "branch":
		if o.Has("", "show-current") {
			return OriginValue
		}
	case "describe", "symbolic-ref", "tag":
		if format != "" && args[0].Text == "tag" {
			return OriginAny
		}
		return OriginValue
	case "log", "show":
		if wordlist.Has("%H %h %T %ct %at %cs", format) {
			return OriginAtom
		}
	case "for-each-ref":
		if wordlist.Has("%(refname:short) %(refname) %(objectname) %(objectname:short)", format) {
			return OriginValue
		}
	case "ls-files", "ls-tree":
		return OriginNames
	case "diff":
		if o.Has("", "name-only") {
			return OriginNames
		}
	}
	if wordlist.Has("status show diff log blame shortlog config remote", args[0].Text) && plainFormat.MatchString(format) {
		return OriginText
	}
	return OriginAny
}
