package flow

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// assign makes the target hold the value, too.
func (w *walker) assign(target *tree.Expr, v value) {
	switch target.Op {
	case tree.OpName:
		w.grow(w.vars[target.Text], v)
	case tree.OpElem:
		w.assign(target.Kids[0], w.container(target, value{}, w.elements(v, true)))
	case tree.OpList:
		for i, k := range target.Kids {
			if k.Op == tree.OpElem || slices.ContainsFunc(target.Kids[:i], func(t *tree.Expr) bool { return t.Op == tree.OpElem }) {
				w.assign(k, w.elements(v, true))
				continue
			}
			w.assign(k, w.position(v, i))
		}
	case tree.OpAttr:
		w.assignAttr(w.eval(target.Kids[0]), target.Text, v)
	case tree.OpItem:
		values := w.all(target.Kids)
		if w.table.script {
			w.store(values[0], values[1], v)
			return
		}
		if isSlice(target) {
			v = w.elements(v, true)
		}
		w.put(values[0], values[1], v)
	case tree.OpDict: // a pattern: names from a dict's values
		for i := 1; i < len(target.Kids); i += 2 {
			w.assign(target.Kids[i], w.under(v, target.Kids[i-1]))
		}
	default:
		w.unseen("an assignment to what is no variable")
	}
}

func (w *walker) assignAttr(recv value, name string, v value) {
	if strings.HasPrefix(name, "__") || w.table.script && w.tampers(name, v) {
		w.unseen("an assignment to %s", name)
	}
	w.keeps(v)
	w.asks(recv, waySet+name, v)
	for _, o := range recv.objs {
		if o.attrs[name] == nil {
			o.attrs[name] = new(value)
		}
		w.grow(o.attrs[name], v)
		w.grow(&o.elem, v)
	}
	for _, k := range recv.kinds {
		switch {
		case k == "websocket" && strings.HasPrefix(name, "on"):
			v.specs = slices.DeleteFunc(slices.Clone(v.specs), func(s *spec) bool { return s.special == "settle" })
			w.escape(v, anything())
		case w.table.script && (k == kindAny || k == kindPart || k == kindNumber):
			w.escape(v, anything())
		case w.table.types[k]["[]="] == nil && w.table.modules[strings.TrimPrefix(k, kindModule)][name+"="] == nil:
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

// put stores a value in containers.
func (w *walker) put(recv, key, v value) {
	w.keeps(key, v)
	for _, o := range recv.objs {
		o.changed = true
		w.grow(&o.elem, v)
		if o.dict {
			w.grow(&o.key, key)
		}
	}
	if recv.is("options") {
		w.option(key)
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
