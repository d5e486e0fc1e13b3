package facts

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A variable is what a shell variable holds. The zero value is unknown.
type variable struct {
	values   []string // one, or an array's
	array    bool
	known    bool
	origin   origin // where it comes from, if it is not known
	readonly bool
	odd      bool  // declared with an attribute that changes what is assigned
	integer  bool  // whatever is assigned is evaluated as arithmetic
	keyed    bool  // an array whose subscripts are text
	within   bool  // each value is one that field.within may stand for
	shape    field // the word that was assigned, where parts of it are not known
}

func (v variable) same(w variable) bool {
	return v.known == w.known && v.origin == w.origin && v.array == w.array && v.odd == w.odd && v.within == w.within && slices.Equal(v.values, w.values) && v.shape.text == w.shape.text && slices.Equal(v.shape.dynamic, w.shape.dynamic)
}

// atLeast is where a variable comes from that may hold another value besides.
func (v variable) atLeast() origin {
	switch {
	case !v.known:
		return v.origin
	case !v.array && v.values[0] != "" && strings.Trim(v.values[0], "0123456789") == "":
		return originAtom
	}
	return originAny
}

// set assigns a variable, as far as it can be assigned.
func (s *shell) set(name string, v variable) {
	old := s.vars[name]
	switch {
	case old.readonly:
		return
	case old.odd || s.refs:
		v = variable{odd: old.odd, integer: old.integer}
		if v.integer && !s.refs {
			v.origin = originAtom
		}
	}
	v.keyed = old.keyed
	s.vars[name] = v
	if !old.same(v) {
		s.trapsChange(name)
	}
}

// forget makes a variable unknown.
func (s *shell) forget(name string) {
	name, _, _ = strings.Cut(name, "[")
	old := s.vars[name]
	v := variable{odd: old.odd, integer: old.integer, keyed: old.keyed}
	if v.integer && !s.refs {
		v.origin = originAtom
	}
	s.vars[name] = v
	if !old.same(v) {
		s.trapsChange(name)
	}
}

// forgetAll is for what may change any variable.
func (s *shell) forgetAll() {
	clear(s.vars)
	s.wild, s.args = true, nil
}

// assigned is where the value of a variable comes from that is assigned a word.
// The number of a process is one only by itself.
func (f field) assigned() origin {
	rest := f.text
	for _, d := range f.dynamic {
		rest = strings.Replace(rest, d, "", 1)
	}
	if f.origin == originOwn && strings.TrimSpace(rest) != "" {
		return originAny
	}
	return f.origin
}

// assign performs one assignment and returns it as a field "NAME=value".
func (s *shell) assign(a *syntax.Assign) field {
	if a.Name == nil {
		return s.one(a.Value, quoting{})
	}
	name := a.Name.Value
	if a.Index != nil {
		if s.vars[name].keyed || s.dash {
			s.nested(a.Index)
		} else {
			s.evaluatedArithmetic(a.Index)
		}
		f := s.plainly(s.one(a.Value, quoting{}))
		old := s.vars[name]
		s.forget(name)
		if number := f.known() && f.text != "" && strings.Trim(f.text, "0123456789") == ""; old.keyed && !old.known && old.origin == originAtom && !s.refs && !a.Append && (number || f.origin == originAtom && !f.known()) {
			v := s.vars[name]
			v.origin = originAtom
			s.vars[name] = v
		}
		return field{text: s.written(a), dynamic: []string{s.written(a)}}
	}
	if a.Array != nil {
		return s.assignArray(a)
	}
	if a.Naked {
		return field{text: name}
	}
	f := s.plainly(s.one(a.Value, quoting{}))
	if a.Append {
		s.x.UnlikeDash = true
		if s.dash {
			return field{text: name + "+=" + f.text, dynamic: f.dynamic}
		}
	}
	old, had := s.vars[name]
	if old.integer && !s.quiet && s.arithmeticRuns(f) {
		s.unsafe(s.written(a))
	}
	switch {
	case !f.known() && !a.Append:
		s.set(name, variable{origin: f.assigned(), shape: f.shape()})
	case !f.known(), a.Append && (!had || !old.known || old.array):
		s.forget(name)
	case a.Append:
		s.set(name, variable{values: []string{old.values[0] + f.text}, known: true})
	default:
		s.set(name, variable{values: []string{f.text}, known: true})
	}
	f.text = name + "=" + f.text
	return f
}

