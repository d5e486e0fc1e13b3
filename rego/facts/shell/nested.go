package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// nested walks the commands that a node substitutes, and forgets the
// variables that it assigns. Nothing else in it runs.
func (s *Shell) nested(n syntax.Node) {
	if n == nil || s.Quiet {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		s.Found.Tick()
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.apart(s.Sub("$()"), n.Stmts)
			return false
		case *syntax.ProcSubst:
			in := s.Sub(n.Op.String() + ")")
			if n.Op == syntax.CmdOut {
				in.Stdin = Stream{Kind: "pipe"}
			}
			s.apart(in, n.Stmts)
			return false
		case *syntax.BinaryArithm:
			if strings.HasSuffix(n.Op.String(), "=") && !wordlist.Has("== != <= >=", n.Op.String()) {
				s.reckon(n.X)
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				s.reckon(n.X)
			}
		case *syntax.ParamExp:
			if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				s.forget(n.Param.Value)
			}
		}
		return true
	})
}

func (s *Shell) forgetWord(e syntax.ArithmExpr) {
	if w, ok := e.(*syntax.Word); ok && w.Lit() != "" {
		s.forget(w.Lit())
	}
}
