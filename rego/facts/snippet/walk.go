package snippet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// A walker works out what a program's variables may hold: it walks the whole
// program again and again until nothing grows, and notes effects in the last
// round, when all is known.
type walker struct {
	table   *table
	vars    map[string]*value
	objs    map[*expr]*object
	fns     map[*expr]*function
	current *function
	grew    bool
	last    bool
	empties bool // a file is opened so that it is empty
	fills   bool // something is written to a file
	steps   int
	round   int
	effects outcome.Effects
	remote  bool // a module by its bare name is fetched from elsewhere
}

const (
	maxRounds = 40
	maxExact  = 15 // a text that still grows in a later round is any
	maxSteps  = 150_000
)

var errTooMuch = errors.New("the program takes too much work to read")

// followPython tells what a program of Python does.
func followPython(program *expr) (outcome.Effects, error) {
	return newWalker(pythonTable()).program(program)
}

// followScript tells what a program of JavaScript does. Where bare is true a module by
// its bare name is fetched from elsewhere.
func followScript(program *expr, bare bool) (outcome.Effects, error) {
	w := newWalker(scriptTable())
	w.remote = bare
	return w.program(program)
}

func newWalker(t *table) *walker {
	return &walker{table: t, vars: make(map[string]*value), objs: make(map[*expr]*object), fns: make(map[*expr]*function)}
}

func (w *walker) program(program *expr) (effects outcome.Effects, err error) {
	defer func() {
		if r := recover(); r != nil {
			if r != errTooMuch {
				panic(r)
			}
			effects, err = outcome.Effects{}, errTooMuch
		}
	}()
	program.walk(w.declare)
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
func (w *walker) declare(e *expr) {
	bind := func(names ...string) {
		for _, n := range names {
			if w.vars[n] == nil {
				w.vars[n] = new(value)
			}
		}
	}
	switch e.op {
	case opAssign, opAdd:
		bind(targets(e.kids[0])...)
	case opFunc:
		w.fns[e] = &function{def: e}
		for _, p := range e.keys {
			bind(strings.TrimLeft(p, "*"))
		}
		fallthrough
	case opClass:
		if w.fns[e] == nil {
			w.fns[e] = &function{def: e}
		}
		if e.text != "" {
			bind(e.text)
		}
	case opImport:
		for _, key := range e.keys {
			bind(imported(e.text, key))
		}
	}
}

// targets are the names that an assignment to an expression binds.
func targets(e *expr) (names []string) {
	switch e.op {
	case opName:
		return []string{e.text}
	case opList, opElem:
		for _, k := range e.kids {
			names = append(names, targets(k)...)
		}
	case opDict:
		for i := 1; i < len(e.kids); i += 2 {
			names = append(names, targets(e.kids[i])...)
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
		if f.def.op == opClass || f.called {
			continue
		}
		f.called, more = true, true
		for _, p := range f.def.keys {
			w.grow(w.vars[strings.TrimLeft(p, "*")], w.unbound(f))
		}
	}
	return more
}

func (w *walker) unbound(f *function) value {
	if f.method != nil {
		return join(w.instance(f.method), kinds(kindUnseen))
	}
	return kinds(kindUnseen)
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

func (w *walker) all(list []*expr) (out []value) {
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

func (w *walker) eval(e *expr) (v value) {
	w.work(1)
	switch e.op {
	case opData:
		parts := true
		for _, k := range w.all(e.kids) {
			w.shown(k)
			parts = parts && len(k.kinds) == 1 && k.is(kindPart) && len(k.places)+len(k.objs)+len(k.fns)+len(k.specs) == 0
		}
		if parts && len(e.kids) > 0 {
			return kinds(kindPart)
		}
		return anything()
	case opText:
		return places(outcome.Place{Path: e.text})
	case opNumber:
		w.all(e.kids)
		return kinds(w.table.number)
	case opName:
		return w.variable(e)
	case opAttr:
		return w.attribute(w.eval(e.kids[0]), e.text)
	case opCall, opNew:
		return w.call(e)
	case opItem:
		return w.item(e)
	case opList:
		return w.list(e)
	case opDict:
		if w.table.script {
			return w.literalObject(e)
		}
		var key, elem value
		for i, k := range w.all(e.kids) {
			if i%2 == 0 {
				key.add(k)
			} else {
				elem.add(k)
			}
		}
		w.object(e).dict = true
		return w.container(e, key, elem)
	case opOr:
		return join(w.all(e.kids)...)
	case opJoin:
		return w.joins(e)
	case opSlash:
		return w.slash(w.eval(e.kids[0]), w.eval(e.kids[1]))
	case opElem:
		return w.elements(w.eval(e.kids[0]), true)
	case opEnter:
		return w.enter(w.eval(e.kids[0]))
	case opFunc:
		return w.define(e)
	case opClass:
		return w.defineClass(e)
	case opReturn:
		v := w.eval(e.kids[0])
		if w.current != nil {
			w.grow(&w.current.result, v)
		}
		return v
	case opAssign:
		v := w.eval(e.kids[1])
		w.assign(e.kids[0], v)
		return v
	case opAdd:
		v := w.joins(e)
		w.assign(e.kids[0], v)
		return v
	case opImport:
		return w.imports(e)
	}
	for _, k := range e.kids { // a block is its last statement
		v = w.eval(k)
	}
	return v
}

func (w *walker) variable(e *expr) value {
	name := e.text
	v := w.vars[name]
	s := w.table.modules[""][name]
	switch {
	case v != nil && len(e.keys) > 0:
		return *v
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
