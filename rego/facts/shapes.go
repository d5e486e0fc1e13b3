package facts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a variable holds is often known but for a part: LOG=/tmp/build-$$.log. Such
// a value keeps its shape, the word that was assigned, and "$LOG" is read as that
// word is. So are the arguments of a function, as "$1" and "$@".

const (
	maxShapeParts = 3
	maxShapeBytes = 256
)

// shape is a word as a variable keeps it; the zero value where it says no more than
// that the value is not known.
func (f field) shape() field {
	alone := len(f.dynamic) == 1 && f.text == f.dynamic[0]
	if f.known() || alone || f.stdin || f.array || f.runs || f.bare || f.origin == originOwn || len(f.dynamic) > maxShapeParts || len(f.text) > maxShapeBytes {
		return field{}
	}
	for _, d := range f.dynamic {
		if strings.Contains(strings.ToLower(d), "pwd") { // it may mean another folder by then
			return field{}
		}
	}
	return field{text: f.text, dynamic: f.dynamic, origin: f.origin}
}

// shaped expands a parameter of which the shape is known.
func (s *shell) shaped(b *wordBuilder, p *syntax.ParamExp, q quoting) bool {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 ||
		p.Index != nil || p.Slice != nil || p.Exp != nil || p.Repl != nil || p.Names != 0 || q.splits && s.splitsAnywhere() {
		return false
	}
	name := p.Param.Value
	if name == "@" && q.double && !s.paramsKnown && s.args != nil {
		for i, f := range s.args {
			if i > 0 {
				b.end()
			}
			b.started = true
			b.shape(f, q)
		}
		return true
	}
	f := s.vars[name].shape
	if n := strings.Trim(name, "0123456789"); n == "" && name != "0" {
		f = field{}
		if len(name) == 1 {
			f, _ = s.argument(int(name[0] - '0'))
		}
	}
	if len(f.dynamic) == 0 || f.glob || q.splits && (s.zsh || strings.ContainsAny(f.literal(), " \t\n*?[")) {
		return false
	}
	b.shape(f, q)
	return true
}

// argument is the nth argument of the function at hand, where it is certain which
// word that is.
func (s *shell) argument(n int) (field, bool) {
	if s.paramsKnown || n < 1 || n > len(s.args) || slices.ContainsFunc(s.args[:n], func(f field) bool { return f.bare }) {
		return field{}, false
	}
	return s.args[n-1], true
}

// literal is what is known of a word.
func (f field) literal() string {
	text := f.text
	for _, d := range f.dynamic {
		text = strings.Replace(text, d, "", 1)
	}
	return text
}

// shape adds a word that was expanded before.
func (b *wordBuilder) shape(f field, q quoting) {
	first := b.text.Len() == 0 && len(b.cur.dynamic) == 0
	rest := f.text
	for _, d := range f.dynamic {
		before, after, ok := strings.Cut(rest, d)
		if !ok {
			break
		}
		if before != "" {
			b.add(before)
		}
		b.dynamic(d, f.origin, quoting{splits: q.splits || f.bare})
		rest = after
	}
	if rest != "" {
		b.add(rest)
	}
	b.cur.glob = b.cur.glob || f.glob
	b.cur.runs = b.cur.runs || f.runs
	b.cur.within = first && f.within
}
