// Package shell walks shell text as a shell would run it, without running it, and
// lists what runs. Words are expanded as far as the text itself tells (word.go,
// vars.go, shapes.go); what they hold otherwise is known by its origin (origin.go,
// within.go). Arithmetic, subscripts and names of variables, which run commands too,
// are followed to what they hold (evaluate.go, names.go). Files that the text writes
// are kept as variables are (fresh.go).
//
// A shell knows its own commands (builtins.go), and the programs that wrap others
// (wrappers.go). Of all other programs it knows what it is handed as [Programs]: they
// are called with the shell as it stands where the command runs.
package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/grammar"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A Shell reads shell text as the shell would run it, without running it. It
// keeps what later commands depend on: variables, functions, aliases, the
// folder. Where the text branches, what the branches disagree on becomes
// unknown; what runs is listed for all of them.
type Shell struct {
	Found *collect.Findings
	Src   string // the text that is being walked

	programs *Programs

	Vars    map[string]Variable
	Wild    bool // any variable may have changed: a script was sourced
	refs    bool // a variable may be another by name, so what is assigned where is not known
	funcs   map[string]function
	aliases map[string]string
	traps   []argv.Field // the texts of trap
	params  []string     // $1 and on
	args    []argv.Field // the same as words, where not all of them are known
	// paramsKnown says that params are all there are; else they come from
	// outside.
	paramsKnown bool
	script      string // the file that the text at hand stands in, as it was named; empty where it is a line

	// dirs are the folders that it may be in, the likeliest first; empty where
	// not known. They are absolute, or begin with "~" where the home folder is
	// not known, or are relative to the session's folder where that is not.
	Dirs   []string
	Lost   bool    // the folder is not known
	failed []state // what holds instead where a part of the list at hand failed

	Via         []string
	Taint       []string // what the text that is being walked was made of at run time
	Opened      []string // what redirections open that depends on run time
	Stdin       Stream
	Remote      bool                // on another machine
	as, on      string              // the user and the machine, where they are others: see Command
	Env         []argv.Field        // NAME=value that it hands to every command
	exportsAll  bool                // whatever is assigned is handed on
	locals      map[string]Variable // what the function at hand made local, as it was before
	calling     []string            // functions whose bodies surround the text at hand
	depth       int
	conditional int           // how many branches surround the text at hand
	entered     int           // how many surround the call of the function at hand
	Quiet       bool          // words are expanded, and nothing is listed
	Dash        bool          // what dash does not know assigns nothing
	zsh         bool          // words are expanded as zsh does
	differs     *difference   // where readings of the words at hand differ; nil where one is followed
	Consumed    bool          // what it prints is read by something else than the agent
	Reach       collect.Reach // of the paths that the command at hand touches
	sparse      bool          // elements of arrays that may not be there are left out
	branches    string        // which branches surround the text at hand, by numbers of their own
}

// A Stream is what a command's standard input holds.
type Stream struct {
	Kind   string // "pipe", "heredoc", "file", or empty
	Text   string
	Known  bool // text is all of it
	File   string
	Origin argv.Origin // where the text comes from, if it is not known
	Within bool        // it lists files that field.within may stand for
	folder bool        // each line is what Field.Folder says
	part   bool        // no slash stands in it
	Patch  bool        // it is a patch that git prints of the repository
	first  argv.Origin // where the first word of each line comes from
}

// A state is what a part of a list may change.
type state struct {
	vars map[string]Variable
	dirs []string
	lost bool
}

type function struct {
	body  *syntax.Stmt
	src   string
	maybe bool  // it may not be the one in force
	used  *bool // it was called by name, wherever
}

// Parse reads a text as shells read it.
func (s *Shell) Parse(text string) ([]*syntax.Stmt, error) {
	return grammar.Parse(text, s.Found.Budget, s.knows)
}

// knows reports whether a name is one of a program.
func (s *Shell) knows(name string) bool {
	_, program := operands.Table()[name]
	_, wrapper := WrapperTable()[name]
	return program || wrapper || s.Follows(name) != nil || s.programs.Special(name) || wordlist.Has(powerPrograms, name)
}

