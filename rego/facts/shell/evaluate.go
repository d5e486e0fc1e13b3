package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/grammar"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// The shell evaluates some text a second time, quoted or not: as arithmetic,
// where a name stands for what the variable holds, evaluated in turn, and as
// the name of a variable, whose subscript is arithmetic. Commands substituted
// in a subscript run (bash manual, Shell Arithmetic and Arrays). Text is safe
// here where it leads to numbers alone; all else may run anything.

// maxIndirect is how many variables one name is followed through.
const maxIndirect = 8

// evaluates reports whether what the shell evaluates in a node may run a
// command that the node itself does not show.
func (s *Shell) evaluates(n syntax.Node) bool {
	if s.Dash {
		return false // its arithmetic runs nothing but what stands there
	}
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if n == nil || found {
			return false
		}
		s.Found.Tick()
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ArithmExp:
			found = s.computes(n.X)
			return false
		case *syntax.ArithmCmd:
			found = s.computes(n.X)
			return false
		case *syntax.LetClause:
			found = slices.ContainsFunc(n.Exprs, s.computes)
			return false
		case *syntax.ParamExp:
			found = s.expansionRuns(n)
			return false
		case *syntax.BinaryTest:
			found = wordlist.Has("-eq -ne -lt -le -gt -ge", n.Op.String()) && (s.operandRuns(n.X) || s.operandRuns(n.Y))
		case *syntax.UnaryTest:
			w, ok := n.X.(*syntax.Word)
			found = ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) && s.nameRuns(s.silently(w))
		}
		return !found
	})
	return found
}

// silently expands a word and lists nothing.
func (s *Shell) silently(w *syntax.Word) argv.Field {
	defer func(q bool) { s.Quiet = q }(s.Quiet)
	s.Quiet = true
	return s.one(w, quoting{})
}

// computes reports whether an expression may run a command, and notes what it
// assigns: a number, whatever stood there.
func (s *Shell) computes(e syntax.ArithmExpr) bool {
	s.Found.Tick()
	switch e := e.(type) {
	case nil:
		return false
	case *syntax.Word:
		return s.operandRuns(e)
	case *syntax.ParenArithm:
		return s.computes(e.X)
	case *syntax.UnaryArithm:
		return s.computes(e.X)
	case *syntax.BinaryArithm:
		w, name := e.X.(*syntax.Word)
		if e.Op == syntax.Assgn && name && grammar.IsVariable(w.Lit()) {
			runs := s.computes(e.Y)
			s.reckon(e.X)
			return runs
		}
		return s.computes(e.X) || s.computes(e.Y)
	}
	return true
}

// operandRuns reports whether a word that is evaluated as arithmetic may run
// a command.
func (s *Shell) operandRuns(n syntax.Node) bool {
	w, ok := n.(*syntax.Word)
	return !ok || s.evaluates(w) || s.arithmeticRuns(s.silently(w))
}

// arithmeticRuns reports the same of a word's expansion.
func (s *Shell) arithmeticRuns(f argv.Field) bool {
	if !f.Known() && !f.Stdin && f.Origin == argv.OriginText {
		s.Found.Facts.Evaluates = true
		for _, d := range f.Dynamic {
			f.Text = strings.Replace(f.Text, d, "0", 1)
		}
		return s.textRuns(f.Text, 0)
	}
	text, known := argv.Atoms(f)
	return !known || s.textRuns(text, 0)
}

// textRuns follows the names in text that is evaluated as arithmetic.
func (s *Shell) textRuns(text string, depth int) bool {
	if depth > maxIndirect || strings.ContainsAny(text, "$`") {
		return true
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r != '_' && r != '#' && r != '@' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		s.Found.Tick()
		if !grammar.IsVariable(word) {
			continue // a number, in whatever base
		}
		v, assigned := s.Vars[word]
		switch {
		case !assigned && wordlist.Has(atomVariables, word):
		case !assigned, !v.Known && v.origin < argv.OriginAtom && v.origin != argv.OriginText:
			return true
		case assigned && !v.Known && v.origin == argv.OriginText:
			s.Found.Facts.Evaluates = true
		case slices.ContainsFunc(v.Values, func(t string) bool { return s.textRuns(t, depth+1) }):
			return true
		}
	}
	return false
}

