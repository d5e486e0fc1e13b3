package snippet

import (
	"path"
	"slices"
	"strings"
)

// special does what a function does that no row of a table can describe. It
// reports false where there is no such function.
func (w *walker) special(c call) (value, bool) {
	arg := func(at int, key string) value { v, _ := c.arg(at, key); return v }
	switch c.spec.special {
	case "append", "insert", "extend":
		w.fill(c)
		return value{}, true
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
		return w.pairs(c, anything(), w.container(c.at.kids[0], value{}, w.elements(arg(0, ""), true))), true
	case "sort":
		for _, a := range c.args {
			for _, f := range a.fns {
				w.handed(f, w.elements(c.recv, true))
			}
			a.fns = nil
			w.escape(a, anything())
		}
		return c.recv, true
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
	return w.pathSpecial(c, arg)
}

// spec0 is a place to make an object at, that belongs to a call and is not the
// call itself.
func (c call) spec0() *expr { return c.at.kids[0] }

// fill puts arguments into the receiver.
func (w *walker) fill(c call) {
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

// pathSpecial are the functions that make and take paths.
func (w *walker) pathSpecial(c call, arg func(int, string) value) (value, bool) {
	isPath := kinds("path")
	switch c.spec.special {
	case "open":
		return w.open(c, arg(0, "file"), 1), true
	case "popen":
		return w.open(c, c.recv, 0), true
	case "path", "join", "joinpath":
		v := c.recv
		if c.spec.special != "joinpath" {
			v = value{}
		}
		for i, a := range c.args {
			if c.keys[i] != "" {
				return anything(), true
			}
			if i == 0 && c.spec.special != "joinpath" {
				v = a.text()
				continue
			}
			v = joined(v, a)
		}
		if len(c.args) == 0 && c.spec.special == "path" {
			v = places(Place{Path: "."})
		}
		v = v.text()
		if c.spec.special != "join" {
			v.add(isPath)
		}
		return v, true
	case "home":
		return join(places(Place{Path: "~"}), isPath), true
	case "glob":
		return w.container(c.at, value{}, join(globbed(c.recv, arg(0, "pattern")), isPath)), true
	case "globbed":
		if _, root := c.arg(9, "root_dir"); root {
			return anything(), true
		}
		return w.container(c.at, value{}, globbed(places(Place{Path: "."}), arg(0, "pathname"))), true
	case "listdir":
		return w.container(c.at, value{}, kinds(kindPart)), true
	case "scandir":
		in := arg(0, "path")
		if len(c.args) == 0 {
			in = places(Place{Path: "."})
		}
		return w.container(c.at, value{}, join(below(in.text(), ""), isPath)), true
	case "walk":
		top := arg(0, "top")
		if c.recv.is("path") {
			top = c.recv
		}
		root := value{}
		for _, p := range top.text().places {
			root.add(places(Place{Path: p.Path, Below: true, Up: true}))
		}
		if root.none() {
			root = anything()
		}
		if c.recv.is("path") {
			root.add(isPath)
		}
		names := w.container(c.at.kids[0].kids0(c.at), value{}, kinds(kindPart))
		return w.pairs(c, root, names, names), true
	case "base":
		return baseOf(arg(0, "p")), true
	case "dirname":
		return parents(arg(0, "p")), true
	case "relative":
		if _, up := c.arg(9, "walk_up"); up {
			return anything(), true
		}
		return join(kinds(kindPart), isPath), true
	case "suffix":
		return join(w.sibling(c.recv, ""), isPath), true
	case "sibling":
		return join(joined(parents(c.recv), arg(0, "name")), isPath), true
	case "splitext":
		return w.pairs(c, w.sibling(arg(0, "p"), ""), anything()), true
	case "rename":
		w.move(c.recv, arg(0, "target"), c.spec.name)
		return join(arg(0, "target").text(), isPath), true
	case "replace":
		// A path has one argument here, a text two.
		if len(c.args) == 1 && c.keys[0] != "*" {
			w.move(c.recv, c.args[0], c.spec.name)
		}
		if slices.Contains(c.keys, "*") || slices.Contains(c.keys, "**") {
			w.unseen("%s", c.spec.name)
		}
		return join(arg(0, "target").text(), isPath), true
	}
	return w.actSpecial(c, arg)
}

// kids0 is another place to make an object at.
func (e *expr) kids0(of *expr) *expr {
	if len(e.kids) > 0 {
		return e.kids[0]
	}
	return e
}

// sibling are paths beside others: another file of the same folder.
func (w *walker) sibling(v value, pattern string) (out value) {
	for _, p := range v.text().places {
		if p.Below {
			out.add(places(Place{Path: p.Path, Below: true}))
			if p.Up {
				out.add(anything())
			}
			continue
		}
		out.add(places(Place{Path: path.Join(p.Path, ".."), Below: true, Pattern: strings.TrimSuffix(path.Base(p.Path), path.Ext(p.Path)) + "*"}))
	}
	if t := v.text(); t.is(kindPart) {
		out.add(kinds(kindPart))
	} else if t.is(kindAny) || t.none() {
		out.add(anything())
	}
	return out
}

// globbed are the files that match patterns below folders.
func globbed(dirs, patterns value) (out value) {
	patterns = patterns.text()
	if len(patterns.kinds) > 0 || patterns.none() {
		return anything()
	}
	for _, p := range patterns.places {
		if p.Below || climbs(p.Path) {
			return anything()
		}
		for _, d := range dirs.text().places {
			folder := d.Path
			if path.IsAbs(p.Path) {
				folder = "/"
			}
			fixed := p.Path
			if at := strings.IndexAny(fixed, "*?["); at >= 0 {
				fixed = fixed[:at]
			}
			if at := strings.LastIndexByte(fixed, '/'); at >= 0 {
				folder = path.Join(folder, fixed[:at])
			}
			out.add(places(Place{Path: folder, Below: true, Pattern: path.Base(p.Path)}))
		}
	}
	if t := dirs.text(); len(t.kinds) > 0 {
		out.add(anything())
	}
	return out
}

// open reads or writes a file, as its mode says.
func (w *walker) open(c call, file value, modeAt int) value {
	if _, given := c.arg(99, "opener"); given {
		w.unseen("%s with an opener", c.spec.name)
	}
	mode, given := c.arg(modeAt, "mode")
	t := mode.text()
	if given && (len(t.kinds) > 0 || len(t.places) == 0) {
		w.unseen("%s in a mode that is not known", c.spec.name)
		w.touch("write", file, c.spec.name)
	}
	if !given {
		w.touch("read", file, c.spec.name)
	}
	for _, m := range t.places {
		w.empties = w.empties || strings.Contains(m.Path, "w")
		if strings.ContainsAny(m.Path, "wax+") {
			w.touch("write", file, c.spec.name)
		}
		if strings.ContainsAny(m.Path, "r+") {
			w.touch("read", file, c.spec.name)
		}
	}
	return kinds("file")
}
