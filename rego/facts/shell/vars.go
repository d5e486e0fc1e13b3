package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
	"mvdan.cc/sh/v3/syntax"
)

// A Variable is what a shell variable holds. The zero value is unknown.
type Variable struct {
	Values   []string // one, or an array's
	array    bool
	Known    bool
	origin   argv.Origin // where it comes from, if it is not known
	readonly bool
	odd      bool       // declared with an attribute that changes what is assigned
	integer  bool       // whatever is assigned is evaluated as arithmetic
	keyed    bool       // an array whose subscripts are text
	absent   bool       // there was no such variable when a function made it local
	folder   bool       // each value is what Field.Folder says
	part     bool       // no slash stands in it, if it is not known
	within   bool       // each value is one that field.within may stand for
	process  bool       // it is the number that a file holds of a process: see Field
	shape    argv.Field // the word that was assigned, where parts of it are not known
	assumed  []string   // parts of the values that the environment may change: see Field
	elements []element  // of an array of which not all is known
	place    string     // the path of a folder, from the one that the script at hand lies in
}

func (v Variable) same(w Variable) bool {
	return v.Known == w.Known && v.origin == w.origin && v.array == w.array && v.odd == w.odd && v.part == w.part && v.folder == w.folder && v.within == w.within && v.process == w.process && slices.Equal(v.Values, w.Values) && v.shape.Text == w.shape.Text && slices.Equal(v.shape.Dynamic, w.shape.Dynamic) &&
		slices.Equal(v.assumed, w.assumed) && v.place == w.place && slices.EqualFunc(v.elements, w.elements, element.same)
}

// atLeast is where a variable comes from that may hold another value besides.
func (v Variable) atLeast() argv.Origin {
	switch {
	case !v.Known:
		return v.origin
	case !v.array && v.Values[0] != "" && strings.Trim(v.Values[0], "0123456789") == "":
		return argv.OriginAtom
	case !v.array && len(v.assumed) == 0 && plainText.MatchString(v.Values[0]):
		return argv.OriginText
	}
	return argv.OriginAny
}

// plainText means nothing to any program that reads it as code.
var plainText = lazyregexp.New(`^[\w.,:+ -]*$`)

// Set assigns a variable, as far as it can be assigned.
func (s *Shell) Set(name string, v Variable) {
	old := s.Vars[name]
	switch {
	case old.readonly:
		return
	case old.odd || s.refs:
		v = Variable{odd: old.odd, integer: old.integer}
		if v.integer && !s.refs {
			v.origin = argv.OriginAtom
		}
	}
	v.keyed = old.keyed
	s.Vars[name] = v
	if !old.same(v) {
		s.trapsChange(name)
	}
}

// forget makes a variable unknown.
func (s *Shell) forget(name string) {
	name, _, _ = strings.Cut(name, "[")
	old := s.Vars[name]
	v := Variable{odd: old.odd, integer: old.integer, keyed: old.keyed}
	if v.integer && !s.refs {
		v.origin = argv.OriginAtom
	}
	s.Vars[name] = v
	if !old.same(v) {
		s.trapsChange(name)
	}
}

// unkeyed notes that a name may stand for no array with keys of text any more: the subscripts
// of what it stands for from now on are arithmetic.
func (s *Shell) unkeyed(name argv.Field) {
	for k, v := range s.Vars {
		if v.keyed && (k == name.Text || !name.Known() || s.refs) {
			v.keyed = false
			s.Vars[k] = v
		}
	}
}

// forgetAll is for what may change any variable.
func (s *Shell) forgetAll() {
	clear(s.Vars)
	s.Wild, s.args = true, nil
}

// assign performs one assignment and returns it as a field "NAME=value".
func (s *Shell) assign(a *syntax.Assign) argv.Field {
	if a.Name == nil {
		return s.one(a.Value, quoting{})
	}
	name := a.Name.Value
	if a.Index != nil {
		if s.Vars[name].keyed || s.Dash {
			s.nested(a.Index)
		} else {
			s.evaluatedArithmetic(a.Index)
		}
		f := s.plainly(s.one(a.Value, quoting{}))
		old := s.Vars[name]
		if old.integer && s.arithmeticRuns(f) {
			s.unsafe(f.Text)
		}
		s.forget(name)
		if number := f.Known() && f.Text != "" && strings.Trim(f.Text, "0123456789") == ""; old.keyed && !old.Known && old.origin == argv.OriginAtom && !s.refs && !a.Append && (number || f.Origin == argv.OriginAtom && !f.Known()) {
			v := s.Vars[name]
			v.origin = argv.OriginAtom
			s.Vars[name] = v
		}
		return argv.Field{Text: s.written(a), Dynamic: []string{s.written(a)}}
	}
	if a.Array != nil {
		return s.assignArray(a)
	}
	if a.Naked {
		return argv.Field{Text: name}
	}
	f := s.plainly(s.one(a.Value, quoting{}))
	if a.Append {
		s.Found.UnlikeDash = true
		if s.Dash {
			return argv.Field{Text: name + "+=" + f.Text, Dynamic: f.Dynamic}
		}
	}
	old, had := s.Vars[name]
	if old.integer && !s.Quiet && s.arithmeticRuns(f) {
		s.unsafe(s.written(a))
	}
	switch {
	case !f.Known() && !a.Append:
		s.Set(name, Variable{origin: f.Assigned(), shape: f.Shape(), place: s.place(f.Text), part: assignsPart(f), folder: f.Folder, within: f.Within, process: f.Process})
	case !f.Known(), a.Append && (!had || !old.Known || old.array):
		s.forget(name)
	case a.Append:
		s.Set(name, Variable{Values: []string{old.Values[0] + f.Text}, Known: true, assumed: slices.Concat(old.assumed, f.Assumed)})
	default:
		s.Set(name, Variable{Values: []string{f.Text}, Known: true, assumed: f.Assumed})
	}
	f.Text = name + "=" + f.Text
	return f
}

