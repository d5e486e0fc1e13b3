// Package flow follows what the variables of a program may hold, and tells what the program
// touches by that.
//
// What is worked out holds for the program as a whole: no order of statements is kept, every
// branch runs, and a function that is handed on is called with whatever it may get. What
// modules, functions and methods do stands in tables (tables/*.txt). All that no table
// names is said to be unseen (Effects.Unseen), and so is a file whose path is not known: the
// tables allow, and nothing is refused by name.
//
// Modules are taken to be what the language's own distribution has under their names, for a
// project that shadows one runs its own code, as its tests do.
package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// A walker works out what a program's variables may hold: it walks the whole
// program again and again until nothing grows, and notes effects in the last
// round, when all is known.
type walker struct {
	table   *table
	vars    map[string]*value
	objs    map[*tree.Expr]*object
	fns     map[*tree.Expr]*function
	current *function
	grew    bool
	last    bool
	empties bool // a file is opened so that it is empty
	fills   bool // something is written to a file
	steps   int
	round   int
	effects outcome.Effects
	remote  bool                // a module by its bare name is fetched from elsewhere
	skip    map[*tree.Expr]bool // statements that are followed elsewhere
	kept    value               // what the language may hand on by itself
}

const (
	maxRounds = 40
	maxExact  = 15 // a text that still grows in a later round is any
	maxSteps  = 150_000
)

var errTooMuch = errors.New("the program takes too much work to read")

// Python tells what a program of Python does.
func Python(program *tree.Expr) (outcome.Effects, error) {
	return newWalker(pythonTable()).program(program)
}

// Script tells what a program of JavaScript does. Where bare is true a module by
// its bare name is fetched from elsewhere.
func Script(program *tree.Expr, bare bool) (outcome.Effects, error) {
	w := newWalker(scriptTable())
	w.remote = bare
	return w.program(program)
}

func newWalker(t *table) *walker {
	return &walker{table: t, vars: make(map[string]*value), objs: make(map[*tree.Expr]*object), fns: make(map[*tree.Expr]*function), skip: make(map[*tree.Expr]bool)}
}

func (w *walker) program(program *tree.Expr) (effects outcome.Effects, err error) {
	defer func() {
		if r := recover(); r != nil {
			if r != errTooMuch {
				panic(r)
			}
			effects, err = outcome.Effects{}, errTooMuch
		}
	}()
	program.Walk(w.declare)
	for ; ; w.round++ {
		if w.round == maxRounds {
			return outcome.Effects{}, errTooMuch
		}
		w.grew = false
		w.eval(program)
		if !w.grew && !w.callsRest() {
			break
		}
	}
	w.last = true
	if v := w.eval(program); w.table.script {
		w.escape(v, anything()) // it may be printed
	}
	if w.empties && !w.fills {
		w.unseen("a file is opened for writing, and nothing is written")
	}
	return w.effects, nil
}

// declare makes a variable of each name that the program binds.
func (w *walker) declare(e *tree.Expr) {
	bind := func(names ...string) {
		for _, n := range names {
			if w.vars[n] == nil {
				w.vars[n] = new(value)
			}
		}
	}
	switch e.Op {
	case tree.OpAssign, tree.OpAdd:
		bind(targets(e.Kids[0])...)
	case tree.OpFunc:
		w.fns[e] = &function{def: e}
		for _, p := range e.Keys {
			bind(strings.TrimLeft(p, "*"))
		}
		fallthrough
	case tree.OpClass:
		if w.fns[e] == nil {
			w.fns[e] = &function{def: e}
		}
		if e.Text != "" {
			bind(e.Text)
		}
	case tree.OpImport:
		for _, key := range e.Keys {
			bind(imported(e.Text, key))
		}
	}
}

