package snippet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	effects Effects
}

const (
	maxRounds = 40
	maxSteps  = 150_000
)

var errTooMuch = errors.New("the program takes too much work to read")

func walkProgram(program *expr, t *table) (effects Effects, err error) {
	w := &walker{table: t, vars: make(map[string]*value), objs: make(map[*expr]*object), fns: make(map[*expr]*function)}
	defer func() {
		if r := recover(); r != nil {
			if r != errTooMuch {
				panic(r)
			}
			effects, err = Effects{}, errTooMuch
		}
	}()
	program.walk(w.declare)
	for round := 0; ; round++ {
		if round == maxRounds {
			return Effects{}, errTooMuch
		}
		w.grew = false
		w.eval(program)
		if !w.grew && !w.callsRest() {
			break
		}
	}
	w.last = true
	w.eval(program)
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
	if v != nil && v.add(by) {
		w.grew = true
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

// object is what an expression makes.
func (w *walker) object(at *expr) *object {
	o := w.objs[at]
	if o == nil {
		o = &object{attrs: make(map[string]*value)}
		w.objs[at] = o
		w.grew = true
	}
	return o
}

// container is a new container of these.
func (w *walker) container(at *expr, key value, elems ...value) value {
	o := w.object(at)
	w.grow(&o.elem, join(elems...))
	w.grow(&o.key, key)
	return value{objs: []*object{o}}
}

// elements are what a container holds, by iterating over it or by an index.
// Those of data are data.
func (w *walker) elements(v value, keys bool) (out value) {
	for _, o := range v.objs {
		if w.work(1); keys {
			out.add(o.key)
			if o.dict {
				continue
			}
		}
		out.add(o.elem)
		for _, t := range o.tuple {
			out.add(t)
		}
	}
	for _, k := range v.kinds {
		switch {
		case k == kindAny, k == kindProject, k == kindUnseen:
			out.add(kinds(k))
		case k == kindPart:
			out.add(anything()) // a letter of it
		case strings.HasPrefix(k, kindModule):
			w.unseen("an element of %s", k)
		case w.table.types[k]["[]"] != nil:
			out.add(w.result(w.table.types[k]["[]"], call{recv: v}))
		default:
			out.add(anything())
		}
	}
	if len(v.places) > 0 {
		out.add(anything())
	}
	if len(v.specs)+len(v.fns) > 0 {
		out.add(anything())
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
		return places(Place{Path: e.text})
	case opNumber:
		return kinds(kindPart)
	case opName:
		return w.variable(e.text)
	case opAttr:
		return w.attribute(w.eval(e.kids[0]), e.text)
	case opCall, opNew:
		return w.call(e)
	case opItem:
		return w.item(e)
	case opList:
		return w.list(e)
	case opDict:
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

func (w *walker) variable(name string) value {
	v := w.vars[name]
	s := w.table.modules[""][name]
	switch {
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

// list is a container whose elements are known by position where none is
// spread.
func (w *walker) list(e *expr) value {
	o := w.object(e)
	spread := false
	for i, k := range e.kids {
		v := w.eval(k)
		spread = spread || k.op == opElem
		w.grow(&o.elem, v)
		if spread || len(e.kids) > 16 {
			continue
		}
		if len(o.tuple) <= i {
			o.tuple = append(o.tuple, value{})
		}
		w.grow(&o.tuple[i], v)
	}
	if spread || len(e.kids) > 16 {
		o.changed = true
	}
	return value{objs: []*object{o}}
}

// item is operand 0 at operand 1.
func (w *walker) item(e *expr) (out value) {
	values := w.all(e.kids)
	v := values[0]
	if len(e.kids) == 2 && e.kids[1].op == opNumber && len(e.kids[1].text) == 1 {
		if at := int(e.kids[1].text[0] - '0'); at >= 0 && at <= 9 {
			return w.position(v, at)
		}
	}
	if isSlice(e) && len(v.objs) > 0 {
		out.add(w.container(e, value{}, w.elements(v, false)))
	}
	if v.is("environ") {
		out.add(w.variableOf(values[1]))
	}
	out.add(w.elements(v, false))
	return out
}

func isSlice(e *expr) bool {
	for _, k := range e.kids[1:] {
		if k.op == opData && len(k.kids) == 0 {
			return true
		}
	}
	return false
}

// position is the element of a container at a place that is known.
func (w *walker) position(v value, at int) (out value) {
	rest := v
	rest.objs = nil
	for _, o := range v.objs {
		if o.changed || at >= len(o.tuple) {
			rest.objs = append(rest.objs, o)
			continue
		}
		out.add(o.tuple[at])
	}
	if !rest.none() {
		out.add(w.elements(rest, false))
	}
	return out
}

// joins are texts one after the other, or lists.
func (w *walker) joins(e *expr) value {
	values := w.all(e.kids)
	if e.op == opAdd {
		for _, o := range values[0].objs {
			o.changed = true
			w.grow(&o.elem, w.elements(values[1], true))
		}
	}
	if e.op == opAdd && e.text != "+=" {
		return join(append(values, anything())...)
	}
	lists, texts := value{}, false
	for _, v := range values {
		w.shown(v)
		if len(v.objs) > 0 {
			lists.add(w.container(e, value{}, w.elements(v, false)))
		}
		texts = texts || len(v.places)+len(v.kinds) > 0
	}
	if !texts {
		return lists
	}
	if e.op == opAdd || len(lists.objs) > 0 {
		lists.add(anything()) // it grows with each round of a loop
		return lists
	}
	return concat(values)
}

// slash is a path in a folder, or a quotient.
func (w *walker) slash(a, b value) value {
	if !a.is("path") && !b.is("path") {
		return kinds(kindPart)
	}
	return join(joined(a, b), kinds("path"))
}

// assign makes the target hold the value, too.
func (w *walker) assign(target *expr, v value) {
	switch target.op {
	case opName:
		w.grow(w.vars[target.text], v)
	case opElem:
		w.assign(target.kids[0], w.container(target, value{}, w.elements(v, true)))
	case opList:
		for i, k := range target.kids {
			if k.op == opElem || slices.ContainsFunc(target.kids[:i], func(t *expr) bool { return t.op == opElem }) {
				w.assign(k, w.elements(v, true))
				continue
			}
			w.assign(k, w.position(v, i))
		}
	case opAttr:
		w.assignAttr(w.eval(target.kids[0]), target.text, v)
	case opItem:
		values := w.all(target.kids)
		if isSlice(target) {
			v = w.elements(v, true)
		}
		w.put(values[0], values[1], v)
	case opDict: // a pattern: names from a dict's values
		for i := 1; i < len(target.kids); i += 2 {
			w.eval(target.kids[i-1])
			w.assign(target.kids[i], w.propertyOf(v, target.kids[i-1]))
		}
	default:
		w.unseen("an assignment to what is no variable")
	}
}

func (w *walker) assignAttr(recv value, name string, v value) {
	if strings.HasPrefix(name, "__") {
		w.unseen("an assignment to %s", name)
	}
	for _, o := range recv.objs {
		if o.attrs[name] == nil {
			o.attrs[name] = new(value)
		}
		w.grow(o.attrs[name], v)
		w.grow(&o.elem, v)
	}
	for _, k := range recv.kinds {
		if w.table.types[k]["[]="] == nil {
			w.unseen("an assignment to %s of %s", name, k)
		}
	}
	if len(recv.fns) > 0 {
		w.unseen("an assignment to %s of a class or a function", name)
	}
	for _, s := range recv.specs {
		w.unseen("an assignment to %s of %s", name, s.name)
	}
}

// propertyOf is what a value has under a key that is written down.
func (w *walker) propertyOf(v value, key *expr) value {
	if key.op == opText {
		return w.attribute(v, key.text)
	}
	return w.elements(v, false)
}

// put stores a value in containers.
func (w *walker) put(recv, key, v value) {
	for _, o := range recv.objs {
		o.changed = true
		w.grow(&o.elem, v)
		if o.dict {
			w.grow(&o.key, key)
		}
	}
	for _, k := range recv.kinds {
		if k != kindAny && k != kindPart && w.table.types[k]["[]="] == nil {
			w.unseen("an assignment to an element of %s", k)
		}
	}
	if recv.is(kindAny) || recv.is(kindProject) {
		w.escape(v, anything())
	}
}
