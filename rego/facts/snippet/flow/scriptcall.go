package flow

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// scriptSpecial is what functions of JavaScript do that no row of a table can
// describe.
func (w *walker) scriptSpecial(c call, arg func(int, string) value) (value, bool) {
	recv := c.recv
	switch c.spec.special {
	case "require":
		return w.requires(arg(0, "")), true
	case "same":
		return arg(0, ""), true
	case "self":
		return recv, true
	case "timer", "tick":
		first := 1
		if c.spec.special == "timer" { // behind how long it takes
			first = 2
		}
		if len(arg(0, "").places) > 0 {
			w.unseen("%s of a text", c.spec.name)
		}
		w.callback(c, arg(0, ""), c.args[min(first, len(c.args)):]...)
		return anything(), true
	case "on":
		w.callback(c, arg(len(c.args)-1, ""), anything(), anything(), anything())
		return recv, true
	case "settledAll", "elemsOf":
		return join(w.elements(arg(0, ""), false), w.container(c.at, value{}, anything(), w.elements(arg(0, ""), false))), true
	case "entries":
		if len(c.args) > 0 {
			w.shown(arg(0, ""))
			return w.pairs(c, anything(), w.elements(arg(0, ""), false)), true
		}
		return w.pairs(c, anything(), w.elements(recv, false)), true
	case "elems":
		of := recv
		if len(c.args) > 0 {
			of = arg(0, "")
		}
		w.shown(of)
		return w.container(c.at, value{}, w.elements(of, false)), true
	case "names":
		return w.container(c.at, value{}, anything()), true
	case "assign":
		for _, source := range c.args[min(1, len(c.args)):] {
			for _, o := range arg(0, "").objs {
				w.spreadObject(o, source)
			}
		}
		if to := arg(0, ""); len(to.kinds)+len(to.fns)+len(to.specs) > 0 {
			w.unseen("%s to what is no object of the program's", c.spec.name)
		}
		return arg(0, ""), true
	case "replace":
		w.callback(c, value{fns: arg(1, "").fns, specs: arg(1, "").specs}, anything(), anything(), anything(), anything())
		return anything(), true
	}
	if v, ok := w.promised(c, arg); ok {
		return v, true
	}
	if v, ok := w.arrayMethod(c, arg); ok {
		return v, true
	}
	return w.scriptFile(c, arg)
}

// promised are the functions that make promises, and take what they hold.
func (w *walker) promised(c call, arg func(int, string) value) (value, bool) {
	recv := c.recv
	switch c.spec.special {
	case "promise":
		settle := value{specs: []*spec{w.table.modules["Promise"]["settle"]}}
		w.callback(c, arg(0, ""), settle, settle)
		return w.settled(c), true
	case "settle":
		w.grow(&w.object(settledAt).elem, join(c.args...))
		return value{}, true
	case "then":
		return join(w.callback(c, arg(0, ""), recv), w.callback(c, arg(1, ""), anything())), true
	case "catch":
		return join(recv, w.callback(c, arg(0, ""), join(anything(), w.thrown()))), true
	case "finally":
		w.callback(c, arg(0, ""))
		return recv, true
	case "exit", "rejected":
		return value{}, true
	}
	return value{}, false
}

// settledAt is where what promises are settled with is kept, for all of them.
var settledAt = &tree.Expr{Op: tree.OpList}

func (w *walker) settled(c call) value { return join(anything(), w.object(settledAt).elem) }

// thrown is what the program throws.
func (w *walker) thrown() (out value) {
	if v := w.vars["%thrown"]; v != nil {
		out.add(*v)
	}
	return out
}

// requires loads modules by their names.
func (w *walker) requires(names value) (out value) {
	t := names.text()
	if len(t.kinds) > 0 || t.none() {
		w.unseen("a module whose name is computed")
		return kinds(kindUnseen)
	}
	for _, p := range t.places {
		if p.Below && strings.HasSuffix(p.Pattern, ".json") {
			w.touch("read", places(p), "require")
			out.add(anything())
			continue
		}
		if p.Below {
			w.unseen("a module whose name is computed")
		}
		out.add(w.required(p.Path))
	}
	return out
}

// callback calls what a function is handed, with what it hands on.
func (w *walker) callback(c call, f value, args ...value) (out value) {
	inner := call{at: c.at, args: args, keys: make([]string, len(args))}
	for _, fn := range f.fns {
		out.add(w.invoke(fn, inner))
	}
	inner.at = c.spec0()
	for _, s := range f.specs {
		if inner.spec = s; strings.HasPrefix(s.name, "data.") {
			w.unseen("%s, handed on", s.name)
			continue
		}
		out.add(w.apply(inner))
	}
	for _, k := range f.kinds {
		switch {
		case k == kindPart, k == kindNumber:
		case k == kindProject:
			out.add(kinds(kindProject))
			for _, a := range args {
				w.escape(a, kinds(kindProject))
			}
		default:
			w.unseen("a call of what is not known")
			out.add(kinds(kindUnseen))
		}
	}
	return out
}