// powerPrograms need no words to do harm, and no table of files knows them.
const powerPrograms = "reboot shutdown halt poweroff init telinit"

// New is a shell that stands in a folder, and adds what it finds to x.
func New(x *collect.Findings, dir string, known *Programs) *Shell {
	return &Shell{
		Found: x, programs: known, Dirs: collect.DirsOf(dir),
		Vars: make(map[string]Variable), funcs: make(map[string]function), aliases: make(map[string]string),
	}
}

// Sub is a shell that starts as this one and changes nothing in it.
func (s *Shell) Sub(via ...string) *Shell {
	c := *s
	c.Vars, c.funcs, c.aliases = maps.Clone(s.Vars), maps.Clone(s.funcs), maps.Clone(s.aliases)
	c.Via = slices.Concat(s.Via, via)
	c.failed = nil
	c.Consumed = s.Consumed || len(via) > 0 && strings.HasSuffix(via[len(via)-1], "()") || slices.Contains(via, "coproc")
	return &c
}

// Source walks a text as if it stood at this place.
func (s *Shell) Source(text string) {
	s.Found.Tick()
	if s.depth++; s.depth > collect.MaxDepth {
		s.Found.Fail("shell: nested deeper than %d", collect.MaxDepth)
		s.depth--
		return
	}
	defer func(src string) { s.Src = src; s.depth-- }(s.Src)
	before := maps.Clone(s.funcs)
	stmts, err := s.Parse(text)
	if err != nil {
		s.Found.Fail("shell: %v", err)
	}
	s.Src = text
	s.list(stmts)
	s.uncalled(before)
}

// apart walks statements in a shell of their own, and the functions that are
// known there alone.
func (s *Shell) apart(sub *Shell, stmts []*syntax.Stmt) {
	sub.list(stmts)
	sub.uncalled(s.funcs)
}

// uncalled walks the functions that nothing called by name since there were
// those before: a trap, an exported function or a later line may.
func (s *Shell) uncalled(before map[string]function) {
	for _, name := range slices.Sorted(maps.Keys(s.funcs)) {
		if f := s.funcs[name]; !*f.used && before[name].body != f.body {
			*f.used = true
			s.call(name, f, nil, false)
		}
	}
}

// list walks statements in order. Where one could have failed halfway, the
// next starts from what either outcome leaves.
func (s *Shell) list(stmts []*syntax.Stmt) {
	for _, st := range stmts {
		s.stmt(st)
		s.settle()
	}
}

func (s *Shell) state() state { return state{maps.Clone(s.Vars), s.Dirs, s.Lost} }

// settle merges in what holds where a part failed.
func (s *Shell) settle() {
	for _, f := range s.failed {
		s.merge(f)
	}
	s.failed = nil
}

// merge joins another outcome: variables that differ are unknown, folders add
// up.
func (s *Shell) merge(o state) {
	for k, v := range s.Vars {
		w, ok := o.vars[k]
		if array, both := joined(v, w); ok && both && !v.same(w) {
			s.Vars[k] = array
			continue
		}
		if !ok || !v.same(w) {
			s.Vars[k] = Variable{origin: min(v.atLeast(), w.atLeast()), part: ok && v.isPart() && w.isPart() && !v.array && !w.array, keyed: v.keyed && w.keyed, integer: v.integer || w.integer}
		}
	}
	for k, w := range o.vars {
		if _, ok := s.Vars[k]; !ok {
			s.Vars[k] = Variable{integer: w.integer}
		}
	}
	s.Lost = s.Lost || o.lost
	for _, d := range o.dirs {
		if !slices.Contains(s.Dirs, d) {
			s.Dirs = append(slices.Clip(s.Dirs), d)
		}
	}
	if len(s.Dirs) > 4 || s.Lost {
		s.Dirs, s.Lost = nil, true
	}
}

