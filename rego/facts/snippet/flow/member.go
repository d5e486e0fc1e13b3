package flow

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// harmlessDunders are the names with underscores that say something and lead
// nowhere.
var harmlessDunders = strings.Fields("__name__ __qualname__ __doc__ __version__ __file__ __len__ __notes__")

// attribute is what a value has under a name.
func (w *walker) attribute(v value, name string) (out value) {
	if w.table.script {
		return w.property(v, name)
	}
	if strings.HasPrefix(name, "__") && (name != "__init__" || !v.is("super")) {
		switch {
		case name == "__cause__", name == "__context__":
			return join(anything(), w.thrown())
		case name == "__traceback__" && !v.none():
			return kinds("frames")
		case name == "__class__":
			return w.classOf(v)
		case slices.Contains(harmlessDunders, name):
			return anything()
		}
		w.unseen(".%s", name)
		return kinds(kindUnseen)
	}
	known := false
	if len(v.specs) > 0 && v.specs[0] == w.table.types["datum"]["*"] { // an attribute of data is data, too
		v = join(v, anything())
	}
	for _, o := range v.objs {
		known = w.ofObject(o, name, &out) || known
	}
	for _, f := range v.fns {
		known = w.ofClass(f, name, &out) || known
	}
	for _, s := range v.specs {
		known = w.inSection(w.table.modules[s.name], name, v, &out) || known
	}
	if len(v.objs)+len(v.places) > 0 || v.is(kindAny) || v.is(kindPart) || v.is(kindSelect) {
		known = w.inSection(w.table.types["data"], name, v, &out) || known
	}
	for _, k := range v.kinds {
		switch {
		case k == kindAny, k == kindPart, k == kindSelect:
		case k == "args": // of argparse: what a program was asked for
			out.add(anything())
			known = true
		case k == kindUnseen:
			out.add(kinds(kindUnseen))
			w.unseen(".%s of what is not known", name)
			known = true
		case k == kindProject:
			out.add(kinds(kindProject))
			known = w.inSection(w.table.types["data"], name, v, new(value)) || !outcome.Acts(name)
		case strings.HasPrefix(k, kindModule):
			// A module lists what it has: the rest is not known.
			if module := k[len(kindModule):]; !w.submodule(module, name, &out) && !w.inSection(w.table.modules[module], name, v, &out) {
				w.unseen("%s.%s", module, name)
			}
			known = true
		default:
			known = w.inSection(w.table.types[k], name, v, &out) || known
		}
	}
	if !known && v.plainData() && !outcome.Acts(name) && !slices.Contains(starReach, name) {
		return value{specs: []*spec{w.table.types["datum"]["*"]}} // texts and numbers can do no more than compute
	}
	if !known && !v.none() {
		w.unseen(".%s", name)
		return join(out, kinds(kindUnseen))
	}
	return out
}

func (w *walker) submodule(module, name string, out *value) bool {
	if w.table.modules[module+"."+name] == nil || w.table.modules[module][name] != nil {
		return false
	}
	out.add(kinds(kindModule + module + "." + name))
	return true
}

// starReach are names by which a library that computes would lead out of itself.
var starReach = strings.Fields("os sys subprocess builtins importlib imp shutil ctypes ctypeslib socket urllib http requests pickle io core lib f2py distutils pathlib tempfile platform inspect runpy code multiprocessing threading asyncio signal eval exec system popen open compile func_globals gi_frame style_sheet_url " +
	"_os _sys __globals__ mod module modules loads warnings site webbrowser entry_points read_text read_bytes locate_file tb_frame tb_next f_globals f_locals f_builtins f_back f_code gi_code cr_frame cr_code ag_frame ag_code")

// starParts are parts of names by which such a library reads, writes, loads or starts
// something: what does has a row of its own, or is not known.
var starParts = strings.Fields("load read fetch open exec run pickle print option config home subprocess urlretrieve urlopen plugin plugins register write save dump storage path options params")

