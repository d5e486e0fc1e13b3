package flow

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// What classes of the program do by their bases, their decorators, and the methods that the
// language calls by itself.

// Ways in which a method is asked for, other than by a call on an object.
const (
	wayGet    = "get "  // read as an attribute
	waySet    = "set "  // called as an attribute is assigned to
	wayClass  = "class" // called with the class
	wayStatic = "static"
)

// decoratedAs is how a method is asked for that a decorator is called with, and whether
// that is known of the decorator.
func (w *walker) decoratedAs(e *tree.Expr) (way string, known bool) {
	if e.Op != tree.OpAssign || e.Kids[0].Op != tree.OpName || e.Kids[1].Op != tree.OpCall || len(e.Kids[1].Kids) != 2 {
		return "", false
	}
	switch d := e.Kids[1].Kids[0]; {
	case w.table.script:
	case d.Op == tree.OpAttr && d.Text == "setter" && d.Kids[0].Op == tree.OpName && d.Kids[0].Text == e.Kids[0].Text:
		return waySet, true
	case d.Text == "cached_property" && (d.Op == tree.OpName || d.Op == tree.OpAttr && d.Kids[0].Op == tree.OpName && d.Kids[0].Text == "functools"):
		return wayGet, true
	case d.Op != tree.OpName || w.vars[d.Text] != nil:
	case d.Text == "property":
		return wayGet, true
	case d.Text == "classmethod":
		return wayClass, true
	case d.Text == "staticmethod":
		return wayStatic, true
	}
	return "", false
}

// methods finds the functions of a class: what they hold are none. One that has no name
// may or may not get the object that it is asked of.
func (w *walker) methods(c *function, e *tree.Expr, loose bool) {
	switch f := w.fns[e]; e.Op {
	case tree.OpClass:
	case tree.OpFunc:
		if f.method == nil {
			f.method, f.loose = c, loose || e.Text == ""
			c.own[e.Text] = f
		}
	default:
		for i, k := range e.Kids {
			w.methods(c, k, loose || e.Op != tree.OpBlock)
			if f := w.fns[k]; e.Op == tree.OpBlock && k.Op == tree.OpFunc {
				for _, d := range e.Kids[i+1:] {
					if _, known := w.decoratedAs(d); !known && d.Op == tree.OpAssign && d.Kids[0].Op == tree.OpName && d.Kids[0].Text == k.Text {
						f.decorated = true
					}
					if way, known := w.decoratedAs(d); known && d.Kids[0].Text == k.Text {
						f.way, w.skip[d] = way, true
						if way == waySet {
							delete(c.own, k.Text)
						}
						if way == wayGet || way == waySet {
							c.own[way+k.Text] = f
						}
					}
				}
			}
		}
	}
}

// family are a class and those of the program that stand on it.
func (w *walker) family(c *function) []*function {
	if c.under == nil {
		c.under = []*function{c}
	}
	return c.under
}

// stands notes that a class stands on another.
func (w *walker) stands(c, base *function) {
	for _, f := range w.family(c) {
		if n, grew := union(w.family(base), []*function{f}, false); grew {
			base.under, w.grew = n, true
		}
	}
}

// itself is what a method is asked of: an object of its class, or of one that stands on it.
func (w *walker) itself(f *function) (v value) {
	for _, c := range w.family(f.method) {
		if f.way == wayClass {
			v.add(value{fns: []*function{c}})
		} else {
			v.add(w.instance(c))
		}
	}
	return v
}

// inherited are the functions that an object's class, or one that it stands on, has under
// a name.
func (w *walker) inherited(v value, name string) (fns []*function) {
	for _, o := range v.objs {
		if o.class != nil {
			fns, _ = union(fns, w.methodNamed(o.class, name, 0), false)
		}
	}
	return fns
}

func (w *walker) methodNamed(c *function, name string, depth int) []*function {
	if f := c.own[name]; f != nil {
		return []*function{f}
	}
	var fns []*function
	for _, base := range c.bases {
		if depth < 8 {
			fns, _ = union(fns, w.methodNamed(base, name, depth+1), false)
		}
	}
	return fns
}

