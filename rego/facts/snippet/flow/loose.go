package flow

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// Libraries that compute have more names than a table can hold, so what is taken from
// them is judged by what it is asked for.

// reachKeys are arguments by which a function of such a library reads, writes, loads or
// starts something.
var reachKeys = strings.Fields("backend engine renderer memory storage_options data_home cache cachedir cache_dir filename file fname fp buf dir directory folder url uri plugin plugins module library lib " +
	"loader opener preamble usetex filesystem con connection dsn executable command")

// plainEngines are what the library itself has under such a name.
var plainEngines = strings.Fields("c python pyarrow openpyxl xlsxwriter calamine odf xlrd fastparquet numexpr kaleido matplotlib plotly auto loky threading sequential")

// looseArgs judges the arguments of a function that a library has, and no row of a table.
func (w *walker) looseArgs(c call) {
	for i, a := range c.args {
		k := c.keys[i]
		if k == "rc" {
			w.option(w.optionNames(a))
		}
		named := slices.ContainsFunc(c.spec.effects, func(e effect) bool { return e.key == k })
		if slices.Contains(reachKeys, k) && !named && (k == "usetex" || !ownEngine(a)) {
			w.unseen("%s with %s", c.spec.name, k)
		}
		for _, p := range a.text().places {
			if address.MatchString(p.Path) {
				w.unseen("%s of %s", c.spec.name, p.Path)
			}
		}
	}
}

var address = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)

// ownEngine reports whether a value is a number, None, a file that is open, or a part of
// the library itself.
func ownEngine(v value) bool {
	return len(v.objs)+len(v.fns)+len(v.specs) == 0 &&
		!slices.ContainsFunc(v.kinds, func(k string) bool { return k != kindPart && k != "file" }) &&
		!slices.ContainsFunc(v.places, func(p outcome.Place) bool { return p.Below || !slices.Contains(plainEngines, p.Path) })
}

// looseSpecial are functions of these libraries that do more where they are told to.
func (w *walker) looseSpecial(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "option": // of pandas: names and values in turn
		for i, a := range c.args {
			switch {
			case c.keys[i] != "" && c.keys[i] != "pat":
				w.unseen("%s with %s", c.spec.name, c.keys[i])
			case len(a.objs) > 0:
				w.option(w.optionNames(a))
			case i%2 == 0:
				w.option(a)
			}
		}
		return kinds("frame"), true
	case "rcgroup":
		group := arg(0, "group").text()
		for _, p := range group.places {
			w.option(places(outcome.Place{Path: p.Path + ".x"}))
		}
		if group.none() || len(group.kinds) > 0 || slices.Contains(c.keys, "**") {
			w.unseen("%s of what is not known", c.spec.name)
		}
		w.looseArgs(c)
		return value{}, true
	case "schema":
		at := 0
		if strings.HasSuffix(c.spec.name, ".validate") {
			at = 1
		}
		if v, given := c.arg(at, "schema"); given && w.fetches(v, 0) {
			w.unseen("%s of a schema that may name others", c.spec.name)
		}
		return kinds("validator"), true
	case "format":
		w.formats(c)
		if selects(c.recv) {
			return kinds(kindSelect), true
		}
		return anything(), true
	}
	return value{}, false
}

// optionName is an option of pandas or matplotlib that says how things are shown. pandas
// takes it for a regular expression.
var optionName = lazyregexp.New(`^(display|mode|styler|future)\.[a-z_.]+$|^max_(rows|columns|colwidth)$|^(figure|font|axes|axes3d|xtick|ytick|legend|lines|grid|patch|image|hist|boxplot|scatter|date|contour|errorbar|savefig|polar|markers|mathtext)\.[A-Za-z_.]+$|^text\.(color|x)$|^(pdf|ps|svg)\.fonttype$`)