func (s *Shell) assignArray(a *syntax.Assign) argv.Field {
	v := Variable{array: true, Known: true}
	if a.Append {
		old := s.Vars[a.Name.Value]
		v.elements, v.Known = old.listed(), old.array && (old.Known || old.elements != nil)
	}
	for _, e := range a.Array.Elems {
		if e.Index != nil {
			if s.Vars[a.Name.Value].keyed {
				s.nested(e.Index)
			} else {
				s.evaluatedArithmetic(e.Index)
			}
			v.Known = false
		}
		if e.Value == nil {
			continue
		}
		for _, f := range s.fields([]*syntax.Word{e.Value}) {
			s.plainly(f)
			v.elements = append(v.elements, element{Field: f})
		}
	}
	s.Set(a.Name.Value, v.settled())
	text := s.written(a)
	return argv.Field{Text: text, Array: true}
}

// parameter expands $NAME in all its forms, or says that it can't be known.
func (s *Shell) parameter(b *wordBuilder, p *syntax.ParamExp, q quoting) {
	runs := !s.Quiet && s.evaluates(p)
	values, ok := s.paramValues(p)
	if !ok {
		if text, ok := s.byDefault(p); ok {
			s.assume(b, p, text, q)
			return
		}
		s.nested(p)
		if s.listed(b, p, q) {
			return
		}
		if s.shaped(b, p, q) {
			b.cur.Runs = b.cur.Runs || runs
			return
		}
		first := b.text.Len() == 0 && len(b.cur.Dynamic) == 0
		b.dynamic(s.written(p), s.paramOrigin(p), s.namesPart(p), q)
		b.cur.Runs = b.cur.Runs || runs
		b.cur.Folder = first && s.namesFolder(p)
		b.cur.Within = first && s.namesFile(p) && s.splitsAtBlanks()
		b.cur.Process = first && s.Vars[p.Param.Value].process && plainParam(p) && s.splitsAtBlanks()
		return
	}
	defer func() { b.cur.Runs = b.cur.Runs || runs }()
	b.cur.Assumed = append(slices.Clip(b.cur.Assumed), s.assumedOf(p.Param.Value)...)
	if s.arrayDiffers(p) {
		s.differ(b, p, differs, q)
	}
	each := p.Param.Value == "@" || isAll(p.Index, "@")
	switch {
	case q.double && each:
		for i, v := range values {
			if i > 0 {
				b.end()
			}
			b.add(v)
		}
	case q.splits && s.zsh:
		b.whole(values)
	case q.splits && s.splitsAnywhere():
		b.dynamic(s.written(p), argv.OriginAny, false, q)
	case q.splits:
		if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsAny(v, " \t\n*?[") }) || s.Vars["IFS"].Known {
			s.differ(b, p, differsInSplits, q)
		}
		s.splitValues(b, values)
	default:
		b.add(strings.Join(values, " "))
	}
}

// splitsAnywhere reports whether IFS may be anything.
func (s *Shell) splitsAnywhere() bool {
	v, assigned := s.Vars["IFS"]
	return assigned && !v.Known
}

// plainParam reports whether a parameter stands for its value, by $NAME or ${NAME}.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil && p.Flags == nil && len(p.Modifiers) == 0 &&
		p.Index == nil && p.Slice == nil && p.Exp == nil && p.Repl == nil && p.Names == 0
}

// splitsAtBlanks reports whether words are split at nothing but blanks and line ends.
func (s *Shell) splitsAtBlanks() bool {
	v, assigned := s.Vars["IFS"]
	return !assigned || v.Known && !v.array && strings.Trim(v.Values[0], " \t\n") == ""
}

