package flow

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

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
			v = places(outcome.Place{Path: "."})
		}
		v = v.text()
		if c.spec.special != "join" {
			v.add(isPath)
		}
		return v, true
	}
	return w.folderSpecial(c, arg)
}

// folderSpecial are the functions that look into folders, and say which file
// belongs to another.
func (w *walker) folderSpecial(c call, arg func(int, string) value) (value, bool) {
	isPath := kinds("path")
	switch c.spec.special {
	case "home":
		return join(places(outcome.Place{Path: "~"}), isPath), true
	case "glob":
		return w.container(c.at, value{}, join(globbed(c.recv, arg(0, "pattern")), isPath)), true
	case "globbed":
		if _, root := c.arg(9, "root_dir"); root {
			return anything(), true
		}
		return w.container(c.at, value{}, globbed(places(outcome.Place{Path: "."}), arg(0, "pathname"))), true
	case "listdir":
		return w.container(c.at, value{}, kinds(kindPart)), true
	case "scandir":
		in := arg(0, "path")
		if len(c.args) == 0 {
			in = places(outcome.Place{Path: "."})
		}
		return w.container(c.at, value{}, join(below(in.text(), ""), isPath)), true
	case "walk":
		top := arg(0, "top")
		if c.recv.is("path") {
			top = c.recv
		}
		root := value{}
		for _, p := range top.text().places {
			root.add(places(outcome.Place{Path: p.Path, Below: true, Up: true}))
		}
		if root.none() {
			root = anything()
		}
		if c.recv.is("path") {
			root.add(isPath)
		}
		names := w.container(inner(c.at.Kids[0]), value{}, kinds(kindPart))
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

// inner is another place to make an object at.
func inner(e *tree.Expr) *tree.Expr {
	if len(e.Kids) > 0 {
		return e.Kids[0]
	}
	return e
}

// sibling are paths beside others: another file of the same folder.
func (w *walker) sibling(v value, pattern string) (out value) {
	for _, p := range v.text().places {
		if p.Below {
			out.add(places(outcome.Place{Path: p.Path, Below: true}))
			if p.Up {
				out.add(anything())
			}
			continue
		}
		out.add(places(outcome.Place{Path: path.Join(p.Path, ".."), Below: true, Pattern: strings.TrimSuffix(path.Base(p.Path), path.Ext(p.Path)) + "*"}))
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
			if at := strings.IndexAny(fixed, "*?[{"); at >= 0 {
				fixed = fixed[:at]
			}
			if at := strings.LastIndexByte(fixed, '/'); at >= 0 {
				folder = path.Join(folder, fixed[:at])
			}
			out.add(places(outcome.Place{Path: folder, Below: true, Pattern: path.Base(p.Path)}))
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
