package facts

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
)

// A shell reads shell text as the shell would run it, without running it. It
// keeps what later commands depend on: variables, functions, aliases, the
// folder. Where the text branches, what the branches disagree on becomes
// unknown; what runs is listed for all of them.
type shell struct {
	x   *collect.Findings
	src string // the text that is being walked

	vars    map[string]variable
	wild    bool // any variable may have changed: a script was sourced
	refs    bool // a variable may be another by name, so what is assigned where is not known
	funcs   map[string]function
	aliases map[string]string
	traps   []field  // the texts of trap
	params  []string // $1 and on
	args    []field  // the same as words, where not all of them are known
	// paramsKnown says that params are all there are; else they come from
	// outside.
	paramsKnown bool

	// dirs are the folders that it may be in, the likeliest first; empty where
	// not known. They are absolute, or begin with "~" where the home folder is
	// not known, or are relative to the session's folder where that is not.
	dirs   []string
	lost   bool    // the folder is not known
	failed []state // what holds instead where a part of the list at hand failed

	via         []string
	taint       []string // what the text that is being walked was made of at run time
	opened      []string // what redirections open that depends on run time
	stdin       stream
	remote      bool                // on another machine
	as, on      string              // the user and the machine, where they are others: see Command
	env         []field             // NAME=value that it hands to every command
	exportsAll  bool                // whatever is assigned is handed on
	locals      map[string]variable // what the function at hand made local, as it was before
	calling     []string            // functions whose bodies surround the text at hand
	depth       int
	conditional int           // how many branches surround the text at hand
	entered     int           // how many surround the call of the function at hand
	quiet       bool          // words are expanded, and nothing is listed
	dash        bool          // what dash does not know assigns nothing
	zsh         bool          // words are expanded as zsh does
	differs     *difference   // where readings of the words at hand differ; nil where one is followed
	consumed    bool          // what it prints is read by something else than the agent
	reach       collect.Reach // of the paths that the command at hand touches
}

// A stream is what a command's standard input holds.
type stream struct {
	kind   string // "pipe", "heredoc", "file", or empty
	text   string
	known  bool // text is all of it
	file   string
	origin origin // where the text comes from, if it is not known
	within bool   // it lists files that field.within may stand for
	first  origin // where the first word of each line comes from
}

// A state is what a part of a list may change.
type state struct {
	vars map[string]variable
	dirs []string
	lost bool
}

type function struct {
	body  *syntax.Stmt
	src   string
	maybe bool // it may not be the one in force
	used  bool
}

func newShell(x *collect.Findings, dir string) *shell {
	return &shell{
		x: x, dirs: collect.DirsOf(dir),
		vars: make(map[string]variable), funcs: make(map[string]function), aliases: make(map[string]string),
	}
}

// sub is a shell that starts as this one and changes nothing in it.
func (s *shell) sub(via ...string) *shell {
	c := *s
	c.vars, c.funcs, c.aliases = maps.Clone(s.vars), maps.Clone(s.funcs), maps.Clone(s.aliases)
	c.via = slices.Concat(s.via, via)
	c.failed = nil
	c.consumed = s.consumed || len(via) > 0 && strings.HasSuffix(via[len(via)-1], "()") || slices.Contains(via, "coproc")
	return &c
}

// source walks a text as if it stood at this place.
func (s *shell) source(text string) {
	s.x.Tick()
	if s.depth++; s.depth > collect.MaxDepth {
		s.x.Fail("shell: nested deeper than %d", collect.MaxDepth)
		s.depth--
		return
	}
	defer func(src string) { s.src = src; s.depth-- }(s.src)
	before := maps.Clone(s.funcs)
	stmts, err := s.parse(text)
	if err != nil {
		s.x.Fail("shell: %v", err)
	}
	s.src = text
	s.list(stmts)
	s.uncalled(before)
}

// apart walks statements in a shell of their own, and the functions that are
// known there alone.
func (s *shell) apart(sub *shell, stmts []*syntax.Stmt) {
	sub.list(stmts)
	sub.uncalled(s.funcs)
}

