package facts

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// nested walks the commands that a node substitutes, and forgets the
// variables that it assigns. Nothing else in it runs.
func (s *shell) nested(n syntax.Node) {
	if n == nil || s.quiet {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		s.x.Tick()
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.apart(s.sub("$()"), n.Stmts)
			return false
		case *syntax.ProcSubst:
			in := s.sub(n.Op.String() + ")")
			if n.Op == syntax.CmdOut {
				in.stdin = stream{kind: "pipe"}
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

func (s *shell) forgetWord(e syntax.ArithmExpr) {
	if w, ok := e.(*syntax.Word); ok && w.Lit() != "" {
		s.forget(w.Lit())
	}
}