func (s *shell) assignArray(a *syntax.Assign) field {
	v := variable{array: true, known: !a.Append}
	for _, e := range a.Array.Elems {
		if e.Index != nil {
			if s.vars[a.Name.Value].keyed {
				s.nested(e.Index)
			} else {
				s.evaluatedArithmetic(e.Index)
			}
			v.known = false
		}
		if e.Value == nil {
			continue
		}
		for _, f := range s.fields([]*syntax.Word{e.Value}) {
			s.plainly(f)
			v.values = append(v.values, f.text)
			v.known = v.known && f.known()
		}
	}
	if !v.known {
		v = variable{}
	}
	s.set(a.Name.Value, v)
	text := s.written(a)
	return field{text: text, array: true}
}

// parameter expands $NAME in all its forms, or says that it can't be known.
func (s *shell) parameter(b *wordBuilder, p *syntax.ParamExp, q quoting) {
	runs := !s.quiet && s.evaluates(p)
	values, ok := s.paramValues(p)
	if !ok {
		s.nested(p)
		if s.shaped(b, p, q) {
			b.cur.runs = b.cur.runs || runs
			return
		}
		first := b.text.Len() == 0 && len(b.cur.dynamic) == 0
		b.dynamic(s.written(p), s.paramOrigin(p), q)
		b.cur.runs = b.cur.runs || runs
		b.cur.within = first && s.namesFile(p)
		return
	}
	defer func() { b.cur.runs = b.cur.runs || runs }()
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
		b.dynamic(s.written(p), originAny, q)
	case q.splits:
		if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsAny(v, " \t\n*?[") }) || s.vars["IFS"].known {
			s.differ(b, p, differsInSplits, q)
		}
		s.splitValues(b, values)
	default:
		b.add(strings.Join(values, " "))
	}
}

// splitsAnywhere reports whether IFS may be anything.
func (s *shell) splitsAnywhere() bool {
	v, assigned := s.vars["IFS"]
	return assigned && !v.known
}

