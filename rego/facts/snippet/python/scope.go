package python

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// A program often takes one name for many things: the file of one loop is the count of
// another. What follows it knows one variable by each name, so that scopes are told apart
// here: a name that is surely another variable gets a name of its own, as in "f~2".

// scopes is what the parser marks while it reads, and the names that are left as they are.
type scopes struct {
	loops    map[*tree.Expr]bool // for statements
	made     map[*tree.Expr]bool // comprehensions; true where one is worked off later, as generators are
	takes    map[*tree.Expr]bool // assignments of comprehensions to what they go through
	defaults map[*tree.Expr]bool // assignments of defaults to parameters
	shared   map[string]bool     // names of several scopes: global ones, imports, and members of classes
	count    int
}

func newScopes() *scopes {
	return &scopes{make(map[*tree.Expr]bool), make(map[*tree.Expr]bool), make(map[*tree.Expr]bool), make(map[*tree.Expr]bool), make(map[string]bool), 0}
}

// tellApart renames the variables of a program.
func (s *scopes) tellApart(program *tree.Expr) {
	program.Walk(func(e *tree.Expr) {
		switch e.Op {
		case tree.OpClass:
			for _, k := range e.Kids {
				s.bound(k, s.shared)
			}
		case tree.OpImport:
			for _, key := range e.Keys {
				s.shared[imported(e.Text, key)] = true
			}
		}
	})
	s.rename(program, nil)
}

// imported is the name that an import binds.
func imported(module, key string) string {
	name, alias, ok := strings.Cut(key, " as ")
	switch {
	case ok:
		return alias
	case name != "":
		return name
	}
	first, _, _ := strings.Cut(module, ".")
	return first
}

// bound adds the names that an expression binds in its scope, and no others.
func (s *scopes) bound(e *tree.Expr, names map[string]bool) {
	switch e.Op {
	case tree.OpFunc, tree.OpClass:
		if e.Text != "" {
			names[e.Text] = true
		}
		return
	case tree.OpAssign, tree.OpAdd:
		if !s.takes[e] {
			for _, n := range targetNames(e.Kids[0]) {
				names[n] = true
			}
		}
	case tree.OpImport:
		for _, key := range e.Keys {
			names[imported(e.Text, key)] = true
		}
	}
	for _, k := range e.Kids {
		s.bound(k, names)
	}
}

// targetNames are the names that an assignment to an expression binds.
func targetNames(e *tree.Expr) (names []string) {
	switch e.Op {
	case tree.OpName:
		return []string{e.Text}
	case tree.OpList, tree.OpElem:
		for _, k := range e.Kids {
			names = append(names, targetNames(k)...)
		}
	}
	return names
}

// own is an inner scope, in which each of the names is a variable of its own.
func (s *scopes) own(outer map[string]string, names []string) map[string]string {
	inner := maps.Clone(outer)
	if inner == nil {
		inner = make(map[string]string)
	}
	for _, n := range names {
		s.count++
		inner[n] = fmt.Sprintf("%s~%d", n, s.count)
	}
	return inner
}

// rename gives the names in an expression those of its scope.
func (s *scopes) rename(e *tree.Expr, scope map[string]string) {
	_, comprehension := s.made[e]
	switch {
	case e.Op == tree.OpName:
		if n, ok := scope[e.Text]; ok {
			e.Text = n
		}
	case e.Op == tree.OpFunc:
		s.renameFunction(e, scope)
	case comprehension:
		s.renameComprehension(e, scope)
	case s.loops[e]:
		s.renameLoop(e, scope)
	default:
		if n, ok := scope[e.Text]; ok && e.Op == tree.OpClass {
			e.Text = n
		}
		for _, k := range e.Kids {
			s.rename(k, scope)
		}
	}
}

// renameFunction is rename for a function: its body, which is its last operand, is a scope
// of its own; its annotations and the values of its defaults are not in it.
func (s *scopes) renameFunction(f *tree.Expr, scope map[string]string) {
	names, last := make(map[string]bool), len(f.Kids)-1
	s.bound(f.Kids[last], names)
	for _, p := range f.Keys {
		names[strings.TrimLeft(p, "*")] = true
	}
	maps.DeleteFunc(names, func(n string, _ bool) bool { return s.shared[n] })
	inner := s.own(scope, slices.Sorted(maps.Keys(names)))
	for _, k := range f.Kids[:last] {
		if s.defaults[k] {
			s.rename(k.Kids[0], inner)
			k = k.Kids[1]
		}
		s.rename(k, scope)
	}
	s.rename(f.Kids[last], inner)
	for i, p := range f.Keys {
		bare := strings.TrimLeft(p, "*")
		if n, ok := inner[bare]; ok {
			f.Keys[i] = p[:len(p)-len(bare)] + n
		}
	}
	if n, ok := scope[f.Text]; ok {
		f.Text = n
	}
}

// renameComprehension is rename for a comprehension: what it goes through first is not of
// its scope.
func (s *scopes) renameComprehension(e *tree.Expr, scope map[string]string) {
	var names []string
	for _, k := range e.Kids {
		if s.takes[k] {
			names = append(names, targetNames(k.Kids[0])...)
		}
	}
	inner := s.own(scope, names)
	for i, k := range e.Kids {
		if i > 0 {
			s.rename(k, inner)
			continue
		}
		s.rename(k.Kids[0], inner)
		s.rename(k.Kids[1], scope)
	}
}

// renameLoop is rename for a loop. What it goes through is a variable of its own in its
// body, where nothing in there gives the name another value or keeps it for later. It has
// its last value behind the loop.
func (s *scopes) renameLoop(e *tree.Expr, scope map[string]string) {
	take, body := e.Kids[0], e.Kids[1]
	given := make(map[string]bool)
	s.bound(body, given)
	var names []string
	for _, n := range targetNames(take.Kids[0]) {
		if !s.shared[n] && !given[n] && !s.kept(body, n, false) {
			names = append(names, n)
		}
	}
	inner := s.own(scope, names)
	s.rename(take.Kids[1], scope)
	s.rename(take.Kids[0], inner)
	s.rename(body, inner)
	for _, k := range e.Kids[2:] {
		s.rename(k, scope)
	}
	for _, n := range names {
		outer := tree.Name(n)
		s.rename(outer, scope)
		e.Kids = append(e.Kids, tree.Assign(outer, tree.Name(inner[n])))
	}
}

// eager are functions that work a generator off before they return.
var eager = strings.Fields("sum any all min max list set dict tuple sorted frozenset len join Counter")

// kept reports whether a variable is used by what may run later, when it may hold something
// else: a function, or a generator that is not worked off at once.
func (s *scopes) kept(e *tree.Expr, name string, later bool) bool {
	if e.Op == tree.OpName && e.Text == name {
		return later
	}
	later = later || e.Op == tree.OpFunc || s.made[e]
	atOnce := e.Op == tree.OpCall && (e.Kids[0].Op == tree.OpName || e.Kids[0].Op == tree.OpAttr && e.Kids[0].Text == "join") && slices.Contains(eager, e.Kids[0].Text)
	return slices.ContainsFunc(e.Kids, func(k *tree.Expr) bool {
		if atOnce && s.made[k] && !later {
			return slices.ContainsFunc(k.Kids, func(in *tree.Expr) bool { return s.kept(in, name, false) })
		}
		return s.kept(k, name, later)
	})
}