// expansionRuns reports whether ${...} may run a command by a subscript, an
// offset, the name that a variable holds, or as a prompt.
func (s *Shell) expansionRuns(p *syntax.ParamExp) bool {
	if p.Param == nil {
		return p.NestedParam != nil
	}
	name := p.Param.Value
	whole := p.Index == nil || isAll(p.Index, "@", "*")
	if p.Excl && p.Names == 0 && (p.Index == nil || !whole) && s.indirectRuns(name, p.Index) {
		return true
	}
	switch {
	case whole:
	case s.Vars[name].keyed && p.Short && s.keyRuns(p.Index), !s.Vars[name].keyed && s.computes(p.Index):
		return true
	}
	if p.Slice != nil && (s.computes(p.Slice.Offset) || s.computes(p.Slice.Length)) {
		return true
	}
	switch {
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word.Lit() == "P":
		return true
	case p.Exp != nil && p.Exp.Word != nil:
		return s.evaluates(p.Exp.Word)
	case p.Repl != nil:
		return p.Repl.Orig != nil && s.evaluates(p.Repl.Orig) || p.Repl.With != nil && s.evaluates(p.Repl.With)
	}
	return false
}

// keyRuns reports whether the key of an element may run a command where arithmetic names the
// element: n[$k] in (( n[$k]++ )) is expanded twice.
func (s *Shell) keyRuns(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	if !ok {
		return true
	}
	f := s.silently(w)
	text, known := argv.Atoms(f)
	if !known && !f.Stdin && f.Origin == argv.OriginText {
		s.Found.Facts.Evaluates = true
		return false
	}
	return !known || strings.ContainsAny(text, "$`")
}

// indirectRuns is for ${!name}, which names the variable that it expands.
func (s *Shell) indirectRuns(name string, index syntax.ArithmExpr) bool {
	values, known := s.lookup(name, index)
	if !known {
		return s.Vars[name].origin < argv.OriginAtom && !wordlist.Has(atomVariables, name)
	}
	return slices.ContainsFunc(values, func(t string) bool { return s.nameRuns(argv.Field{Text: t}) })
}

// nameRuns reports whether a word that names a variable may run a command.
func (s *Shell) nameRuns(f argv.Field) bool {
	text, known := argv.Atoms(f)
	if !known {
		return true
	}
	name, sub, ok := strings.Cut(text, "[")
	sub = strings.TrimSuffix(sub, "]")
	if !ok || sub == "@" || sub == "*" {
		return false
	}
	if s.Vars[name].keyed && !strings.ContainsAny(sub, "$`") {
		return false
	}
	return s.textRuns(sub, 0)
}

// evaluated walks what no command stands for: arithmetic, tests, patterns,
// subscripts. What may run there is a parse error.
func (s *Shell) evaluated(n syntax.Node) {
	if n == nil || s.Quiet {
		return
	}
	if s.evaluates(n) {
		s.unsafe(s.written(n))
	}
	s.nested(n)
}

// evaluatedArithmetic is the same for an expression that stands by itself.
func (s *Shell) evaluatedArithmetic(e syntax.ArithmExpr) {
	if e == nil || s.Quiet {
		return
	}
	if s.computes(e) {
		s.unsafe(s.written(e))
	}
	s.nested(e)
}

// plainly is for the words that belong to no command.
func (s *Shell) plainly(f argv.Field) argv.Field {
	if f.Runs && !s.Quiet {
		s.unsafe(f.Text)
	}
	return f
}

func (s *Shell) unsafe(text string) {
	s.Found.Fail("shell: evaluates text that may run a command: %s", text)
}

// reckon notes that arithmetic has assigned a variable.
func (s *Shell) reckon(e syntax.ArithmExpr) {
	w, ok := e.(*syntax.Word)
	if !ok || !grammar.IsVariable(w.Lit()) {
		s.forgetWord(e)
		return
	}
	s.forget(w.Lit())
	if v := s.Vars[w.Lit()]; !s.refs {
		v.origin = argv.OriginAtom
		s.Vars[w.Lit()] = v
	}
}
