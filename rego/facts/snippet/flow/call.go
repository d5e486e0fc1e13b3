package flow

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// A call is one of a function of the tables.
type call struct {
	at   *tree.Expr
	spec *spec
	recv value
	args []value
	keys []string // of the arguments: "" is by position, "*" and "**" are spread
}

// arg is the argument with that number or name.
func (c call) arg(at int, key string) (v value, given bool) {
	if at < 0 {
		return c.recv, true
	}
	n := 0
	for i, a := range c.args {
		switch k := c.keys[i]; {
		case k == "*" || k == "**":
			return anything(), true
		case k == "":
			if n == at {
				return a, true
			}
			n++
		case k == key && key != "":
			return a, true
		}
	}
	return value{}, false
}

// call evaluates a call of whatever operand 0 may be.
func (w *walker) call(e *tree.Expr) (out value) {
	c := call{at: e, keys: e.Keys[1:]}
	f := value{}
	switch callee := e.Kids[0]; {
	case callee.Op == tree.OpName && callee.Text == "getattr" && w.vars["getattr"] == nil && !w.table.script && len(e.Kids) > 2:
		return w.named(e)
	case callee.Op == tree.OpAttr:
		if callee.Kids[0].Op == tree.OpName && callee.Kids[0].Text == "%super" {
			c.recv = kinds("super")
		} else {
			c.recv = w.eval(callee.Kids[0])
		}
		if c.recv.is("super") && len(c.recv.kinds) == 1 {
			c.args = w.all(e.Kids[1:])
			if out, known := w.super(callee.Text, c); known {
				return out
			}
		}
		f = w.attribute(c.recv, callee.Text)
		if slices.Contains(mutators, callee.Text) {
			for _, o := range c.recv.objs {
				o.changed = true
			}
		}
	case callee.Op == tree.OpItem && w.table.script:
		c.recv = w.eval(callee.Kids[0])
		f = w.item(callee)
	default:
		f = w.eval(callee)
	}
	c.args = w.all(e.Kids[1:])
	for _, s := range f.specs {
		c.spec = s
		out.add(w.apply(c))
	}
	for _, fn := range f.fns {
		out.add(w.invoke(fn, c))
	}
	for _, o := range f.objs {
		if o.class == nil && e.Op != tree.OpNew {
			continue
		}
		own := w.inherited(value{objs: []*object{o}}, "__call__")
		for _, fn := range own {
			out.add(w.invoke(fn, call{at: e, recv: value{objs: []*object{o}}, args: c.args, keys: c.keys}))
		}
		if len(own) == 0 {
			w.unseen("a call of an object")
		}
	}
	for _, k := range f.kinds {
		switch k {
		case kindProject:
			out.add(kinds(kindProject))
			for _, a := range c.args {
				w.escape(a, kinds(kindProject))
				w.away(a)
			}
			w.runsTemplate(calledName(e.Kids[0]), c)
		case kindPart, kindNumber:
		default:
			if s := w.table.types[k]["()"]; s != nil {
				c.spec = s
				out.add(w.apply(c))
				continue
			}
			w.unseen("a call of what is not known")
			out.add(kinds(kindUnseen))
			for _, a := range c.args {
				w.escape(a, kinds(kindUnseen))
			}
		}
	}
	if f.none() && (w.table.script || !slices.ContainsFunc(c.args, value.none) && !c.recv.none()) {
		w.unseen("a call of what is not known")
	}
	return out
}

// mutators are methods that move the elements of a container.
var mutators = strings.Fields("pop popleft popitem remove reverse sort clear rotate insert append appendleft extend extendleft shift unshift splice push fill copyWithin concat_")

// invoke calls a function or a class of the program.
func (w *walker) invoke(f *function, c call) value {
	f.called = true
	if f.def.Op == tree.OpClass {
		made := w.instance(f)
		if inits := w.methodNamed(f, "__init__", 0); len(inits) > 0 {
			for _, init := range inits {
				w.invoke(init, call{at: c.at, recv: made, args: c.args, keys: c.keys})
			}
		} else {
			for _, a := range append(c.args, w.all(f.def.Kids[:len(f.def.Keys)])...) {
				w.grow(&made.objs[0].elem, a)
			}
			w.fields(made.objs[0], c)
		}
		return made
	}
	bound := call{recv: c.recv, keys: append([]string{""}, c.keys...)}
	switch {
	case w.hasThis(f):
		bound.args = append([]value{w.this(f, c)}, c.args...)
		w.pass(f, bound)
	case f.way == wayStatic:
		w.pass(f, c)
	case f.way == wayClass:
		bound.args = append([]value{w.itself(f)}, c.args...)
		w.pass(f, bound)
	case f.method != nil && !w.table.script:
		bound.args = append([]value{join(c.recv, w.instance(f.method))}, c.args...)
		w.pass(f, bound)
		if f.loose || len(c.recv.objs) == 0 || len(c.recv.fns) > 0 {
			w.pass(f, c)
		}
	default:
		w.pass(f, c)
	}
	return f.result
}

