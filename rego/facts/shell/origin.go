package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// atomVariables hold numbers that the shell itself keeps.
const atomVariables = "# ? $ RANDOM SRANDOM SECONDS LINENO UID EUID PPID BASHPID SHLVL EPOCHSECONDS"

var portNumber = lazyregexp.New(`^[0-9]{1,5}$`)

// paramOrigin is where the value of a parameter comes from that is not known.
func (s *Shell) paramOrigin(p *syntax.ParamExp) argv.Origin {
	if p.Param == nil || p.Excl || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 || p.Names != 0 {
		return argv.OriginAny
	}
	if p.Length {
		return argv.OriginAtom
	}
	v, assigned := s.Vars[p.Param.Value]
	o := v.origin
	switch {
	case assigned && v.Known:
		o = argv.OriginNames // the line says what a part is taken of
	case assigned, s.Remote:
	case p.Param.Value == "!":
		o = argv.OriginOwn
	case s.Wild:
	case wordlist.Has(atomVariables, p.Param.Value):
		o = argv.OriginAtom
	}
	if p.Exp != nil && !wordlist.Has("# ## % %%", p.Exp.Op.String()) || p.Repl != nil {
		if !assigned && p.Repl == nil && wordlist.Has(":- -", p.Exp.Op.String()) && strings.HasSuffix(p.Param.Value, "PORT") && p.Exp.Word != nil && portNumber.MatchString(p.Exp.Word.Lit()) {
			return argv.OriginAtom // a port, as the environment has it or by default
		}
		if p.Repl == nil && assigned && !v.Known && v.origin == argv.OriginAtom && wordlist.Has(":- -", p.Exp.Op.String()) && p.Exp.Word != nil && portNumber.MatchString(p.Exp.Word.Lit()) {
			return argv.OriginAtom
		}
		return argv.OriginAny
	}
	if p.Exp != nil || p.Slice != nil {
		return min(o, argv.OriginNames)
	}
	return o
}

// processOrigin is where standard input comes from that is redirected from a
// process substitution.
func (s *Shell) processOrigin(w *syntax.Word) argv.Origin {
	if len(w.Parts) != 1 {
		return argv.OriginAny
	}
	if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && len(p.Stmts) == 1 {
		return s.quietly().stmtOrigin(p.Stmts[0])
	}
	return argv.OriginAny
}

// processWithin reports whether a process substitution lists only files inside of the
// session's folder.
func (s *Shell) processWithin(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	p, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok && p.Op == syntax.CmdIn && len(p.Stmts) == 1 && s.quietly().listsWithin(p.Stmts[0])
}

// processFirst is where the first word of each line comes from that a process substitution
// prints.
func (s *Shell) processFirst(w *syntax.Word) argv.Origin {
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdIn && len(p.Stmts) == 1 {
			return s.quietly().firstOrigin(p.Stmts[0])
		}
	}
	return argv.OriginAny
}

// processPart reports whether a process substitution prints no slash.
func (s *Shell) processPart(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	p, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok && p.Op == syntax.CmdIn && len(p.Stmts) == 1 && s.quietly().printsParts(p.Stmts[0])
}

