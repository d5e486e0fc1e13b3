package flow

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// object is what an expression makes.
func (w *walker) object(at *tree.Expr) *object {
	o := w.objs[at]
	if o == nil {
		o = &object{attrs: make(map[string]*value)}
		w.objs[at] = o
		w.grew = true
	}
	return o
}

// container is a new container of these.
func (w *walker) container(at *tree.Expr, key value, elems ...value) value {
	o := w.object(at)
	w.keeps(append(elems, key)...)
	w.grow(&o.elem, join(elems...))
	w.grow(&o.key, key)
	return value{objs: []*object{o}}
}

// elements are what a container holds, by iterating over it or by an index.
// Those of data are data.
func (w *walker) elements(v value, keys bool) (out value) {
	if slices.ContainsFunc(v.objs, func(o *object) bool { return o.class != nil }) {
		out.add(w.goes(v))
	}
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

// list is a container whose elements are known by position where none is
// spread.
func (w *walker) list(e *tree.Expr) value {
	o := w.object(e)
	spread := false
	for i, k := range e.Kids {
		v := w.eval(k)
		spread = spread || k.Op == tree.OpElem
		w.keeps(v)
		w.grow(&o.elem, v)
		if spread || len(e.Kids) > 16 {
			continue
		}
		if len(o.tuple) <= i {
			o.tuple = append(o.tuple, value{})
		}
		w.grow(&o.tuple[i], v)
	}
	if spread || len(e.Kids) > 16 {
		o.changed = true
	}
	return value{objs: []*object{o}}
}

// item is operand 0 at operand 1.
func (w *walker) item(e *tree.Expr) (out value) {
	values := w.all(e.Kids)
	v := values[0]
	if w.table.script && (e.Kids[1].Op != tree.OpNumber || len(e.Kids[1].Text) != 1) {
		return w.elementAt(v, values[1])
	}
	if len(e.Kids) == 2 && e.Kids[1].Op == tree.OpNumber && len(e.Kids[1].Text) == 1 {
		if at := int(e.Kids[1].Text[0] - '0'); at >= 0 && at <= 9 {
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

func isSlice(e *tree.Expr) bool {
	for _, k := range e.Kids[1:] {
		if k.Op == tree.OpData && len(k.Kids) == 0 {
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
func (w *walker) joins(e *tree.Expr) value {
	values := w.all(e.Kids)
	if w.table.script {
		return w.added(values, e.Op == tree.OpAdd)
	}
	if e.Op == tree.OpAdd {
		for _, o := range values[0].objs {
			o.changed = true
			w.grow(&o.elem, w.elements(values[1], true))
		}
	}
	if selects(values[0]) && !slices.ContainsFunc(values, func(v value) bool { return len(v.objs)+len(v.fns)+len(v.specs) > 0 || v.none() }) {
		if v := concat(values); e.Op == tree.OpAdd || v.is(kindAny) || len(v.kinds) > 0 {
			return kinds(kindSelect)
		}
	}
	if e.Op == tree.OpAdd && e.Text != "+=" {
		w.keeps(values...)
		return join(append(values, anything(), w.operated(values))...)
	}
	w.keeps(values...)
	lists, texts := w.operated(values), false
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
	if e.Op == tree.OpAdd || len(lists.objs) > 0 {
		lists.add(anything()) // it grows with each round of a loop
		return lists
	}
	return concat(values)
}

// selects reports whether a value is a text that begins as a SELECT for sure.
func selects(v value) bool {
	return len(v.places)+len(v.kinds) > 0 &&
		!slices.ContainsFunc(v.kinds, func(k string) bool { return k != kindSelect }) &&
		!slices.ContainsFunc(v.places, func(p outcome.Place) bool { return p.Below || !selectForm.MatchString(p.Path) })
}

var selectForm = lazyregexp.New(`(?i)^\s*select\s`)

// slash is a path in a folder, or a quotient.
func (w *walker) slash(a, b value) value {
	if !a.is("path") && !b.is("path") {
		w.keeps(a, b)
		return join(kinds(kindPart), w.operated([]value{a, b}))
	}
	return join(joined(a, b), kinds("path"))
}