// asks calls the methods of a name that an object has.
func (w *walker) asks(v value, name string, args ...value) (out value, has bool) {
	for _, f := range w.inherited(v, name) {
		out.add(w.invoke(f, call{recv: v, args: args, keys: make([]string, len(args))}))
		has = true
	}
	return out, has
}

// super calls a method of the classes that the one at hand stands on.
func (w *walker) super(name string, c call) (out value, known bool) {
	if w.current == nil || w.current.method == nil {
		return value{}, false
	}
	for _, base := range w.current.method.bases {
		for _, f := range w.methodNamed(base, name, 0) {
			c.recv = w.itself(w.current)
			out.add(w.invoke(f, c))
			known = true
		}
	}
	if !known && name == "__init__" { // of a class of the language's, which keeps what it gets
		for _, a := range c.args {
			w.escape(a, anything())
			for _, o := range w.itself(w.current).objs {
				w.grow(&o.elem, a)
			}
		}
		return value{}, true
	}
	return out, known
}

// operators are methods that operators call, with the other operand.
var operators = strings.Fields("__add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __mod__ __pow__ __neg__ __pos__ __abs__ __invert__ " +
	"__and__ __or__ __xor__ __lshift__ __rshift__ __matmul__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__")

// operated is what operators make of objects of the program's.
func (w *walker) operated(values []value) (out value) {
	all := join(values...)
	for _, v := range values {
		if len(v.objs) == 0 {
			continue
		}
		for _, name := range operators {
			made, _ := w.asks(v, name, all)
			out.add(made)
		}
	}
	return out
}

// goes are what a loop over objects of the program's takes.
func (w *walker) goes(v value) (out value) {
	made, has := w.asks(v, "__iter__")
	if has {
		self := made
		self.objs = slices.DeleteFunc(slices.Clone(made.objs), func(o *object) bool { return o.class != nil && slices.Contains(v.objs, o) })
		out.add(w.elements(self, true))
	}
	next, _ := w.asks(v, "__next__")
	at, _ := w.asks(v, "__getitem__", anything())
	return join(out, next, at)
}

// keeps notes values that the language may hand on by itself, as it does where it compares
// what a list holds.
func (w *walker) keeps(values ...value) {
	if w.table.script {
		return
	}
	for _, v := range values {
		w.grow(&w.kept, v)
	}
}

// plainBases are classes of the language's that a class of the program may stand on, besides
// those that do nothing when an object is made.
var plainBases = strings.Fields("threading.Thread events.EventEmitter Map Set WeakMap Array Object")

// standsOn looks at a class of the language's that a class of the program stands on.
func (w *walker) standsOn(c *function, base *spec) {
	if !slices.Contains(plainBases, base.name) && (w.table.script || !base.harmless()) {
		w.unseen("a class of %s", base.name)
	}
	w.visitor(c, base)
}

// visitor gives the methods of a class that stands on one of the language's what they get of it.
func (w *walker) visitor(c *function, base *spec) {
	rest, begins := value{}, ""
	switch base.result {
	case "visitor":
		rest, begins = kinds("node"), "visit"
	case "handler":
		rest, begins = anything(), "do_"
	default:
		return
	}
	for name, f := range c.own {
		if !strings.HasPrefix(name, begins) && name != "log_message" {
			continue
		}
		f.called = true
		for i, p := range f.def.Keys {
			if i == 0 {
				w.grow(w.vars[p], w.itself(f))
			} else {
				w.grow(w.vars[strings.TrimLeft(p, "*")], rest)
			}
		}
	}
}

// classOf is the class of a value: all that is asked of it is its name, or it is called.
func (w *walker) classOf(v value) (out value) {
	for _, o := range v.objs {
		if o.class != nil {
			out.add(value{fns: []*function{o.class}})
		}
	}
	if len(v.fns)+len(v.specs) > 0 || v.is(kindUnseen) || v.is(kindProject) {
		w.unseen(".__class__")
		return kinds(kindUnseen)
	}
	return out.with(kinds("type"))
}