// splitValues adds unquoted values: split at IFS, and open to patterns.
func (s *Shell) splitValues(b *wordBuilder, values []string) {
	ifs := " \t\n"
	if v, ok := s.Vars["IFS"]; ok && v.Known && !v.array {
		ifs = v.Values[0]
	}
	for i, v := range values {
		if i > 0 {
			b.end()
		}
		s.splitAt(b, v, ifs)
	}
}

// splitAt splits a value. Blanks between fields count as one; of other
// characters each ends a field, which may be empty.
func (s *Shell) splitAt(b *wordBuilder, value, ifs string) {
	for rest := value; rest != ""; {
		j := strings.IndexAny(rest, ifs)
		if ifs == "" || j < 0 {
			b.add(rest)
			b.cur.Glob = b.cur.Glob || strings.ContainsAny(rest, "*?[")
			return
		}
		if j > 0 || strings.IndexByte(" \t\n", rest[0]) < 0 {
			b.add(rest[:j])
			b.cur.Glob = b.cur.Glob || strings.ContainsAny(rest[:j], "*?[")
		}
		b.end()
		blank := strings.IndexByte(" \t\n", rest[j]) >= 0
		rest = strings.TrimLeft(rest[j+1:], " \t\n")
		if blank && rest != "" && j > 0 && strings.IndexByte(ifs, rest[0]) >= 0 {
			rest = strings.TrimLeft(rest[1:], " \t\n")
		}
	}
}

func isAll(index syntax.ArithmExpr, which ...string) bool {
	w, ok := index.(*syntax.Word)
	return ok && slices.Contains(which, w.Lit())
}

// paramValues is what a parameter expands to, if that is known here.
func (s *Shell) paramValues(p *syntax.ParamExp) ([]string, bool) {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil || p.Flags != nil ||
		len(p.Modifiers) > 0 || p.Repl != nil || p.Names != 0 {
		return nil, false
	}
	values, ok := s.lookup(p.Param.Value, p.Index)
	if !ok {
		return nil, false
	}
	switch {
	case p.Slice != nil && wordlist.Has("@ *", p.Param.Value):
		from, ok := sliceFrom(p.Slice)
		return values[min(from-1, len(values)):], ok
	case p.Slice != nil:
		return slice(values, p.Slice)
	case p.Exp != nil && s.unsetPositional(p.Param.Value):
		return s.unsetOperator(values, p.Exp)
	case p.Exp != nil:
		return s.operator(values, p.Exp)
	}
	return values, true
}

// Holds is what a parameter may hold, if that is known here.
func (s *Shell) Holds(name string) ([]string, bool) { return s.lookup(name, nil) }

// lookup finds a parameter's values.
func (s *Shell) lookup(name string, index syntax.ArithmExpr) ([]string, bool) {
	switch n, err := strconv.Atoi(name); {
	case name == "@" || name == "*":
		return s.params, s.paramsKnown
	case err == nil && n > 0:
		if f, ok := s.argument(n); ok && f.Known() && !f.Glob {
			return []string{f.Text}, true
		}
		if n <= len(s.params) {
			return s.params[n-1 : n], s.paramsKnown
		}
		return []string{""}, s.paramsKnown
	}
	if s.script != "" && (name == "0" || name == "BASH_SOURCE" && (index == nil || isAll(index, "0"))) {
		return []string{s.script}, true
	}
	v, assigned := s.Vars[name]
	if !assigned {
		return s.ambient(name)
	}
	if !v.Known {
		return nil, false
	}
	switch {
	case index == nil && v.array && len(v.Values) == 0:
		return []string{""}, true
	case index == nil && s.zsh:
		return v.Values, true
	case index == nil:
		return v.Values[:1], true
	case isAll(index, "@", "*"):
		return v.Values, true
	}
	w, ok := index.(*syntax.Word)
	if !ok {
		return nil, false
	}
	i, err := strconv.Atoi(w.Lit())
	if s.zsh && err == nil {
		if i--; i < 0 || i >= len(v.Values) {
			return []string{""}, true
		}
	}
	if err == nil && i >= 0 && i < len(v.Values) {
		return v.Values[i : i+1], true
	}
	return nil, false
}

// arrayDiffers reports whether zsh takes other elements of an array.
func (s *Shell) arrayDiffers(p *syntax.ParamExp) bool {
	v := s.Vars[p.Param.Value]
	return v.array && (p.Index == nil && len(v.Values) != 1 || p.Index != nil && !isAll(p.Index, "@", "*"))
}

// ambient is what variables hold that the text did not assign.
func (s *Shell) ambient(name string) ([]string, bool) {
	switch {
	case s.Wild || s.Remote:
	case name == "IFS":
		return []string{" \t\n"}, true
	case name == "HOME" && s.Found.Opts.Home != "":
		return []string{s.Found.Opts.Home}, true
	case name == "HOME":
		return []string{"~"}, true
	case name == "PWD" && len(s.Dirs) == 1 && path.IsAbs(s.Dirs[0]):
		return s.Dirs, true
	}
	return nil, false
}
