package flow

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// scriptFile are the functions of JavaScript that make paths, open files and
// start programs.
func (w *walker) scriptFile(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "pathJoin":
		v := value{}
		for i, a := range c.args {
			if c.keys[i] != "" {
				return anything(), true
			}
			if i == 0 {
				v = a.text()
				continue
			}
			v = joined(v, unrooted(a.text()))
		}
		return v, true
	case "pathResolve":
		v := places(outcome.Place{Path: "."})
		for i, a := range c.args {
			if c.keys[i] != "" {
				return anything(), true
			}
			v = joined(v, a.text())
		}
		return v, true
	case "basename":
		if len(c.args) > 1 {
			return trimmed(baseOf(arg(0, ""))), true
		}
		return baseOf(arg(0, "")), true
	case "rm":
		w.touch("delete", arg(0, ""), c.spec.name)
		w.effects.Trees = w.effects.Trees || len(c.args) > 1
		w.escape(arg(len(c.args)-1, ""), anything())
		return value{}, true
	case "renames":
		w.move(arg(0, ""), arg(1, ""), c.spec.name)
		w.escape(join(c.args[min(2, len(c.args)):]...), anything())
		return value{}, true
	case "scriptShell":
		w.options(c)
		w.shell(arg(0, ""), c.spec.name)
		w.callback(c, value{fns: arg(len(c.args)-1, "").fns}, anything(), anything(), anything())
		return anything(), true
	case "scriptArgv":
		return w.scriptArgv(c, arg), true
	case "newURL":
		if len(c.args) == 1 {
			return join(arg(0, "").text(), kinds("url")), true
		}
		return join(anything(), kinds("url")), true
	case "websocket", "server", "listen":
		return w.loops(c, arg), true
	case "httpGet":
		w.httpGet(c, arg(0, ""))
		w.escape(value{specs: arg(len(c.args)-1, "").specs}, anything())
		w.callback(c, value{fns: arg(len(c.args)-1, "").fns}, kinds("incoming"))
		return kinds("incoming"), true
	}
	if v, ok := w.scriptFolder(c, arg); ok {
		return v, true
	}
	return w.scriptStream(c, arg)
}

// scriptFolder are the functions that look into folders.
func (w *walker) scriptFolder(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "readdir":
		w.options(c)
		w.touch("read", below(arg(0, "").text(), ""), c.spec.name)
		entry := kinds(kindPart)
		for _, o := range arg(1, "").objs {
			if o.attrs["withFileTypes"] != nil {
				entry = kinds("dirent")
			}
		}
		list := w.container(c.at, value{}, entry)
		if last := arg(len(c.args)-1, ""); len(last.fns)+len(last.specs) > 0 {
			w.callback(c, last, value{}, list)
		}
		return list, true
	case "glob": // the files that a pattern names
		for _, o := range arg(1, "").objs {
			for _, name := range slices.Sorted(maps.Keys(o.attrs)) {
				if !slices.Contains([]string{"exclude", "nodir", "ignore", "absolute", "onlyFiles"}, name) {
					w.unseen("%s with %s", c.spec.name, name)
				}
			}
		}
		patterns := arg(0, "")
		if len(patterns.objs) > 0 {
			patterns = w.elements(patterns, false)
			patterns.places = slices.DeleteFunc(slices.Clone(patterns.places), func(p outcome.Place) bool { return strings.HasPrefix(p.Path, "!") })
		}
		list := w.container(c.at, value{}, globbed(places(outcome.Place{Path: "."}), patterns))
		w.callback(c, value{fns: arg(len(c.args)-1, "").fns}, value{}, list)
		return list, true
	case "denoDir":
		w.touch("read", below(arg(0, "").text(), ""), c.spec.name)
		return w.container(c.at, value{}, kinds("dirent")), true
	}
	return value{}, false
}

// scriptStream are the functions that open files and write to what is open.
func (w *walker) scriptStream(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "openFile":
		w.opened(c, arg(0, ""))
		w.callback(c, value{fns: arg(len(c.args)-1, "").fns}, value{}, kinds(kindNumber))
		return kinds("filehandle", kindNumber), true
	case "writeStream":
		w.options(c)
		w.empties = true
		w.touch("write", arg(0, ""), c.spec.name)
		return kinds("stream"), true
	case "openStream":
		w.options(c)
		w.touch("read", arg(0, ""), c.spec.name)
		return kinds("stream"), true
	case "pipe":
		w.fills = true
		w.escape(arg(0, ""), anything())
		return arg(0, ""), true
	case "end", "fills":
		w.fills = true
		w.escape(join(c.args...), anything())
		return anything(), true
	case "bufferFrom": // its bytes are data, whatever they are made of
		w.escape(arg(0, ""), anything())
		return anything(), true
	case "bunFile":
		w.touch("read", arg(0, ""), c.spec.name)
		return kinds("bunfile"), true
	}
	return value{}, false
}