// uncalled walks the functions that nothing called by name since there were
// those before: a trap, an exported function or a later line may.
func (s *shell) uncalled(before map[string]function) {
	for _, name := range slices.Sorted(maps.Keys(s.funcs)) {
		if f := s.funcs[name]; !f.used && before[name].body != f.body {
			f.used = true
			s.funcs[name] = f
			s.call(name, f, nil, false)
		}
	}
}

// list walks statements in order. Where one could have failed halfway, the
// next starts from what either outcome leaves.
func (s *shell) list(stmts []*syntax.Stmt) {
	for _, st := range stmts {
		s.stmt(st)
		s.settle()
	}
}

func (s *shell) state() state { return state{maps.Clone(s.vars), s.dirs, s.lost} }

// settle merges in what holds where a part failed.
func (s *shell) settle() {
	for _, f := range s.failed {
		s.merge(f)
	}
	s.failed = nil
}

// merge joins another outcome: variables that differ are unknown, folders add
// up.
func (s *shell) merge(o state) {
	for k, v := range s.vars {
		if w, ok := o.vars[k]; !ok || !v.same(w) {
			s.vars[k] = variable{origin: min(v.atLeast(), w.atLeast())}
		}
	}
	for k := range o.vars {
		if _, ok := s.vars[k]; !ok {
			s.vars[k] = variable{}
		}
	}
	s.lost = s.lost || o.lost
	for _, d := range o.dirs {
		if !slices.Contains(s.dirs, d) {
			s.dirs = append(slices.Clip(s.dirs), d)
		}
	}
	if len(s.dirs) > 4 || s.lost {
		s.dirs, s.lost = nil, true
	}
}

// branch walks something that may run or not.
func (s *shell) branch(f func()) {
	before := s.state()
	s.conditional++
	f()
	s.conditional--
	s.merge(before)
}

func (s *shell) stmt(st *syntax.Stmt) {
	s.x.Tick()
	if s.depth++; s.depth > 4*collect.MaxDepth {
		s.x.Fail("shell: nested deeper than %d", 4*collect.MaxDepth)
		s.depth--
		return
	}
	defer func(in stream, opened []string, consumed bool) {
		s.depth--
		s.stdin, s.opened, s.consumed = in, opened, consumed
	}(s.stdin, s.opened, s.consumed)
	s.consumed = s.consumed || !printsAll(st.Redirs)
	s.redirect(st)
	if st.Background || st.Coprocess {
		alone := *st
		alone.Redirs, alone.Background, alone.Coprocess = nil, false, false
		s.apart(s.sub(), []*syntax.Stmt{&alone})
		return
	}
	s.command(st.Cmd)
}

func (s *shell) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		s.simple(c)
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.Subshell:
		s.apart(s.sub(), c.Stmts)
	case *syntax.Block:
		s.list(c.Stmts)
	case *syntax.IfClause:
		s.ifClause(c)
	case *syntax.WhileClause:
		s.twice(func() { s.list(c.Cond); s.list(c.Do) })
	case *syntax.ForClause:
		s.forClause(c)
	case *syntax.CaseClause:
		s.plainly(s.one(c.Word, quoting{}))
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				s.evaluated(p)
			}
			s.branch(func() { s.list(item.Stmts) })
		}
	case *syntax.FuncDecl:
		if c.Name != nil {
			s.funcs[c.Name.Value] = function{body: c.Body, src: s.src, maybe: s.conditional > 0}
		}
	case *syntax.DeclClause:
		s.declare(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.within("time", func() { s.stmt(c.Stmt) })
		}
	case *syntax.CoprocClause:
		s.coproc(c)
	case *syntax.TestDecl:
		s.sub().stmt(c.Body)
	case nil:
	case *syntax.ArithmCmd, *syntax.LetClause:
		s.x.UnlikeDash = true
		if s.dash { // subshells, or a program that is not there: nothing is assigned
			s.sub().nested(c)
			return
		}
		s.evaluated(c)
	default: // tests: nothing runs but what is nested, or evaluated
		s.evaluated(c)
	}
}