// leadsOut reports whether a name of a section that takes all names alike leads out of
// the library.
func (w *walker) leadsOut(name string) bool {
	if w.table.script {
		return slices.Contains(starReach, name)
	}
	if strings.HasPrefix(name, "_") || slices.Contains(starReach, name) {
		return true
	}
	return slices.ContainsFunc(strings.Split(strings.ToLower(name), "_"), func(part string) bool { return slices.Contains(starParts, part) }) ||
		strings.HasPrefix(name, "from_file") || slices.Contains(strings.Fields("rcParams pydoc cbook texmanager docscrape joblib webbrowser pdb marshal shelve dill cloudpickle glob sqlite3 fromfile memmap show_versions view_pygraphviz"), name)
}

// inSection adds what a module or a type has under a name.
func (w *walker) inSection(section map[string]*spec, name string, recv value, out *value) bool {
	s := section[name]
	if s == nil && !w.leadsOut(name) && section["*"] != nil {
		s = section["*"] // all that it has is alike
		if isModule := slices.ContainsFunc(recv.kinds, func(k string) bool { return strings.HasPrefix(k, kindModule) }); isModule && s.result == "frame" && unicode.IsLower(rune(name[0])) {
			out.add(kinds("libname"))
			return true
		} else if !isModule && strings.HasPrefix(name, "to_") {
			return false
		}
	}
	if s == nil {
		return false
	}
	out.add(w.member(s, recv))
	return true
}

// member is a name of a table as a value.
func (w *walker) member(s *spec, recv value) value {
	if s.call {
		return value{specs: []*spec{s}}
	}
	return w.result(s, call{spec: s, recv: recv})
}

// ofObject adds what an object of the program's has under a name.
func (w *walker) ofObject(o *object, name string, out *value) bool {
	v := o.attrs[name]
	if v != nil {
		out.add(*v)
	}
	if name == "args" && o.class != nil && !w.table.script { // of an error
		out.add(w.container(o.class.def, value{}, o.elem))
	}
	return o.class != nil && w.ofClass(o.class, name, out) || v != nil
}

// ofClass adds what a class of the program has under a name: its functions,
// the variables of its body, and what its bases have.
func (w *walker) ofClass(c *function, name string, out *value) (known bool) {
	if c.def.Op != tree.OpClass {
		return false
	}
	if v := w.vars[name]; v != nil && (c.own[wayGet+name] != nil || c.own[name] != nil) { // or what the class gives that name to
		out.add(value{specs: v.specs, fns: slices.DeleteFunc(slices.Clone(v.fns), func(f *function) bool { return f.def.Text != "" })})
	}
	if f := c.own[wayGet+name]; f != nil {
		out.add(w.invoke(f, call{recv: w.itself(f)}))
		return true
	}
	if f := c.own[name]; f != nil {
		out.add(value{fns: []*function{f}})
		if v := w.vars[name]; f.decorated && v != nil { // what its decorator made of it
			out.add(*v)
		}
		return true
	}
	if v := w.vars[name]; v != nil {
		out.add(*v)
		known = true
	}
	for _, base := range c.def.Kids[:len(c.def.Keys)] {
		b := w.eval(base)
		for _, f := range b.fns {
			known = w.ofClass(f, name, out) || known
		}
		for _, s := range b.specs {
			known = w.inSection(w.table.types[s.result], name, b, out) || known
		}
	}
	return known
}

// define is a function of the program.
func (w *walker) define(e *tree.Expr) value {
	f := w.fns[e]
	before := w.current
	w.current = f
	for _, k := range e.Kids {
		w.eval(k)
	}
	w.current = before
	v := value{fns: []*function{f}}
	if e.Text != "" {
		w.grow(w.vars[e.Text], v)
	}
	return v
}