// arrayMethod are the methods of arrays, and of maps and sets.
func (w *walker) arrayMethod(c call, arg func(int, string) value) (value, bool) {
	index := kinds(kindNumber)
	elems := value{}
	if strings.HasPrefix(c.spec.name, "data.") {
		elems = w.elements(c.recv, false)
	}
	each := func() value { return w.callback(c, arg(0, ""), elems, index, c.recv) }
	switch c.spec.special {
	case "forEach", "test":
		w.callback(c, arg(0, ""), elems, join(index, anything()), c.recv)
		return index, true
	case "map":
		return w.container(c.at, value{}, each()), true
	case "filter":
		each()
		return w.container(c.at, value{}, elems), true
	case "find":
		each()
		return elems, true
	case "flatMap":
		made := each()
		return w.container(c.at, value{}, made, w.listed(made)), true
	case "reduce":
		sum := w.object(c.at)
		start := arg(1, "")
		if len(c.args) < 2 {
			start = elems
		}
		w.grow(&sum.elem, start)
		w.grow(&sum.elem, w.callback(c, arg(0, ""), sum.elem, elems, index, c.recv))
		return sum.elem, true
	case "sorted":
		w.callback(c, arg(0, ""), elems, elems)
		for _, o := range c.recv.objs {
			o.changed = true
		}
		return c.recv, true
	case "from":
		elems = w.elements(arg(0, ""), false)
		w.shown(arg(0, ""))
		if len(c.args) > 1 {
			return w.container(c.at, value{}, w.callback(c, arg(1, ""), join(elems, kinds(kindPart)), index)), true
		}
		return w.container(c.at, value{}, elems), true
	case "copied": // an array of the same elements, and of those that are given
		parts := []value{elems}
		for _, a := range c.args {
			parts = append(parts, a, w.listed(a))
		}
		return w.container(c.at, value{}, parts...), true
	case "flat":
		inner := w.listed(elems)
		return w.container(c.at, value{}, elems, inner, w.listed(inner), w.listed(w.listed(inner))), true
	}
	return w.collectionMethod(c, arg, elems)
}

// collectionMethod are methods that change what holds the elements, and those of maps
// and sets.
func (w *walker) collectionMethod(c call, arg func(int, string) value, elems value) (value, bool) {
	index := kinds(kindNumber)
	switch c.spec.special {
	case "collection": // new Map(pairs), new Set(list)
		return w.container(c.at, value{}, w.elements(arg(0, ""), false)), true
	case "mapGet":
		return join(elems, w.listed(elems)), true
	case "mapSet":
		pair := w.pairs(c, arg(0, ""), arg(1, ""))
		w.put(c.recv, anything(), join(w.elements(pair, false), arg(1, "")))
		return c.recv, true
	case "fromEntries":
		pairs := w.elements(arg(0, ""), false)
		made := w.container(c.at, value{}, w.elements(pairs, false))
		if o := made.objs[0]; !o.open {
			o.open, w.grew = true, true
		}
		return made, true
	case "take": // an element that is taken out
		for _, o := range c.recv.objs {
			o.changed = true
		}
		return elems, true
	case "splice":
		w.put(c.recv, index, join(c.args[min(2, len(c.args)):]...))
		return w.container(c.at, value{}, elems), true
	case "grouped":
		list := w.elements(arg(0, ""), false)
		w.callback(c, arg(1, ""), list, index)
		made := w.container(c.at, value{}, w.container(c.spec0(), value{}, list))
		if o := made.objs[0]; !o.open {
			o.open, w.grew = true, true
		}
		return made, true
	case "fill":
		w.put(c.recv, index, arg(0, ""))
		return c.recv, true
	case "split":
		return w.container(c.at, value{}, anything()), true
	}
	return value{}, false
}

// listed are the elements of those that are lists: a text among them is none.
func (w *walker) listed(v value) value {
	v.places = nil
	v.kinds = slices.DeleteFunc(slices.Clone(v.kinds), func(k string) bool { return k == kindPart || k == kindNumber })
	return w.elements(v, false)
}

// harmlessOptions are the properties of options that change neither what is
// read nor where.
var harmlessOptions = map[string][]string{
	"read":  strings.Fields("encoding withFileTypes recursive bigint throwIfNoEntry highWaterMark start end persistent interval"),
	"write": strings.Fields("encoding recursive flag flags flush mode force errorOnExist preserveTimestamps filter start autoClose"),
	"run":   strings.Fields("encoding stdio timeout maxBuffer windowsHide"),
	"fetch": strings.Fields("method headers body"),
	"none":  {},
}

// options looks at the arguments that say how a function of the tables works:
// "opts read" and the like in its row.
func (w *walker) options(c call) {
	for _, e := range c.spec.effects {
		allowed, is := harmlessOptions[strings.TrimPrefix(e.what, "opts-")]
		if v, given := c.arg(e.at, e.key); is && given && strings.HasPrefix(e.what, "opts-") {
			w.optionsOf(c, v, allowed)
		}
		if v, _ := c.arg(e.at, e.key); e.what == "content" && slices.Equal(v.places, []outcome.Place{{}}) {
			w.unseen("%s empties a file", c.spec.name)
		}
	}
}

func (w *walker) optionsOf(c call, v value, allowed []string) {
	for _, k := range v.kinds {
		if k != kindNumber {
			w.unseen("%s with options that are not known", c.spec.name)
		}
	}
	for _, o := range v.objs {
		if o.open || o.class != nil {
			w.unseen("%s with options that are not known", c.spec.name)
		}
		for _, name := range slices.Sorted(maps.Keys(o.attrs)) {
			if !slices.Contains(allowed, name) {
				w.unseen("%s with %s", c.spec.name, name)
			}
		}
	}
}