// loops are what talks, or listens, to the machine itself.
func (w *walker) loops(c call, arg func(int, string) value) value {
	local := []string{"127.0.0.1", "localhost", "::1"}
	switch c.spec.special {
	case "websocket": // judged as a request that sends something to there
		to := arg(0, "")
		if t := to.text(); len(t.kinds) > 0 || t.none() || len(c.args) > 1 {
			w.unseen("%s: an address that is not known", c.spec.name)
		}
		for _, p := range to.places {
			if m := socketAddress.FindStringSubmatch(p.Path); p.Below || m == nil {
				w.unseen("%s: an address that is not known", c.spec.name)
			} else {
				w.command(c, []string{"curl", "-s", "-X", "POST", "-d", "x", "http://" + m[1]})
			}
		}
		return kinds("websocket")
	case "server":
		w.escape(value{specs: arg(len(c.args)-1, "").specs}, anything())
		w.callback(c, value{fns: arg(len(c.args)-1, "").fns}, kinds("incoming"), kinds("outgoing"))
		if len(c.args) > 1 {
			w.unseen("%s with options that are not known", c.spec.name)
		}
		return kinds("server")
	}
	host := arg(1, "")
	for _, o := range arg(0, "").objs {
		if h := o.attrs["host"]; h != nil && !o.open {
			host = *h
		}
	}
	host.fns = nil
	if len(host.places) == 0 || !host.text().knownAmong(local) {
		w.unseen("%s: an address that is not known", c.spec.name)
	}
	for _, a := range c.args {
		w.escape(value{specs: a.specs, kinds: a.kinds}, anything())
		w.callback(c, value{fns: a.fns})
	}
	return c.recv
}

// socketAddress is one of the machine itself.
var socketAddress = lazyregexp.New(`^ws://((?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?(?:/[\w./?=&-]*)?)$`)

// knownAmong reports whether a text is one of those, whichever.
func (v value) knownAmong(list []string) bool {
	return len(v.kinds) == 0 && !slices.ContainsFunc(v.places, func(p outcome.Place) bool { return p.Below || !slices.Contains(list, p.Path) })
}

// httpGet notes a request by its address, or by the parts of one in an object.
func (w *walker) httpGet(c call, to value) {
	if second, given := c.arg(1, ""); given {
		w.optionsOf(c, second, []string{"headers", "timeout"})
	}
	address := value{places: to.places, kinds: to.kinds}
	for _, o := range to.objs {
		parts := map[string]string{"hostname": "", "host": "localhost", "port": "", "path": "/"}
		for _, name := range slices.Sorted(maps.Keys(o.attrs)) {
			t := o.attrs[name].text()
			if _, known := parts[name]; known && len(t.kinds) == 0 && len(t.places) == 1 && !t.places[0].Below {
				parts[name] = t.places[0].Path
			} else if name != "headers" && name != "timeout" && (name != "port" || !o.attrs[name].is(kindNumber)) {
				w.unseen("%s with %s", c.spec.name, name)
			}
		}
		host := parts["host"]
		if parts["hostname"] != "" {
			host = parts["hostname"]
		}
		if o.open || o.class != nil || strings.ContainsAny(host+parts["path"], "@?# \\") || strings.ContainsAny(host, "/:") {
			w.unseen("%s: an address that is not known", c.spec.name)
		}
		address.add(places(outcome.Place{Path: "http://" + host + "/" + strings.TrimLeft(parts["path"], "/")}))
	}
	if t := address.text(); len(t.kinds) > 0 || t.none() {
		w.unseen("%s: an address that is not known", c.spec.name)
	}
	for _, p := range address.places {
		if p.Below || strings.HasPrefix(p.Path, "-") || p.Path == "" {
			w.unseen("%s: an address that is not known", c.spec.name)
			continue
		}
		w.command(c, []string{"curl", "-s", p.Path})
	}
}

// opened notes a file that is opened, to be read or written as its flags say.
func (w *walker) opened(c call, file value) {
	flags, given := c.arg(1, "")
	t := flags.text()
	what := "read"
	if given && (len(t.kinds) > 0 || len(t.places) == 0) {
		what, w.empties = "write", true
	}
	for _, p := range t.places {
		if p.Path != "r" && p.Path != "rs" {
			what = "write"
		}
		w.empties = w.empties || strings.HasPrefix(p.Path, "w")
	}
	w.touch(what, file, c.spec.name)
}

// scriptArgv notes a program that is started with a list of arguments.
func (w *walker) scriptArgv(c call, arg func(int, string) value) value {
	w.options(c)
	file, list := arg(0, ""), arg(1, "")
	o := &object{tuple: []value{file}}
	for _, args := range list.objs {
		o.changed = o.changed || args.changed || args.open || len(args.attrs) > 0 || len(args.tuple) == 0 && !args.elem.none()
		o.tuple = append(o.tuple, args.tuple...)
	}
	if len(c.args) > 1 && (len(list.objs) != 1 || len(list.kinds)+len(list.places) > 0) {
		o.changed = true
	}
	inner := c
	inner.keys = []string{""}
	inner.args = []value{{objs: []*object{o}}}
	w.argv(inner, inner.args[0])
	w.callback(c, value{fns: arg(len(c.args)-1, "").fns}, anything(), anything(), anything())
	return anything()
}

// unrooted are paths as path.join takes them behind a folder: one that begins
// with a slash, or a tilde, is below the folder too.
func unrooted(v value) (out value) {
	out.kinds = v.kinds
	for _, p := range v.places {
		if strings.HasPrefix(p.Path, "~") {
			return anything()
		}
		if p.Path = strings.TrimLeft(p.Path, "/"); p.Path == "" {
			p.Path = "."
		}
		out.places = append(out.places, p)
	}
	return out
}

// trimmed are names that lost their extension.
func trimmed(v value) (out value) {
	for _, p := range v.places {
		if name := strings.TrimSuffix(p.Path, path.Ext(p.Path)); p.Below || strings.Trim(name, ".") == "" {
			return anything()
		}
		out.add(kinds(kindPart))
	}
	if v.is(kindPart) || v.is(kindAny) { // ".." may be left of a name
		out.add(anything())
	}
	return out
}
