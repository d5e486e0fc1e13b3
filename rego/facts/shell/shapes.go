package shell

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"mvdan.cc/sh/v3/syntax"
)

// What a variable holds is often known but for a part: LOG=/tmp/build-$$.log. Such
// a value keeps its shape, the word that was assigned, and "$LOG" is read as that
// word is. So are the arguments of a function, as "$1" and "$@".

// shaped expands a parameter of which the shape is known.
func (s *Shell) shaped(b *wordBuilder, p *syntax.ParamExp, q quoting) bool {
	args := s.args
	if p.Slice != nil && p.Param != nil && p.Param.Value == "@" {
		from, ok := sliceFrom(p.Slice)
		whole := *p
		whole.Slice = nil
		if !ok || slices.ContainsFunc(args[:min(from-1, len(args))], func(f argv.Field) bool { return f.Bare }) {
			return false
		}
		p, args = &whole, args[min(from-1, len(args)):]
	}
	if !plainParam(p) || q.splits && s.splitsAnywhere() {
		return false
	}
	name := p.Param.Value
	if name == "@" && q.double && !s.paramsKnown && s.args != nil {
		for i, f := range args {
			if i > 0 {
				b.end()
			}
			b.started = true
			b.shape(f, q)
		}
		return true
	}
	f := s.Vars[name].shape
	if n := strings.Trim(name, "0123456789"); n == "" && name != "0" {
		f = argv.Field{}
		if len(name) == 1 {
			f, _ = s.argument(int(name[0] - '0'))
		}
	}
	if len(f.Dynamic) == 0 || f.Glob || q.splits && (s.zsh || strings.ContainsAny(f.Literal(), " \t\n*?[")) {
		return false
	}
	b.shape(f, q)
	return true
}

// argument is the nth argument of the function at hand, where it is certain which
// word that is.
func (s *Shell) argument(n int) (argv.Field, bool) {
	if s.paramsKnown || n < 1 || n > len(s.args) || slices.ContainsFunc(s.args[:n], func(f argv.Field) bool { return f.Bare }) {
		return argv.Field{}, false
	}
	return s.args[n-1], true
}

// shape adds a word that was expanded before.
func (b *wordBuilder) shape(f argv.Field, q quoting) {
	first := b.text.Len() == 0 && len(b.cur.Dynamic) == 0
	rest := f.Text
	for _, d := range f.Dynamic {
		before, after, ok := strings.Cut(rest, d)
		if !ok {
			break
		}
		if before != "" {
			b.add(before)
		}
		b.dynamic(d, f.Origin, f.Part, quoting{splits: q.splits || f.Bare})
		rest = after
	}
	if rest != "" {
		b.add(rest)
	}
	b.cur.Glob = b.cur.Glob || f.Glob
	b.cur.Runs = b.cur.Runs || f.Runs
	b.cur.Assumed = append(slices.Clip(b.cur.Assumed), f.Assumed...)
	b.cur.Within, b.cur.Folder = first && f.Within, first && f.Folder
}
