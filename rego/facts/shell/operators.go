package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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

// sliceFrom is the first of the words that ${@:2} stands for, where these are all from there on.
func sliceFrom(sl *syntax.Slice) (int, bool) {
	w, ok := sl.Offset.(*syntax.Word)
	if !ok || sl.Length != nil {
		return 1, false
	}
	n, err := strconv.Atoi(w.Lit())
	return max(n, 1), err == nil && n >= 1
}

// unsetPositional reports whether a parameter is one of $1 and on, or all of
// them, that is known not to be there.
func (s *Shell) unsetPositional(name string) bool {
	n, err := strconv.Atoi(name)
	return s.paramsKnown && (err == nil && n > len(s.params) || (name == "@" || name == "*") && len(s.params) == 0)
}

// unsetOperator is ${1-word} and its like where nothing is set.
func (s *Shell) unsetOperator(values []string, e *syntax.Expansion) ([]string, bool) {
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		f := s.one(e.Word, quoting{})
		return []string{f.Text}, f.Known()
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return []string{""}, true
	}
	return nil, false
}

// operator is ${x:-word} and its like, for an x that is set and known.
func (s *Shell) operator(values []string, e *syntax.Expansion) ([]string, bool) {
	empty := strings.Join(values, "") == ""
	word := func() ([]string, bool) {
		f := s.one(e.Word, quoting{})
		return []string{f.Text}, f.Known()
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
func (s *Shell) trimmed(values []string, e *syntax.Expansion) ([]string, bool) {
	f := s.one(e.Word, quoting{})
	if len(values) != 1 || !f.Known() {
		return nil, false
	}
	v, off := values[0], f.Text
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