// option notes an option that does more than say how things are shown.
func (w *walker) option(name value) {
	t := name.text()
	if t.none() || len(t.kinds) > 0 {
		w.unseen("an option that is not known")
	}
	for _, p := range t.places {
		if p.Below || !optionName.MatchString(p.Path) {
			w.unseen("the option %s", p.Path)
		}
	}
}

// optionNames are the keys of a dict.
func (w *walker) optionNames(v value) (names value) {
	for _, o := range v.objs {
		names.add(o.key)
	}
	if len(v.kinds)+len(v.places) > 0 {
		names.add(anything())
	}
	return names
}

// fetches reports whether a JSON schema may refer to another, which is fetched from where
// its name says.
func (w *walker) fetches(v value, depth int) bool {
	if v.is(kindAny) || v.is(kindUnseen) || v.is(kindProject) || depth > 20 {
		return true
	}
	for _, o := range v.objs {
		keys := o.key.text()
		refers := len(keys.kinds) > 0 || slices.ContainsFunc(keys.places, func(p outcome.Place) bool {
			return p.Below || strings.HasSuffix(strings.ToLower(p.Path), "ref")
		})
		if refers && slices.ContainsFunc(o.elem.places, func(p outcome.Place) bool { return !strings.HasPrefix(p.Path, "#") }) {
			return true
		}
		if w.fetches(o.elem, depth+1) || slices.ContainsFunc(o.tuple, func(t value) bool { return w.fetches(t, depth+1) }) {
			return true
		}
	}
	return false
}

// formatReach is a text that format takes more from its arguments by than what is plain.
var formatReach = lazyregexp.New(`[.\[]_|[.\[](environ|modules|os|sys)\b`)

// formats judges a text that arguments are put into: it may name what they have.
func (w *walker) formats(c call) {
	t := c.recv.text()
	if slices.ContainsFunc(t.places, func(p outcome.Place) bool { return formatReach.MatchString(p.Path) }) {
		w.unseen("%s of what is not plain", c.spec.name)
	}
	for _, a := range c.args {
		w.escape(a, anything())
		if own := slices.ContainsFunc(a.objs, func(o *object) bool { return o.class != nil }); len(t.kinds) > 0 && (own || len(a.fns)+len(a.specs) > 0) {
			w.unseen("%s of a text that is not known", c.spec.name)
		}
	}
}

// namesUnknown reports whether an argument is a method by a name that is not known.
func namesUnknown(c call, i int) bool {
	k := c.keys[i]
	if strings.HasSuffix(c.spec.name, "map") {
		return false
	}
	a := c.args[i]
	switch {
	case k == "" && i == 0 || k == "func":
		return unknown(a, 0)
	case k != "" && strings.Contains(c.spec.name, "agg"): // total=("price", "sum")
		for _, o := range a.objs {
			if o.changed && unknown(o.elem, 0) || slices.ContainsFunc(o.tuple[min(1, len(o.tuple)):], func(t value) bool { return unknown(t, 0) }) {
				return true
			}
		}
	}
	return k == "*" || k == "**"
}

// unknown reports whether a value, or what it holds, may be any text.
func unknown(v value, depth int) bool {
	if v.is(kindAny) || v.is(kindUnseen) || depth > 5 {
		return true
	}
	return slices.ContainsFunc(v.objs, func(o *object) bool { return o.class == nil && unknown(o.elem, depth+1) })
}

// namesAct reports whether a value may be the name of a method that does more than
// compute.
func (w *walker) namesAct(v value) bool {
	for _, p := range v.places {
		if strings.HasPrefix(p.Path, "to_") || strings.HasPrefix(p.Path, "_") || strings.Contains(p.Path, ":") || slices.Contains([]string{"eval", "query", "pipe", "exec", "dump", "tofile", "save"}, p.Path) {
			return true
		}
	}
	for _, o := range v.objs {
		if o.class == nil && slices.ContainsFunc(append(slices.Clone(o.tuple), o.elem), w.namesAct) {
			return true
		}
	}
	return v.is(kindUnseen)
}