// pass gives a function its arguments.
func (w *walker) pass(f *function, c call) {
	params, args, keys := f.def.Keys, c.args, c.keys
	n, spread := 0, false
	for i, a := range args {
		switch k := keys[i]; {
		case spread && k == "": // behind those whose number is not known
			for _, p := range params {
				w.grow(w.vars[strings.TrimLeft(p, "*")], a)
			}
			w.spread(params, f.def, a)
		case k == "*" || k == "**":
			spread = spread || k == "*"
			for _, p := range params {
				w.grow(w.vars[strings.TrimLeft(p, "*")], w.elements(a, false))
			}
		case k != "":
			w.grow(w.vars[parameter(params, k)], a)
			w.spread(params, f.def, a)
		case n < len(params) && !strings.HasPrefix(params[n], "*"):
			w.grow(w.vars[params[n]], a)
			n++
		default:
			w.spread(params, f.def, a)
		}
	}
}

// parameter is the variable of the parameter with a name: see how the readers of the
// languages tell scopes apart.
func parameter(params []string, name string) string {
	for _, p := range params {
		if p == name || strings.HasPrefix(p, name+"~") {
			return p
		}
	}
	return name
}

// spread adds an argument to the parameters with a star.
func (w *walker) spread(params []string, def *tree.Expr, a value) {
	for _, p := range params {
		if strings.HasPrefix(p, "*") {
			o := w.container(def, anything(), a)
			w.grow(w.vars[strings.TrimLeft(p, "*")], o)
		}
	}
}

// fields are the attributes of an object whose class has no __init__: that of
// a data class, or of a named tuple.
func (w *walker) fields(o *object, c call) {
	all := join(c.args...)
	for _, k := range o.class.def.Kids[len(o.class.def.Keys):] {
		k.Walk(func(e *tree.Expr) {
			if e.Op == tree.OpName && w.vars[e.Text] != nil {
				if o.attrs[e.Text] == nil {
					o.attrs[e.Text] = new(value)
				}
				w.grow(o.attrs[e.Text], all)
			}
		})
	}
}

// escape is what happens to functions that are handed to code which is not
// read: they are called with anything.
func (w *walker) escape(v value, with value) {
	seen := make(map[*object]bool)
	var visit func(value)
	visit = func(v value) {
		w.shown(v)
		for _, s := range v.specs {
			if !s.harmless() {
				w.unseen("%s, handed on", s.name)
			}
		}
		for _, k := range v.kinds {
			if strings.HasPrefix(k, kindModule) {
				w.unseen("the %s, handed on", k)
			}
		}
		for _, f := range v.fns {
			w.handed(f, with)
		}
		for _, o := range v.objs {
			if seen[o] {
				continue
			}
			seen[o] = true
			visit(o.elem)
			visit(o.key)
			for _, t := range o.tuple {
				visit(t)
			}
			for _, name := range slices.Sorted(maps.Keys(o.attrs)) {
				visit(*o.attrs[name])
			}
		}
	}
	visit(v)
}

// handed calls a function with a value for each of its parameters.
func (w *walker) handed(f *function, with value) value {
	f.called = true
	if f.def.Op == tree.OpClass {
		return w.instance(f)
	}
	for i, p := range f.def.Keys {
		if i == 0 && w.hasThis(f) {
			w.grow(w.vars[p], w.this(f, call{}))
			continue
		}
		if f.method != nil && i == 0 && f.way != wayStatic {
			w.grow(w.vars[strings.TrimLeft(p, "*")], w.itself(f))
		}
		if strings.HasPrefix(p, "*") {
			w.spread(f.def.Keys, f.def, with)
			continue
		}
		w.grow(w.vars[p], with)
	}
	return f.result
}

