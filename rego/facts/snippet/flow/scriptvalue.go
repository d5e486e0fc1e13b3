package flow

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// reflective are properties that lead from any value to the language's own
// machinery.
var reflective = strings.Fields("constructor __proto__ prototype __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ caller callee arguments")

// tampers reports whether a property with that value changes what the language
// does by itself.
func (w *walker) tampers(name string, v value) bool {
	if slices.Contains(reflective, name) {
		return true
	}
	return slices.Contains([]string{"then", "toJSON", "toString", "valueOf"}, name) && len(v.fns)+len(v.specs)+len(v.kinds) > 0
}

// property is what a value of JavaScript has under a name.
func (w *walker) property(v value, name string) (out value) {
	if slices.Contains(reflective, name) {
		w.unseen(".%s", name)
		return kinds(kindUnseen)
	}
	data := w.table.types["data"][name]
	plain := len(v.objs)+len(v.places) > 0 || v.is(kindAny) || v.is(kindPart) || v.is(kindNumber) || v.none() // a promise of nothing
	for _, o := range v.objs {
		w.ofObject(o, name, &out)
		if o.open {
			stored := o.elem
			if data != nil { // what is no function is no method
				stored.kinds, stored.places = slices.DeleteFunc(slices.Clone(stored.kinds), isData), nil
			}
			out.add(stored)
		}
	}
	for _, f := range v.fns {
		known := w.ofClass(f, name, &out)
		if name == "name" || name == "length" {
			out.add(anything())
		} else if !known {
			w.unseen(".%s of a function", name)
			out.add(kinds(kindUnseen))
		}
	}
	for _, s := range v.specs {
		switch {
		case w.inSection(w.table.modules[s.name], name, v, &out):
		case strings.HasPrefix(s.name, "data."): // or data by the name of a method
			plain = true
			out.add(anything())
		default:
			w.unseen("%s.%s", s.name, name)
			out.add(kinds(kindUnseen))
		}
	}
	for _, k := range v.kinds {
		w.ofKind(k, name, v, &out)
	}
	if plain && data != nil {
		out.add(w.member(data, v))
	} else if v.is(kindAny) {
		out.add(anything())
	}
	return out
}

func isData(kind string) bool { return kind == kindAny || kind == kindPart || kind == kindNumber }

// ofKind adds what values of a kind have under a name, but for data.
func (w *walker) ofKind(k, name string, v value, out *value) {
	known := true
	switch module, isModule := strings.CutPrefix(k, kindModule); {
	case isData(k):
	case k == kindProject:
		out.add(kinds(kindProject))
		known = !outcome.Acts(name)
	case k == "environ":
		out.add(w.variableOf(places(outcome.Place{Path: name})))
	case isModule && name == "default" && w.table.modules["builtin"][module] != nil:
		out.add(kinds(k))
		w.inSection(w.table.modules[module], name, v, out)
	case isModule:
		known = w.inSection(w.table.modules[module], name, v, out)
	default:
		known = w.inSection(w.table.types[k], name, v, out)
	}
	if !known {
		w.unseen("%s.%s", strings.TrimPrefix(k, kindModule), name)
		out.add(kinds(kindUnseen))
	}
}

// elementAt is what a value has under a key that is computed. A number leads to
// no method.
func (w *walker) elementAt(v, key value) (out value) {
	if len(key.places) > 0 && len(key.kinds)+len(key.objs)+len(key.fns)+len(key.specs) == 0 {
		for _, p := range key.places {
			if p.Below {
				return w.elementAt(v, anything())
			}
			out.add(w.property(v, p.Path))
			if strings.Trim(p.Path, "0123456789") == "" {
				out.add(w.elements(v, false))
			}
		}
		return out
	}
	w.reached(v)
	if v.is("environ") {
		return w.variableOf(key)
	}
	out.add(w.elements(v, false))
	if len(key.kinds) != 1 || !key.is(kindNumber) || len(key.places)+len(key.objs)+len(key.fns)+len(key.specs) > 0 {
		out.add(anything())
	}
	return out
}

// reached notes a computed property of what has more than data.
func (w *walker) reached(v value) {
	for _, s := range v.specs {
		if !strings.HasPrefix(s.name, "data.") {
			w.unseen("a computed property of %s", s.name)
		}
	}
	if len(v.fns) > 0 {
		w.unseen("a computed property of a function")
	}
	for _, k := range v.kinds {
		if !isData(k) && k != kindProject && k != "environ" && w.table.types[k]["[]"] == nil {
			w.unseen("a computed property of %s", strings.TrimPrefix(k, kindModule))
		}
	}
}

