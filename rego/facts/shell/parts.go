package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// What is known least of a value is that no slash stands in it: it is a part of a name, and
// "/tmp/check-$a.log" lies in /tmp whatever it says. Such is what basename prints, or what
// cut takes out from between slashes.

// isPart reports whether no slash stands in what a variable holds.
func (v Variable) isPart() bool {
	if !v.Known {
		return v.part || v.origin >= argv.OriginAtom
	}
	return len(v.assumed) == 0 && !slices.ContainsFunc(v.Values, func(t string) bool { return strings.Contains(t, "/") })
}

// assignsPart is the same of a word that a variable is assigned.
func assignsPart(f argv.Field) bool {
	return f.Part && !f.Stdin && !strings.Contains(f.Literal(), "/")
}

// namesPart reports whether a parameter expands to something without a slash.
func (s *Shell) namesPart(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Width || p.IsSet || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 || p.Names != 0 || p.Index != nil && !isAll(p.Index, "@", "*") {
		return false
	}
	v, assigned := s.Vars[p.Param.Value]
	part := assigned && v.elements == nil && v.isPart()
	switch {
	case p.Length:
		return true
	case p.Repl != nil:
		what, by := literalOf(p.Repl.Orig), literalOf(p.Repl.With)
		takes := p.Repl.All && (what == `\/` || what == "/") && p.Repl.With != nil
		return (takes || part) && (p.Repl.With == nil || by != "" && !strings.ContainsAny(by, "/&\\"))
	case p.Exp == nil:
		return part
	case p.Exp.Word == nil:
		return part && wordlist.Has("^ ^^ , ,,", p.Exp.Op.String())
	case p.Exp.Op == syntax.RemLargePrefix && p.Exp.Word.Lit() == "*/", p.Exp.Op == syntax.RemLargeSuffix && p.Exp.Word.Lit() == "/*":
		return true
	case wordlist.Has("# ## % %%", p.Exp.Op.String()):
		return part
	case wordlist.Has(":- -", p.Exp.Op.String()):
		by := p.Exp.Word.Lit()
		return part && by != "" && !strings.ContainsAny(by, `/\`)
	}
	return false
}

// literalOf is the text of a word that is written plainly, or in quotes.
func literalOf(w *syntax.Word) string {
	if w == nil || len(w.Parts) != 1 {
		return ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.SglQuoted:
		if !p.Dollar {
			return p.Value
		}
	case *syntax.DblQuoted:
		if l, ok := onlyPart(p).(*syntax.Lit); ok {
			return l.Value
		}
	}
	return ""
}

func onlyPart(q *syntax.DblQuoted) syntax.WordPart {
	if len(q.Parts) != 1 {
		return nil
	}
	return q.Parts[0]
}

// substitutesPart reports whether a command substitution prints no slash.
func (s *Shell) substitutesPart(c *syntax.CmdSubst) bool {
	return len(c.Stmts) == 1 && !s.Remote && s.quietly().printsParts(c.Stmts[0])
}

// printsParts reports whether no slash stands in what a statement prints. The shell is a
// quiet one.
func (s *Shell) printsParts(st *syntax.Stmt) bool {
	s.Found.Tick()
	if st.Background || st.Negated || !silences(st.Redirs) {
		return false
	}
	for _, r := range st.Redirs {
		if r.Op == syntax.RdrIn {
			s = s.Sub()
			s.Stdin = Stream{}
		}
	}
	if s.stmtOrigin(st) >= argv.OriginAtom {
		return true
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		words := s.fields(c.Args)
		if len(words) == 0 || len(c.Assigns) > 0 || !words[0].Known() {
			return false
		}
		if body, in, ok := s.printedByFunction(words); ok {
			return in.printsParts(body)
		}
		return !s.overridden(words[0].Text) && argv.PrintsParts(words, s.Stdin.part)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.Pipe:
			right := s.Sub()
			right.Stdin = Stream{Kind: "pipe", part: s.printsParts(c.X), Origin: s.stmtOrigin(c.X)}
			return right.printsParts(c.Y)
		case syntax.OrStmt:
			return s.printsParts(c.X) && s.printsParts(c.Y)
		}
	}
	return false
}

// printedByFunction is the one statement that a call of a function runs, and the shell in
// which it does.
func (s *Shell) printedByFunction(words []argv.Field) (*syntax.Stmt, *Shell, bool) {
	f, ok := s.funcs[words[0].Text]
	if !ok || f.maybe || slices.Contains(s.calling, words[0].Text) || s.aliases[words[0].Text] != "" || slices.ContainsFunc(words, func(w argv.Field) bool { return w.Stdin || w.Array }) {
		return nil, nil, false
	}
	body := f.body
	if b, block := body.Cmd.(*syntax.Block); block && len(body.Redirs) == 0 && len(b.Stmts) == 1 {
		body = b.Stmts[0]
	}
	in := s.Sub()
	in.calling = append(slices.Clip(s.calling), words[0].Text)
	in.Src = f.src
	in.args, in.params, in.paramsKnown = words[1:], argv.Texts(words[1:]), argv.AllKnown(words[1:])
	return body, in, true
}

// pattern is a path of which parts depend on run time and are no more than parts of names,
// written with "*": where it is harmless whichever of these files it is. In a folder for
// temporary files that is any; in the session's folder one that does not run by itself.
func (s *Shell) pattern(f argv.Field, access string) (string, bool) {
	text, ok := argv.Pattern(f)
	if !ok || f.Known() || f.Glob || s.Remote {
		return "", false
	}
	if strings.HasPrefix(text, "/tmp/") && !strings.Contains(text, "..") {
		return text, true
	}
	at := argv.Field{Text: text}
	return text, access == collect.AccessWrite && plainEnd(at) && !collect.MayConfigure(text) && s.plainRoots([]argv.Field{at}, true) && !strings.ContainsAny(f.Literal(), "*?[")
}