// substituted is what a command substitution puts in its place: text, where
// the line itself tells it, or else where it comes from.
func (s *Shell) substituted(c *syntax.CmdSubst) (text string, known bool, o argv.Origin) {
	if len(c.Stmts) != 1 || s.Remote || slices.ContainsFunc(s.Env, func(e argv.Field) bool { return len(environ.Loads("cat", e.Text)) > 0 }) {
		return "", false, argv.OriginAny
	}
	q := s.quietly()
	if out := q.output(c.Stmts[0]); out.Known {
		return strings.TrimRight(out.Text, "\n"), true, argv.OriginAtom
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
func (s *Shell) stmtOrigin(st *syntax.Stmt) argv.Origin {
	s.Found.Tick()
	if st.Background || st.Negated || !silences(st.Redirs) {
		return argv.OriginAny
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
			if body, in, ok := s.printedByFunction(words); ok {
				return in.stmtOrigin(body)
			}
			return s.PrintedBy(words, in)
		}
	case *syntax.BinaryCmd:
		return s.binaryOrigin(c)
	}
	return argv.OriginAny
}

// PrintedBy is where the text comes from that a command prints which reads text of
// origin in.
func (s *Shell) PrintedBy(words []argv.Field, in argv.Origin) argv.Origin {
	return argv.Printing{Overridden: s.overridden, File: s.fileOrigin, Written: s.contentOrigin}.By(words, in)
}

func (s *Shell) binaryOrigin(c *syntax.BinaryCmd) argv.Origin {
	switch c.Op {
	case syntax.Pipe:
		if s.numbersLines(c) {
			return argv.OriginAtom
		}
		right := s.Sub()
		right.Stdin = Stream{Kind: "pipe", Origin: s.stmtOrigin(c.X)}
		return right.stmtOrigin(c.Y)
	case syntax.OrStmt: // git rev-parse HEAD || echo none
		o := s.stmtOrigin(c.X)
		if out := s.output(c.Y); out.Known && !strings.HasPrefix(out.Text, "-") && plainText.MatchString(strings.TrimSpace(out.Text)) {
			return min(o, argv.OriginNames)
		}
		return min(o, s.stmtOrigin(c.Y))
	case syntax.AndStmt: // cd x && pwd
		if call, ok := c.X.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "cd" {
			return s.stmtOrigin(c.Y)
		}
	}
	return argv.OriginAny
}

// FileOrigin is where the content of a file comes from, of the project's or of the line's own.
func (s *Shell) FileOrigin(f argv.Field) argv.Origin { return max(s.fileOrigin(f), s.contentOrigin(f)) }

// numbersLines reports whether a pipe ends in the numbers of lines that grep has
// found in one file: grep -n x f | head -1 | cut -d: -f1.
func (s *Shell) numbersLines(c *syntax.BinaryCmd) bool {
	var calls [][]argv.Field
	for st := (&syntax.Stmt{Cmd: c}); st != nil; {
		pipe, ok := st.Cmd.(*syntax.BinaryCmd)
		last := st
		if ok {
			last = pipe.Y
		}
		call, simple := last.Cmd.(*syntax.CallExpr)
		reads := func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn }
		if !simple || ok && slices.ContainsFunc(last.Redirs, reads) || !silences(last.Redirs) || ok && pipe.Op != syntax.Pipe || len(calls) > 4 {
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
		if !wordlist.Has("head tail sort", words[0].Text) || !wholeLines.MatchString(argv.Join(words[1:], " ")) || !argv.AllKnown(words) {
			return false // it may read a file in place of the pipe, or cut a line
		}
	}
	o := argv.ParseOptions(grep[1:], "efABCm", "regexp file max-count")
	first := cut[0].Text == "cut" && (argv.Join(cut[1:], " ") == "-f1" || argv.Join(cut[1:], " ") == "-f 1") ||
		cut[0].Text == "awk" && len(cut) == 2 && strings.ReplaceAll(cut[1].Text, " ", "") == "{print$1}"
	if len(calls) == 2 && grep[0].Text == "wc" && (first && cut[0].Text == "awk" || cut[0].Text == "cut" && firstWord.MatchString(argv.Join(cut[1:], " "))) {
		return true
	}
	if wordlist.Has("md5sum sha1sum sha256sum sha512sum b2sum", grep[0].Text) && len(calls) == 2 && !slices.ContainsFunc(grep[1:], func(w argv.Field) bool { return !w.Known() || strings.HasPrefix(w.Text, "-") }) {
		return first && cut[0].Text == "awk" || cut[0].Text == "cut" && cutsHash.MatchString(argv.Join(cut[1:], " "))
	}
	if grep[0].Text == "du" && len(calls) == 2 && first {
		return !slices.ContainsFunc(grep[1:], func(w argv.Field) bool { return strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "h0") })
	}
	files := 2 // with the pattern
	if o.Has("e", "regexp") {
		files = 1
	}
	numbered := grep[0].Text == "grep" && o.Has("n", "line-number") && len(o.Operands) <= files && argv.AllKnown(grep) &&
		o.Only("nmeivwxEFGPa", "line-number max-count regexp ignore-case invert-match word-regexp line-regexp fixed-strings extended-regexp perl-regexp text")
	return numbered && cut[0].Text == "cut" && (argv.Join(cut[1:], " ") == "-d: -f1" || argv.Join(cut[1:], " ") == "-f1 -d:" || argv.Join(cut[1:], " ") == "-d : -f 1")
}

// cutsHash are options of cut that leave the beginning of a checksum.
var (
	firstWord = lazyregexp.New(`^(-d  -f1|-f1 -d |-d  -f 1)$`)
	cutsHash  = lazyregexp.New(`^(-d  -f1|-f1 -d |-d  -f 1|-c ?1-([0-9]|[1-2][0-9]|3[0-2]))$`)
)

// wholeLines are options of head, tail and sort with which they print lines that they read
// from a pipe, as they are.
var wholeLines = lazyregexp.New(`^((-[rnu]{1,3}|-n ?[0-9]+|-[0-9]+)( |$))*$`)

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

// firstOrigin is where the first word of each line comes from that a statement prints.
// The shell is a quiet one.
func (s *Shell) firstOrigin(st *syntax.Stmt) argv.Origin {
	if st.Background || st.Negated || !silences(st.Redirs) {
		return argv.OriginAny
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if call, ok := c.Y.Cmd.(*syntax.CallExpr); ok && c.Op == syntax.Pipe && silences(c.Y.Redirs) {
			words := s.fields(call.Args)
			if len(words) > 1 && words[0].Text == "uniq" && !s.overridden("uniq") {
				if o := argv.FirstNumbers(words, s.Stays); o != argv.OriginAny {
					return o
				}
			}
			if len(words) > 0 && wordlist.Has("sort head tail uniq grep", words[0].Text) && !s.overridden(words[0].Text) && !slices.ContainsFunc(words[1:], func(f argv.Field) bool {
				return !f.Known() || strings.HasPrefix(f.Text, "-") && strings.ContainsAny(f.Text, "oc")
			}) {
				return s.firstOrigin(c.X)
			}
		}
	case *syntax.CallExpr:
		words := s.fields(c.Args)
		if len(words) > 1 && words[0].Known() && !s.overridden(words[0].Text) && len(c.Assigns) == 0 {
			if o := argv.FirstNumbers(words, s.Stays); o != argv.OriginAny {
				return o
			}
		}
		if len(words) < 3 || words[0].Text != "git" || s.overridden("git") || !wordlist.Has("log show rev-list", words[1].Text) || !argv.AllKnown(words) {
			return argv.OriginAny
		}
		format, plain := argv.PlainGit(words[1:])
		if plain && leadingHash.MatchString(format) && !breaksLines.MatchString(format) {
			return argv.OriginAtom
		}
	}
	return argv.OriginAny
}

var (
	// leadingHash is a format of git whose lines begin with a hash or a time.
	leadingHash = lazyregexp.New(`^(format:|tformat:)?%(H|h|ct|at|cs|as)[ \t,|:]`)
	// breaksLines is what may print more lines than one of a commit.
	breaksLines = lazyregexp.New(`[\n\x00]|%[nBbNxwG(+ -]`)
)
