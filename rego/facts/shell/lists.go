package shell

import (
	"maps"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

func (s *Shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt:
		defer func(b string) { s.branches = b }(s.branches)
		s.and(c)
	case syntax.OrStmt:
		s.or(c)
	default: // pipes
		left := s.Sub()
		left.Consumed = true
		out := left.output(c.X)
		out.Origin = left.quietly().stmtOrigin(c.X)
		out.Within = left.quietly().listsWithin(c.X)
		out.folder = left.quietly().listsFolders(c.X)
		out.part = left.quietly().printsParts(c.X)
		out.first = left.quietly().firstOrigin(c.X)
		out.Patch = left.quietly().printsPatch(c.X)
		s.apart(left, []*syntax.Stmt{c.X})
		right := s.Sub()
		right.Stdin = out
		right.stmt(c.Y)
		right.settle()
		s.mergeShell(right)
	}
}

// and walks X && Y. Each command of a chain is in the branch of those before it.
func (s *Shell) and(c *syntax.BinaryCmd) {
	before, stays := len(s.failed), s.staysPut(c.X)
	if x, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && x.Op == syntax.AndStmt && len(c.X.Redirs) == 0 && !c.X.Negated && !c.X.Background {
		s.and(x)
	} else {
		s.stmt(c.X)
	}
	failed, made := s.state(), s.makesFolder(c.X)
	if stays {
		s.failed = s.failed[:before]
	}
	s.maybe(c.Y)
	for name, v := range s.Vars {
		if at, file := strings.CutPrefix(name, fileVariable("")); file && (stays || made != "" && strings.HasPrefix(at, made+"/")) {
			failed.vars[name] = v // else X cannot have failed, or the file is not there
		}
	}
	s.failed = append(s.failed, failed)
}

// staysPut reports whether a statement goes to the folder in which the session's shell is, by
// its whole path, before anything else was done: it cannot fail.
func (s *Shell) staysPut(st *syntax.Stmt) bool {
	to, ok := s.onlyOperand(st, "cd")
	return ok && len(s.Dirs) == 1 && strings.TrimSuffix(to, "/") == s.Dirs[0] && path.IsAbs(to) && len(s.Found.Facts.Commands) == 0 &&
		(len(s.Via) == 0 || len(s.Via) == 1 && s.Via[0] == "bash -c")
}

// makesFolder is the folder that a statement makes where there is none; empty for all others.
func (s *Shell) makesFolder(st *syntax.Stmt) string {
	if x, ok := st.Cmd.(*syntax.BinaryCmd); ok && x.Op == syntax.AndStmt && len(st.Redirs) == 0 && !st.Negated {
		return s.makesFolder(x.Y)
	}
	word, ok := s.onlyOperand(st, "mkdir", "-p")
	if !ok {
		return ""
	}
	at, _ := s.FileAt(argv.Field{Text: word})
	return at
}

// plainPath has no part that leads up, and is one word however it is expanded.
var plainPath = lazyregexp.New(`^/?[\w@%+=:,-][\w@%+=:,.-]*(/[\w@%+=:,-][\w@%+=:,.-]*)*/?$`)

// onlyOperand is the last word of a statement that is a simple command of these words and
// one more, which is known; neither the line nor a redirection makes it another.
func (s *Shell) onlyOperand(st *syntax.Stmt, words ...string) (string, bool) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || st.Coprocess || len(st.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) != len(words)+1 || s.overridden(words[0]) || s.Remote {
		return "", false
	}
	for i, w := range words {
		if call.Args[i].Lit() != w {
			return "", false
		}
	}
	f := s.silently(call.Args[len(words)])
	return f.Text, f.Known() && !f.Glob && !strings.HasPrefix(f.Text, "-") && plainPath.MatchString(f.Text)
}

// maybe walks a statement that runs or not, and leaves its branch open.
func (s *Shell) maybe(st *syntax.Stmt) {
	s.Found.Branches++
	s.branches += strconv.Itoa(s.Found.Branches) + "/"
	s.conditional++
	s.stmt(st)
	s.conditional--
}

// mergeShell joins what another shell has become that may have been this one:
// zsh runs the last command of a pipe itself.
func (s *Shell) mergeShell(o *Shell) {
	s.merge(o.state())
	for name, f := range o.funcs {
		if s.funcs[name].body != f.body {
			f.maybe = true
			s.funcs[name] = f
		}
	}
	maps.Copy(s.aliases, o.aliases)
}

// coproc runs a command beside the shell. What the parser takes for a name is
// the program, where no compound command follows.
func (s *Shell) coproc(c *syntax.CoprocClause) {
	sub := s.Sub("coproc")
	call, simple := c.Stmt.Cmd.(*syntax.CallExpr)
	if c.Stmt.Cmd == nil { // redirections alone
		call, simple = &syntax.CallExpr{}, true
	}
	if _, list := c.Stmt.Cmd.(*syntax.BinaryCmd); list && c.Name != nil {
		s.Found.Fail("shell: a list behind coproc NAME")
	}
	if c.Name == nil || !simple {
		sub.stmt(c.Stmt)
		return
	}
	named, stmt := *call, *c.Stmt
	named.Args, stmt.Cmd = append([]*syntax.Word{c.Name}, call.Args...), &named
	if len(call.Assigns) > 0 {
		s.Found.Fail("shell: an assignment behind coproc NAME")
	}
	named.Assigns = nil
	sub.stmt(&stmt)
}

// or walks X || Y: Y starts from what a failed X leaves.
func (s *Shell) or(c *syntax.BinaryCmd) {
	before, earlier := s.state(), s.failed
	s.failed = nil
	s.stmt(c.X)
	after, failures := s.state(), s.failed
	s.restore(before)
	s.merge(state{vars: after.vars})
	for _, f := range failures {
		s.merge(f)
	}
	s.failed = nil
	defer func(b string) { s.branches = b }(s.branches)
	s.maybe(c.Y)
	if leaves(c.Y) {
		s.restore(after)
		s.failed = earlier
		return
	}
	s.merge(after)
	s.failed = append(earlier, s.failed...)
}

// leaves reports whether nothing after the statement runs: exit, return.
func leaves(st *syntax.Stmt) bool {
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return false
		}
		switch c.Args[0].Lit() {
		case "exit", "return":
			return true
		}
	case *syntax.Block:
		return len(c.Stmts) > 0 && leaves(c.Stmts[len(c.Stmts)-1])
	}
	return false
}