// splitValues adds unquoted values: split at IFS, and open to patterns.
func (s *shell) splitValues(b *wordBuilder, values []string) {
	ifs := " \t\n"
	if v, ok := s.vars["IFS"]; ok && v.known && !v.array {
		ifs = v.values[0]
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
func (s *shell) splitAt(b *wordBuilder, value, ifs string) {
	for rest := value; rest != ""; {
		j := strings.IndexAny(rest, ifs)
		if ifs == "" || j < 0 {
			b.add(rest)
			b.cur.glob = b.cur.glob || strings.ContainsAny(rest, "*?[")
			return
		}
		if j > 0 || strings.IndexByte(" \t\n", rest[0]) < 0 {
			b.add(rest[:j])
			b.cur.glob = b.cur.glob || strings.ContainsAny(rest[:j], "*?[")
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
func (s *shell) paramValues(p *syntax.ParamExp) ([]string, bool) {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil || p.Flags != nil ||
		len(p.Modifiers) > 0 || p.Repl != nil || p.Names != 0 {
		return nil, false
	}
	values, ok := s.lookup(p.Param.Value, p.Index)
	if !ok {
		return nil, false
	}
	switch {
	case p.Slice != nil:
		return slice(values, p.Slice)
	case p.Exp != nil && s.unsetPositional(p.Param.Value):
		return s.unsetOperator(values, p.Exp)
	case p.Exp != nil:
		return s.operator(values, p.Exp)
	}
	return values, true
}

// lookup finds a parameter's values.
func (s *shell) lookup(name string, index syntax.ArithmExpr) ([]string, bool) {
	switch n, err := strconv.Atoi(name); {
	case name == "@" || name == "*":
		return s.params, s.paramsKnown
	case err == nil && n > 0:
		if f, ok := s.argument(n); ok && f.known() && !f.glob {
			return []string{f.text}, true
		}
		if n <= len(s.params) {
			return s.params[n-1 : n], s.paramsKnown
		}
		return []string{""}, s.paramsKnown
	}
	v, assigned := s.vars[name]
	if !assigned {
		return s.ambient(name)
	}
	if !v.known {
		return nil, false
	}
	switch {
	case index == nil && v.array && len(v.values) == 0:
		return []string{""}, true
	case index == nil && s.zsh:
		return v.values, true
	case index == nil:
		return v.values[:1], true
	case isAll(index, "@", "*"):
		return v.values, true
	}
	w, ok := index.(*syntax.Word)
	if !ok {
		return nil, false
	}
	i, err := strconv.Atoi(w.Lit())
	if s.zsh && err == nil {
		if i--; i < 0 || i >= len(v.values) {
			return []string{""}, true
		}
	}
	if err == nil && i >= 0 && i < len(v.values) {
		return v.values[i : i+1], true
	}
	return nil, false
}

// arrayDiffers reports whether zsh takes other elements of an array.
func (s *shell) arrayDiffers(p *syntax.ParamExp) bool {
	v := s.vars[p.Param.Value]
	return v.array && (p.Index == nil && len(v.values) != 1 || p.Index != nil && !isAll(p.Index, "@", "*"))
}

// ambient is what variables hold that the text did not assign.
func (s *shell) ambient(name string) ([]string, bool) {
	switch {
	case s.wild || s.remote:
	case name == "IFS":
		return []string{" \t\n"}, true
	case name == "HOME" && s.x.Opts.Home != "":
		return []string{s.x.Opts.Home}, true
	case name == "HOME":
		return []string{"~"}, true
	case name == "PWD" && len(s.dirs) == 1 && path.IsAbs(s.dirs[0]):
		return s.dirs, true
	}
	return nil, false
}

// slice is ${x:from:length} with plain numbers.
func slice(values []string, sl *syntax.Slice) ([]string, bool) {
	number := func(e syntax.ArithmExpr) (int, bool) {
		w, ok := e.(*syntax.Word)
		if !ok {
			return 0, false
		}
		n, err := strconv.Atoi(w.Lit())
		return n, err == nil && n >= 0
	}
	from, ok := number(sl.Offset)
	if !ok || len(values) != 1 {
		return nil, false
	}
	r := []rune(values[0])
	r = r[min(from, len(r)):]
	if sl.Length != nil {
		n, ok := number(sl.Length)
		if !ok {
			return nil, false
		}
		r = r[:min(n, len(r))]
	}
	return []string{string(r)}, true
}

// unsetPositional reports whether a parameter is one of $1 and on, or all of
// them, that is known not to be there.
func (s *shell) unsetPositional(name string) bool {
	n, err := strconv.Atoi(name)
	return s.paramsKnown && (err == nil && n > len(s.params) || (name == "@" || name == "*") && len(s.params) == 0)
}

// unsetOperator is ${1-word} and its like where nothing is set.
func (s *shell) unsetOperator(values []string, e *syntax.Expansion) ([]string, bool) {
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		f := s.one(e.Word, quoting{})
		return []string{f.text}, f.known()
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return []string{""}, true
	}
	return nil, false
}

// operator is ${x:-word} and its like, for an x that is set and known.
func (s *shell) operator(values []string, e *syntax.Expansion) ([]string, bool) {
	empty := strings.Join(values, "") == ""
	word := func() ([]string, bool) {
		f := s.one(e.Word, quoting{})
		return []string{f.text}, f.known()
	}
	switch e.Op {
	case syntax.DefaultUnset, syntax.ErrorUnset, syntax.AssignUnset:
		return values, true
	case syntax.DefaultUnsetOrNull:
		if empty {
			return word()
		}
		return values, true
	case syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		return values, !empty
	case syntax.AlternateUnset:
		return word()
	case syntax.AlternateUnsetOrNull:
		if empty {
			return values, true
		}
		return word()
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return s.trimmed(values, e)
	}
	return nil, false
}

// trimmed is ${x%suffix} and ${x#prefix}, where what is taken off is plain
// text, or all up to a slash or a dot.
func (s *shell) trimmed(values []string, e *syntax.Expansion) ([]string, bool) {
	f := s.one(e.Word, quoting{})
	if len(values) != 1 || !f.known() {
		return nil, false
	}
	v, off := values[0], f.text
	cut := func(i, n int, before bool) ([]string, bool) {
		switch {
		case i < 0:
			return values, true
		case before:
			return []string{v[:i]}, true
		}
		return []string{v[i+n:]}, true
	}
	suffix := e.Op == syntax.RemSmallSuffix || e.Op == syntax.RemLargeSuffix
	switch {
	case !strings.ContainsAny(off, `*?[\\`) && suffix:
		return []string{strings.TrimSuffix(v, off)}, true
	case !strings.ContainsAny(off, `*?[\\`):
		return []string{strings.TrimPrefix(v, off)}, true
	case e.Op == syntax.RemSmallSuffix && (off == "/*" || off == ".*"):
		return cut(strings.LastIndex(v, off[:1]), 1, true)
	case e.Op == syntax.RemLargeSuffix && (off == "/*" || off == ".*"):
		return cut(strings.Index(v, off[:1]), 1, true)
	case e.Op == syntax.RemLargePrefix && (off == "*/" || off == "*."):
		return cut(strings.LastIndex(v, off[1:]), 1, false)
	case e.Op == syntax.RemSmallPrefix && (off == "*/" || off == "*."):
		return cut(strings.Index(v, off[1:]), 1, false)
	}
	return nil, false
}