// store puts a value under a key that is computed.
func (w *walker) store(recv, key, v value) {
	if len(key.places) > 0 && len(key.kinds)+len(key.objs)+len(key.fns)+len(key.specs) == 0 {
		for _, p := range key.places {
			if p.Below {
				w.store(recv, anything(), v)
				continue
			}
			w.assignAttr(recv, p.Path, v)
		}
		for _, o := range recv.objs {
			o.changed = true
		}
		return
	}
	w.reached(recv)
	if recv.is("environ") {
		w.unseen("a change of the environment")
	}
	if len(key.kinds) != 1 || !key.is(kindNumber) {
		for _, o := range recv.objs {
			if !o.open {
				o.open, w.grew = true, true
			}
		}
		called := v
		called.places, called.objs = nil, nil
		w.escape(called, anything()) // it may be a method that the language calls
	}
	w.put(recv, key, v)
}

// literalObject is one that is written down: see objectOf.
func (w *walker) literalObject(e *tree.Expr) value {
	o := w.object(e)
	made := value{objs: []*object{o}}
	for i := 0; i+1 < len(e.Kids); i += 2 {
		key, v := e.Kids[i], w.eval(e.Kids[i+1])
		switch {
		case key.Op == tree.OpElem:
			w.spreadObject(o, v)
		case key.Op == tree.OpText:
			w.assignAttr(made, key.Text, v)
		default:
			w.store(made, w.eval(key), v)
		}
	}
	return made
}

// spreadObject copies what a value has into an object.
func (w *walker) spreadObject(o *object, v value) {
	w.shown(v)
	if open := len(v.kinds) > 0; open && !o.open {
		o.open, w.grew = true, true
	}
	from := v
	from.objs = nil
	w.grow(&o.elem, from)
	for _, s := range v.objs {
		o.open = o.open || s.open
		w.grow(&o.elem, s.elem)
		for _, t := range s.tuple {
			w.grow(&o.elem, t)
		}
		for name, a := range s.attrs {
			if o.attrs[name] == nil {
				o.attrs[name] = new(value)
			}
			w.grow(o.attrs[name], *a)
		}
	}
}

// under is what a pattern takes of a value: what lies under a key, or the rest.
func (w *walker) under(v value, key *tree.Expr) value {
	switch {
	case key.Op == tree.OpElem:
		w.shown(v)
		return v
	case key.Op == tree.OpText:
		return w.attribute(v, key.Text)
	case w.table.script:
		return w.elementAt(v, w.eval(key))
	}
	w.eval(key)
	return w.elements(v, false)
}

// added are values that are added to each other: numbers, or texts one after
// the other. One that grows in a loop is any.
func (w *walker) added(values []value, grows bool) value {
	numbers := true
	for _, v := range values {
		w.shown(v)
		numbers = numbers && len(v.kinds) == 1 && v.is(kindNumber) && len(v.places)+len(v.objs)+len(v.fns)+len(v.specs) == 0
	}
	switch {
	case numbers:
		return kinds(kindNumber)
	case grows || slices.ContainsFunc(values, func(v value) bool { return len(v.objs)+len(v.fns)+len(v.specs) > 0 }):
		return anything()
	}
	return concat(values)
}

// hasThis reports whether a function has a receiver of its own: all but arrows.
func (w *walker) hasThis(f *function) bool {
	return w.table.script && f.def.Op == tree.OpFunc && len(f.def.Keys) > 0 && strings.HasPrefix(f.def.Keys[0], "this#")
}

// this is what a function is asked of. Where that is nothing, it may be what
// holds the language's globals.
func (w *walker) this(f *function, c call) value {
	v := c.recv
	if f.method != nil {
		v = join(v, w.instance(f.method))
	}
	if c.recv.none() {
		v = join(v, kinds(kindUnseen))
	}
	return v
}

// required is a module by its name: one of the language's own, or a file or a
// package of the project.
func (w *walker) required(name string) value {
	name = strings.TrimPrefix(name, "node:")
	first, _, _ := strings.Cut(name, "/") // of a package: its scope
	relative := strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/")
	modules := w.table.modules
	switch {
	case modules["builtin"][name] != nil && modules[name] != nil:
		if name == "events" { // it is the class, too
			return join(kinds(kindModule+name), value{specs: []*spec{modules[name]["EventEmitter"]}})
		}
		return kinds(kindModule + name)
	case strings.HasSuffix(name, ".json") && relative:
		w.touch("read", places(outcome.Place{Path: name}), "require")
		return anything()
	case modules["builtin"][first] != nil, modules["!"][first] != nil, w.remote && !relative,
		strings.ContainsAny(name, ":\\%?#\x00"), strings.Trim(name, "./") == "":
		w.unseen("the module %s", name)
		return kinds(kindUnseen)
	case !relative:
		name = "node_modules/" + name
	}
	if w.last && !slices.Contains(w.effects.Project, name) {
		w.effects.Project = append(w.effects.Project, name)
	}
	if modules["globs"][first] != nil && !relative {
		return kinds("globs")
	}
	return kinds(kindProject)
}
