package flow

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// special does what a function does that no row of a table can describe. It
// reports false where there is no such function.
func (w *walker) special(c call) (value, bool) {
	arg := func(at int, key string) value { v, _ := c.arg(at, key); return v }
	if w.table.script {
		if v, ok := w.scriptSpecial(c, arg); ok {
			return v, true
		}
	}
	switch c.spec.special {
	case "append", "insert", "extend":
		w.fill(c)
		return value{}, true
	case "gather":
		return w.gather(c), true
	case "get":
		out := join(c.args...)
		if len(c.recv.objs) > 0 && len(c.args) > 0 {
			w.fill(c)
		}
		out.add(w.elements(c.recv, false))
		return out, true
	case "decorator":
		if fns := join(c.args...).fns; len(fns) > 0 {
			return value{fns: fns}, true
		}
		return value{specs: []*spec{c.spec}}, true
	case "defaultdict":
		made := w.flow(c)
		for _, f := range arg(0, "").fns {
			w.grow(&w.object(c.at).elem, w.handed(f, value{}))
		}
		if len(arg(0, "").specs) > 0 {
			w.grow(&w.object(c.at).elem, w.container(c.spec0(), value{}, value{}))
		}
		return made, true
	case "heappush":
		c.recv, c.args, c.keys = arg(0, ""), c.args[min(1, len(c.args)):], c.keys[min(1, len(c.keys)):]
		w.fill(c)
		return value{}, true
	case "shuffle":
		for _, a := range c.args {
			for _, o := range a.objs {
				o.changed = true
			}
		}
		return anything(), true
	}
	if v, ok := w.iterSpecial(c, arg); ok {
		return v, true
	}
	if v, ok := textSpecial(c); ok {
		return v, true
	}
	return w.pathSpecial(c, arg)
}

// iterSpecial are the functions that go through containers.
func (w *walker) iterSpecial(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "items":
		return w.pairs(c, w.elements(c.recv, true), w.elements(c.recv, false)), true
	case "enumerate":
		return w.pairs(c, kinds(kindPart), w.elements(arg(0, "iterable"), true)), true
	case "zip":
		var parts []value
		for _, a := range c.args {
			parts = append(parts, w.elements(a, true))
		}
		if slices.Contains(c.keys, "*") {
			return w.flow(c), true
		}
		return w.pairs(c, parts...), true
	case "keys":
		return w.container(c.at, value{}, w.elements(c.recv, true)), true
	case "values":
		return w.container(c.at, value{}, w.elements(c.recv, false)), true
	case "groupby":
		return w.pairs(c, anything(), w.container(c.at.Kids[0], value{}, w.elements(arg(0, ""), true))), true
	case "sort":
		for _, a := range c.args {
			for _, f := range a.fns {
				w.handed(f, w.elements(c.recv, true))
			}
			a.fns = nil
			w.escape(a, anything())
		}
		return c.recv, true
	}
	return value{}, false
}

// textSpecial are the functions that keep what is known of a text.
func textSpecial(c call) (value, bool) {
	switch c.spec.special {
	case "lower":
		return mapText(c.recv, strings.ToLower), true
	case "upper":
		return mapText(c.recv, strings.ToUpper), true
	case "title":
		return anything(), true
	case "strip":
		if len(c.args) > 0 {
			return anything(), true
		}
		return mapText(c.recv, strings.TrimSpace), true
	}
	return value{}, false
}

// spec0 is a place to make an object at, that belongs to a call and is not the
// call itself.
func (c call) spec0() *tree.Expr { return c.at.Kids[0] }

// fill puts arguments into the receiver.
func (w *walker) fill(c call) {
	// What has a method of its own of that name holds nothing that is put into it.
	method := c.spec.name[strings.LastIndexByte(c.spec.name, '.')+1:]
	c.recv.kinds = slices.DeleteFunc(slices.Clone(c.recv.kinds), func(k string) bool { s := w.table.types[k][method]; return s != nil && s != c.spec })
	for i, a := range c.args {
		v := a
		switch {
		case c.spec.special == "extend" || c.keys[i] == "*":
			v = w.elements(a, true)
			for _, o := range a.objs {
				v.add(o.elem)
			}
		case c.spec.special == "insert" && i == 0:
			continue
		}
		w.put(c.recv, anything(), v)
	}
}

// pairs is a container of tuples.
func (w *walker) pairs(c call, parts ...value) value {
	o := w.object(c.spec0())
	for i, p := range parts {
		if len(o.tuple) <= i {
			o.tuple = append(o.tuple, value{})
		}
		w.grow(&o.tuple[i], p)
		w.grow(&o.elem, p)
	}
	return w.container(c.at, value{}, value{objs: []*object{o}})
}