// branch walks something that may run or not.
func (s *Shell) branch(f func()) {
	before := s.state()
	s.conditional++
	defer func(b string) { s.branches = b }(s.branches)
	s.Found.Branches++
	s.branches += strconv.Itoa(s.Found.Branches) + "/"
	f()
	s.conditional--
	s.merge(before)
}

func (s *Shell) stmt(st *syntax.Stmt) {
	s.Found.Tick()
	if s.depth++; s.depth > 4*collect.MaxDepth {
		s.Found.Fail("shell: nested deeper than %d", 4*collect.MaxDepth)
		s.depth--
		return
	}
	defer func(in Stream, opened []string, consumed bool) {
		s.depth--
		s.Stdin, s.Opened, s.Consumed = in, opened, consumed
	}(s.Stdin, s.Opened, s.Consumed)
	s.Consumed = s.Consumed || !printsAll(st.Redirs)
	s.redirect(st)
	if st.Background || st.Coprocess {
		alone := *st
		alone.Redirs, alone.Background, alone.Coprocess = nil, false, false
		s.apart(s.Sub(), []*syntax.Stmt{&alone})
		return
	}
	s.command(st.Cmd)
}

func (s *Shell) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		s.simple(c)
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.Subshell:
		s.apart(s.Sub(), c.Stmts)
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
			s.funcs[c.Name.Value] = function{body: c.Body, src: s.Src, maybe: s.conditional > 0, used: new(bool)}
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
		s.Sub().stmt(c.Body)
	case nil:
	case *syntax.ArithmCmd, *syntax.LetClause:
		s.Found.UnlikeDash = true
		if s.Dash { // subshells, or a program that is not there: nothing is assigned
			s.Sub().nested(c)
			return
		}
		s.evaluated(c)
	default: // tests: nothing runs but what is nested, or evaluated
		s.evaluated(c)
	}
}

// within walks something with one more entry in Via.
func (s *Shell) within(via string, f func()) {
	defer func(v []string) { s.Via = v }(s.Via)
	s.Via = slices.Concat(s.Via, []string{via})
	f()
}

func (s *Shell) restore(o state) { s.Vars, s.Dirs, s.Lost = maps.Clone(o.vars), o.dirs, o.lost }

func (s *Shell) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		s.list(c.Cond)
		s.branch(func() { s.list(c.Then) })
	}
}

// twice walks a loop's body twice: what one round leaves behind, the next
// starts with.
func (s *Shell) twice(f func()) {
	s.branch(f)
	s.branch(f)
}

// MaxRounds is how many rounds of a loop are walked with the loop's variable
// known.
const MaxRounds = 8

func (s *Shell) forClause(c *syntax.ForClause) {
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
	known := it.InPos.IsValid() && len(items) <= MaxRounds && !c.Select
	from, within, part, folder := argv.OriginAtom, len(items) > 0, len(items) > 0, len(items) > 0
	if len(items) > 0 && !slices.ContainsFunc(items, func(f argv.Field) bool { return !f.OwnNumber() }) {
		from = argv.OriginOwn
	}
	for _, f := range items {
		within, folder = within && f.Within, folder && f.Folder
		part = part && (f.Known() && !f.Glob && len(f.Assumed) == 0 && !strings.Contains(f.Text, "/") || !f.Known() && !f.Glob && assignsPart(f))
		known = known && f.Known()
		s.plainly(f)
		switch {
		case !f.Known():
			from = min(from, f.Origin)
		case strings.Trim(f.Text, "0123456789") != "":
			from = min(from, argv.OriginNames)
		}
	}
	if !known {
		if !it.InPos.IsValid() || c.Select {
			from = argv.OriginAny
		}
		s.Vars[it.Name.Value] = Variable{origin: from, within: within, folder: folder, part: part && it.InPos.IsValid() && !c.Select}
		s.twice(func() { s.list(c.Do) })
		return
	}
	for _, f := range items {
		s.branch(func() {
			s.Set(it.Name.Value, Variable{Values: []string{f.Text}, Known: true, assumed: f.Assumed})
			s.list(c.Do)
		})
	}
}