// defineClass is a class of the program.
func (w *walker) defineClass(e *tree.Expr) value {
	c := w.fns[e]
	if c.own == nil {
		c.own = make(map[string]*function)
		for _, k := range e.Kids[len(e.Keys):] {
			w.methods(c, k, false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.own)) {
		w.ownDunder(c.own[name].def.Text)
	}
	for _, base := range w.all(e.Kids[:len(e.Keys)]) {
		base.kinds = slices.DeleteFunc(slices.Clone(base.kinds), func(k string) bool { return k == kindModule+"events" })
		if len(base.kinds)+len(base.places)+len(base.objs) > 0 {
			w.unseen("a class of what is not known")
		}
		for _, f := range base.fns {
			if f.def.Op == tree.OpClass && f != c {
				c.bases, _ = union(c.bases, []*function{f}, false)
				w.stands(c, f)
			}
		}
		for _, s := range base.specs {
			w.standsOn(c, s)
		}
	}
	for _, k := range e.Kids[len(e.Keys):] {
		w.eval(k)
	}
	v := value{fns: []*function{c}}
	if e.Text != "" {
		w.grow(w.vars[e.Text], v)
	}
	return v
}

// plainDunders are methods which the language calls by itself, and which are followed, or
// whose results are taken for data alone.
var plainDunders = append(strings.Fields("__init__ __post_init__ __str__ __repr__ __hash__ __len__ __bool__ __int__ __float__ __iter__ __next__ __getitem__ __enter__ __exit__ __call__"), operators...)

// ownDunder notes a method that gives syntax a meaning of the program's own.
func (w *walker) ownDunder(name string) {
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") && !slices.Contains(plainDunders, name) {
		w.unseen("a class with a %s of its own", name)
	}
}

// instance is an object of a class of the program.
func (w *walker) instance(c *function) value {
	o := w.object(c.def)
	o.class = c
	return value{objs: []*object{o}}
}

// imports binds what a module has.
func (w *walker) imports(e *tree.Expr) (out value) {
	for _, key := range e.Keys {
		member, _, _ := strings.Cut(key, " as ")
		v := w.module(e.Text)
		switch {
		case member != "":
			v = w.attribute(v, member)
		case !strings.Contains(key, " as ") && strings.Contains(e.Text, "."):
			// "import a.b" binds a.
			v = join(w.module(e.Text[:strings.IndexByte(e.Text, '.')]))
		}
		w.grow(w.vars[imported(e.Text, key)], v)
		out.add(v)
	}
	return out
}

// module is one by its name: of the table, or else of the project.
func (w *walker) module(name string) value {
	if w.table.script {
		return w.required(name)
	}
	if w.table.modules[name] != nil {
		return kinds(kindModule + name)
	}
	first, _, _ := strings.Cut(name, ".")
	if w.table.modules[first] != nil || w.table.modules["!"][first] != nil || strings.HasPrefix(first, "_") {
		w.unseen("the module %s", name)
		return kinds(kindUnseen)
	}
	if w.last && !slices.Contains(w.effects.Project, name) {
		w.effects.Project = append(w.effects.Project, name)
	}
	return kinds(kindProject)
}

// enter is what "with" binds.
func (w *walker) enter(v value) (out value) {
	for _, o := range v.objs {
		if o.class == nil {
			continue
		}
		own := value{objs: []*object{o}}
		made, has := w.asks(own, "__enter__")
		w.asks(own, "__exit__", anything(), anything(), anything())
		if !has {
			w.unseen("a context manager of the program's own")
		}
		out.add(made)
	}
	for _, k := range v.kinds {
		if s := w.table.types[k]["with"]; s != nil {
			out.add(w.result(s, call{spec: s, recv: v}))
		} else {
			out.add(kinds(k))
		}
	}
	out.add(value{places: v.places, objs: v.objs})
	return out
}

// named is what getattr finds, by a name that is known.
func (w *walker) named(e *tree.Expr) (out value) {
	args := w.all(e.Kids[1:])
	name := args[1].text()
	if len(name.kinds) > 0 || len(args) > 3 || strings.Join(e.Keys, "") != "" {
		w.unseen("getattr")
		return kinds(kindUnseen)
	}
	for _, p := range name.places {
		if p.Below {
			w.unseen("getattr")
			return kinds(kindUnseen)
		}
		if out.add(w.attribute(args[0], p.Path)); len(args) == 3 {
			out.add(args[2])
		}
	}
	return out
}