// targets are the names that an assignment to an expression binds.
func targets(e *tree.Expr) (names []string) {
	switch e.Op {
	case tree.OpName:
		return []string{e.Text}
	case tree.OpList, tree.OpElem:
		for _, k := range e.Kids {
			names = append(names, targets(k)...)
		}
	case tree.OpDict:
		for i := 1; i < len(e.Kids); i += 2 {
			names = append(names, targets(e.Kids[i])...)
		}
	}
	return names
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

// callsRest makes what nothing calls be called with anything: the language may
// call it by itself, as it does __str__. It reports whether there was any.
func (w *walker) callsRest() (more bool) {
	for _, f := range w.fns {
		if f.alone && !w.table.script {
			before := w.grew
			w.grew = false
			for i, p := range f.def.Keys {
				w.grow(w.vars[strings.TrimLeft(p, "*")], w.unbound(f, i))
			}
			more, w.grew = more || w.grew, before
		}
		if f.def.Op == tree.OpClass || f.called {
			continue
		}
		f.called, f.alone, more = true, true, true
		for i, p := range f.def.Keys {
			w.grow(w.vars[strings.TrimLeft(p, "*")], w.unbound(f, i))
		}
	}
	return more
}

// unbound is what a parameter may be of a function that nothing calls.
func (w *walker) unbound(f *function, at int) value {
	switch {
	case w.table.script && at == 0 && f.method != nil && !f.loose && w.hasThis(f):
		return w.itself(f)
	case w.table.script:
		return kinds(kindUnseen)
	case at == 0 && f.method != nil && !f.loose && f.way != wayStatic:
		return w.itself(f)
	}
	return join(anything(), w.kept)
}

func (w *walker) grow(v *value, by value) {
	w.work(len(by.objs) + len(by.places)/8)
	if v == nil || !v.add(by) {
		return
	}
	w.grew = true
	if w.round > maxExact && len(v.places) > 0 && len(by.places) > 0 {
		v.add(anything())
	}
}

// unseen notes what cannot be seen.
func (w *walker) unseen(format string, args ...any) {
	if what := fmt.Sprintf(format, args...); w.last && !slices.Contains(w.effects.Unseen, what) {
		w.effects.Unseen = append(w.effects.Unseen, what)
	}
}

func (w *walker) all(list []*tree.Expr) (out []value) {
	for _, e := range list {
		out = append(out, w.eval(e))
	}
	return out
}

// work counts n steps.
func (w *walker) work(n int) {
	if w.steps += n; w.steps > maxSteps {
		panic(errTooMuch)
	}
}

func (w *walker) eval(e *tree.Expr) (v value) {
	w.work(1)
	switch e.Op {
	case tree.OpData:
		return w.data(e)
	case tree.OpText:
		return places(outcome.Place{Path: e.Text})
	case tree.OpNumber:
		w.all(e.Kids)
		return kinds(w.table.number)
	case tree.OpName:
		return w.variable(e)
	case tree.OpAttr:
		return w.attribute(w.eval(e.Kids[0]), e.Text)
	case tree.OpCall, tree.OpNew:
		return w.call(e)
	case tree.OpItem:
		return w.item(e)
	case tree.OpList:
		return w.list(e)
	case tree.OpDict:
		return w.dict(e)
	case tree.OpOr:
		return join(w.all(e.Kids)...)
	case tree.OpJoin:
		return w.joins(e)
	case tree.OpSlash:
		return w.slash(w.eval(e.Kids[0]), w.eval(e.Kids[1]))
	case tree.OpElem:
		return w.elements(w.eval(e.Kids[0]), true)
	case tree.OpEnter:
		return w.enter(w.eval(e.Kids[0]))
	case tree.OpFunc:
		return w.define(e)
	case tree.OpClass:
		return w.defineClass(e)
	case tree.OpReturn:
		v := w.eval(e.Kids[0])
		if w.current != nil {
			w.grow(&w.current.result, v)
		}
		return v
	case tree.OpAssign:
		if w.skip[e] {
			return value{}
		}
		v := w.eval(e.Kids[1])
		w.assign(e.Kids[0], v)
		return v
	case tree.OpAdd:
		v := w.joins(e)
		w.assign(e.Kids[0], v)
		return v
	case tree.OpImport:
		return w.imports(e)
	}
	for _, k := range e.Kids { // a block is its last statement
		v = w.eval(k)
	}
	return v
}

// data is what an operator makes of values: nothing that is known, unless it is a part
// of a text or a statement that only reads.
func (w *walker) data(e *tree.Expr) value {
	parts := true
	values := w.all(e.Kids)
	w.keeps(values...)
	made := w.operated(values)
	for _, k := range values {
		w.shown(k)
		parts = parts && len(k.kinds) == 1 && k.is(kindPart) && len(k.places)+len(k.objs)+len(k.fns)+len(k.specs) == 0
	}
	if parts && len(e.Kids) > 0 {
		return kinds(kindPart)
	}
	if e.Text == "%" && selects(values[0]) {
		return kinds(kindSelect)
	}
	return join(anything(), made)
}

// dict is what a dictionary holds, whose keys and values stand in turn.
func (w *walker) dict(e *tree.Expr) value {
	if w.table.script {
		return w.literalObject(e)
	}
	var key, elem value
	for i, k := range w.all(e.Kids) {
		if i%2 == 0 {
			key.add(k)
		} else {
			elem.add(k)
		}
	}
	w.object(e).dict = true
	return w.container(e, key, elem)
}

func (w *walker) variable(e *tree.Expr) value {
	v := w.vars[e.Text]
	name, _, inner := strings.Cut(e.Text, "~") // a variable of a scope of its own
	s := w.table.modules[""][name]
	switch {
	case v != nil && (inner || len(e.Keys) > 0):
		return *v
	case name == "%thrown":
		return w.thrown()
	case inner:
		w.unseen("%s", name)
		return kinds(kindUnseen)
	case w.table.modules["?"][name] != nil, strings.HasPrefix(name, "__") && s == nil:
		// Bound or not: a name means what it means in the scope at hand, and the
		// scopes are not told apart.
		w.unseen("%s", name)
		return kinds(kindUnseen)
	case v == nil && s == nil:
		w.unseen("%s", name)
		return kinds(kindUnseen)
	case v == nil:
		return w.member(s, value{})
	case s == nil:
		return *v
	}
	return join(*v, w.member(s, value{}))
}