// within walks something with one more entry in Via.
func (s *shell) within(via string, f func()) {
	defer func(v []string) { s.via = v }(s.via)
	s.via = slices.Concat(s.via, []string{via})
	f()
}

func (s *shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt:
		s.stmt(c.X)
		s.failed = append(s.failed, s.state())
		s.conditional++
		s.stmt(c.Y)
		s.conditional--
	case syntax.OrStmt:
		s.or(c)
	default: // pipes
		left := s.sub()
		left.consumed = true
		out := left.output(c.X)
		out.origin = left.quietly().stmtOrigin(c.X)
		out.within = left.quietly().listsWithin(c.X)
		out.first = left.quietly().firstOrigin(c.X)
		s.apart(left, []*syntax.Stmt{c.X})
		right := s.sub()
		right.stdin = out
		right.stmt(c.Y)
		right.settle()
		s.mergeShell(right)
	}
}

// mergeShell joins what another shell has become that may have been this one:
// zsh runs the last command of a pipe itself.
func (s *shell) mergeShell(o *shell) {
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
func (s *shell) coproc(c *syntax.CoprocClause) {
	sub := s.sub("coproc")
	call, simple := c.Stmt.Cmd.(*syntax.CallExpr)
	if c.Stmt.Cmd == nil { // redirections alone
		call, simple = &syntax.CallExpr{}, true
	}
	if _, list := c.Stmt.Cmd.(*syntax.BinaryCmd); list && c.Name != nil {
		s.x.Fail("shell: a list behind coproc NAME")
	}
	if c.Name == nil || !simple {
		sub.stmt(c.Stmt)
		return
	}
	named, stmt := *call, *c.Stmt
	named.Args, stmt.Cmd = append([]*syntax.Word{c.Name}, call.Args...), &named
	if len(call.Assigns) > 0 {
		s.x.Fail("shell: an assignment behind coproc NAME")
	}
	named.Assigns = nil
	sub.stmt(&stmt)
}

// or walks X || Y: Y starts from what a failed X leaves.
func (s *shell) or(c *syntax.BinaryCmd) {
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
	s.conditional++
	s.stmt(c.Y)
	s.conditional--
	if leaves(c.Y) {
		s.restore(after)
		s.failed = earlier
		return
	}
	s.merge(after)
	s.failed = append(earlier, s.failed...)
}

func (s *shell) restore(o state) { s.vars, s.dirs, s.lost = maps.Clone(o.vars), o.dirs, o.lost }

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

func (s *shell) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		s.list(c.Cond)
		s.branch(func() { s.list(c.Then) })
	}
}

// twice walks a loop's body twice: what one round leaves behind, the next
// starts with.
func (s *shell) twice(f func()) {
	s.branch(f)
	s.branch(f)
}

// maxRounds is how many rounds of a loop are walked with the loop's variable
// known.
const maxRounds = 8

func (s *shell) forClause(c *syntax.ForClause) {
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		if l, ok := c.Loop.(*syntax.CStyleLoop); ok {
			for _, e := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
				s.evaluatedArithmetic(e)
			}
		}
		s.twice(func() { s.list(c.Do) })
		return
	}
	items := s.fields(it.Items)
	known := it.InPos.IsValid() && len(items) <= maxRounds && !c.Select
	from, within := originAtom, len(items) > 0
	for _, f := range items {
		within = within && f.within
		known = known && f.known()
		s.plainly(f)
		switch {
		case !f.known():
			from = min(from, f.origin)
		case strings.Trim(f.text, "0123456789") != "":
			from = min(from, originNames)
		}
	}
	if !known {
		if !it.InPos.IsValid() || c.Select {
			from = originAny
		}
		s.vars[it.Name.Value] = variable{origin: from, within: within}
		s.twice(func() { s.list(c.Do) })
		return
	}
	for _, f := range items {
		s.branch(func() {
			s.set(it.Name.Value, variable{values: []string{f.text}, known: true})
			s.list(c.Do)
		})
	}
}