// apply does what a function of the tables does.
func (w *walker) apply(c call) value {
	if c.spec.special == "flow" || c.spec.special == "each" {
		return w.flow(c)
	}
	if c.spec.special != "" {
		if v, ok := w.special(c); ok {
			return v
		}
		w.unseen("%s", c.spec.name)
		return kinds(kindUnseen)
	}
	for _, a := range c.args {
		w.keeps(a)
		w.escape(a, anything())
	}
	if w.table.script {
		w.options(c)
	} else if c.spec.loose {
		w.looseArgs(c)
	}
	w.fills = w.fills || slices.Contains(fillers, c.spec.name[strings.LastIndexByte(c.spec.name, '.')+1:])
	for i, k := range c.keys {
		w.fills = w.fills || k == "file" && c.args[i].is("file")
	}
	if len(c.spec.effects) == 1 && c.spec.effects[0].what == "write" && len(c.args) == 1 && slices.Equal(c.args[0].places, []outcome.Place{{}}) {
		w.unseen("%s empties a file", c.spec.name)
	}
	for _, e := range c.spec.effects {
		if v, given := c.arg(e.at, e.key); given {
			w.touch(e.what, v, c.spec.name)
		}
	}
	return w.result(c.spec, c)
}

// fillers are the functions that write to a file which was opened before.
var fillers = strings.Fields("write writelines writerow writerows dump safe_dump")

// touch notes that a file is read, written or deleted.
func (w *walker) touch(what string, v value, by string) {
	if !w.last {
		return
	}
	list := map[string]*[]outcome.Place{"read": &w.effects.Reads, "write": &w.effects.Writes, "delete": &w.effects.Deletes}[what]
	if list == nil { // see options
		return
	}
	pieces, own := w.unpacked(v) // a list of files, or of lists of them
	if own {
		w.unseen("%s: an object of the program's own", by)
	}
	for _, v := range pieces {
		w.touchPiece(list, v, by)
	}
}

// touchPiece is touch for what is no container.
func (w *walker) touchPiece(list *[]outcome.Place, v value, by string) {
	t := v
	t.kinds = slices.DeleteFunc(slices.Clone(v.kinds), func(k string) bool { return k == "file" }) // it was opened elsewhere
	if t.none() && v.is("file") {
		return
	}
	if len(t.places) == 0 && len(t.kinds) == 1 && t.is(kindNumber) {
		return // a file that is open
	}
	t = t.text()
	if t.none() || t.is(kindAny) {
		w.unseen("%s: a path that is not known", by)
	}
	if t.is(kindPart) {
		t.add(places(outcome.Place{Path: ".", Below: true}))
	}
	for _, p := range t.places {
		if strings.Contains(p.Path, "\x00") || hostPath.MatchString(p.Path) {
			w.unseen("%s: %s", by, p.Path)
		}
		*list, _ = union(*list, []outcome.Place{p}, false)
	}
}

// unpacked are a value and what the containers in it hold, none of them a container
// itself. It reports whether an object of a class of the program's is among that.
func (w *walker) unpacked(v value) (pieces []value, own bool) {
	seen := make(map[*object]bool)
	for todo := []value{v}; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		for _, o := range next.objs {
			if o.class != nil {
				own = true
			} else if !seen[o] {
				seen[o] = true
				todo = append(todo, w.elements(value{objs: []*object{o}}, true))
			}
		}
		contained := len(next.objs) > 0
		next.objs = nil
		if !contained || !next.none() {
			pieces = append(pieces, next)
		}
	}
	return pieces, own
}

// hostPath are addresses where a file is expected.
var hostPath = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9+.-]+:`)

// result is what a function of the tables, or a value of them, yields.
func (w *walker) result(s *spec, c call) value {
	switch s.result {
	case "self":
		return c.recv
	case "elem":
		return w.elements(c.recv, true)
	case "arg":
		v, _ := c.arg(0, "")
		return v.text()
	case "text":
		return c.recv.text()
	case "dir":
		return kinds("path").with(places(outcome.Place{Path: "."}))
	case "none":
		return value{}
	case "below":
		return w.container(c.at, value{}, join(below(c.recv, ""), kinds("path")))
	case "dirtext":
		return places(outcome.Place{Path: "."})
	case "tmp":
		return places(outcome.Place{Path: "/tmp", Below: true})
	case "parent":
		return join(parents(c.recv), kinds("path"))
	case "list":
		return w.container(c.at, value{}, anything())
	case "parts":
		if c.at == nil {
			return anything()
		}
		return w.container(c.at, value{}, kinds(kindPart))
	}
	return kinds(s.result)
}

func (v value) with(o value) value { return join(v, o) }
