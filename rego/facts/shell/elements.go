package shell

import (
	"slices"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"mvdan.cc/sh/v3/syntax"
)

// Of an array that a line puts together step by step, often not all is known: an option
// is there only where a branch has added it, and a value comes from run time. Such an
// array keeps its elements as words. A command that takes them is followed twice, with
// all that may be there and with what is certain to be: words that loosen a command
// count where they are certain, and words that make it worse where they may be.

// maxElements bounds how many elements an array keeps.
const maxElements = 64

// An element is one of an array.
type element struct {
	argv.Field
	maybe bool // it may not be there
}

func (e element) same(o element) bool {
	return e.Text == o.Text && e.maybe == o.maybe && e.Origin == o.Origin && e.Within == o.Within && slices.Equal(e.Dynamic, o.Dynamic) && slices.Equal(e.Assumed, o.Assumed)
}

// listed are the elements of an array.
func (v Variable) listed() []element {
	if !v.Known {
		return slices.Clone(v.elements)
	}
	var out []element
	for _, text := range v.Values {
		out = append(out, element{Field: argv.Field{Text: text, Assumed: v.assumed}})
	}
	return out
}

// settled is an array of which the elements are given: its values, where they are known.
// v.Known says whether these are all.
func (v Variable) settled() Variable {
	if !v.Known || len(v.elements) > maxElements {
		return Variable{}
	}
	for _, e := range v.elements {
		if e.maybe || !e.Known() || e.Glob {
			if !slices.ContainsFunc(v.elements, func(e element) bool { return !e.OwnNumber() }) {
				return Variable{array: true, elements: v.elements, origin: argv.OriginOwn}
			}
			if slices.ContainsFunc(v.elements, func(e element) bool { return e.Stdin || e.Array || e.Runs || e.Bare || e.Origin == argv.OriginOwn }) {
				return Variable{}
			}
			return Variable{array: true, elements: v.elements}
		}
	}
	for _, e := range v.elements {
		v.Values = append(v.Values, e.Text)
		v.assumed = append(v.assumed, e.Assumed...)
	}
	v.elements = nil
	return v
}

// joined is an array that may have one of two values, of which one begins with all of
// the other.
func joined(v, w Variable) (Variable, bool) {
	if !v.array || !w.array || v.odd || w.odd || !v.Known && v.elements == nil || !w.Known && w.elements == nil {
		return Variable{}, false
	}
	long, short := v.listed(), w.listed()
	if len(long) < len(short) {
		long, short = short, long
	}
	if maybes(short) > 0 || maybes(long) > 0 && maybes(long[min(len(short), len(long)):]) != len(long)-len(short) {
		return Variable{}, false // elements of several branches: only all of them, and none, are followed
	}
	for i := range long {
		switch {
		case i >= len(short):
			long[i].maybe = true
		case short[i].maybe:
			long[i].maybe = true
			fallthrough
		default:
			probe := short[i]
			probe.maybe = long[i].maybe
			if !probe.same(long[i]) {
				return Variable{}, false
			}
		}
	}
	out := Variable{array: true, Known: true, elements: long, keyed: v.keyed}.settled()
	return out, out.array
}

// maybes counts the elements that may not be there.
func maybes(list []element) (n int) {
	for _, e := range list {
		if e.maybe {
			n++
		}
	}
	return n
}

// listed expands "${name[@]}" of an array of which not all is known, and with it
// ${name[@]+"${name[@]}"}, which is nothing where the array is not set.
func (s *Shell) listed(b *wordBuilder, p *syntax.ParamExp, q quoting) bool {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 ||
		p.Slice != nil || p.Repl != nil || p.Names != 0 || !isAll(p.Index, "@") || s.differs == nil && !s.sparse || s.zsh {
		return false
	}
	v := s.Vars[p.Param.Value]
	if v.elements == nil {
		return false
	}
	if p.Exp != nil {
		if p.Exp.Op != syntax.AlternateUnset || p.Exp.Word == nil || s.written(p.Exp.Word) != `"${`+p.Param.Value+`[@]}"` {
			return false
		}
	} else if !q.double {
		return false
	}
	if maybes(v.elements) > 0 && !s.sparse && *s.differs&differsInElements != 0 {
		*s.differs |= differsInArrays
	}
	first := true
	for _, e := range v.elements {
		if e.maybe && s.sparse {
			continue
		}
		if e.maybe {
			*s.differs |= differsInElements
		}
		if !first {
			b.end()
		}
		first = false
		b.started = true
		b.cur.Assumed = append(slices.Clip(b.cur.Assumed), e.Assumed...)
		if e.Known() {
			b.add(e.Text)
			b.cur.Glob = b.cur.Glob || e.Glob
		} else {
			b.shape(e.Field, quoting{double: true})
		}
	}
	return true
}
