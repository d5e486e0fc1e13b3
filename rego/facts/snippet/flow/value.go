package flow

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// A value is all that a variable may hold. It errs towards more.
type value struct {
	kinds  []string        // what it is: see the constants, and the types of the tables
	places []outcome.Place // the texts and paths that it may be, where they are known
	objs   []*object
	fns    []*function
	specs  []*spec // functions and types of the tables
}

// Kinds that no table has.
const (
	kindAny     = "any"     // data whose text is not known
	kindPart    = "part"    // a number, or a relative path that does not climb: what is joined behind a folder stays below it
	kindNumber  = "number"  // a number for sure, where a language tells it from a text
	kindModule  = "module " // and the name of a module
	kindSelect  = "select"  // a text that is not known, but begins as a statement of SQL which reads
	kindProject = "project" // code of the project's own, or what it made
	kindUnseen  = "unseen"  // anything at all
)

// An object is what is made at one place in a program: a container, or an
// instance of one of its classes.
type object struct {
	elem, key value
	tuple     []value // by position, unless it was changed
	changed   bool
	dict      bool      // iterating over it yields its keys alone
	open      bool      // it has more under names that are not known
	class     *function // what it is an instance of
	attrs     map[string]*value
}

// A function is one of the program's own, or a class of its own. Its parameters
// are variables as all others.
type function struct {
	def       *tree.Expr
	result    value
	called    bool
	alone     bool                 // nothing in the program calls it
	method    *function            // the class that it belongs to
	loose     bool                 // a method that may be called as a plain function
	decorated bool                 // it may be what a decorator makes of it, instead
	way       string               // how a method is asked for: see wayGet
	own       map[string]*function // a class's functions
	bases     []*function          // classes of the program's that a class stands on
	under     []*function          // a class, and those that stand on it
}

// maxPlaces bounds the texts that a value may be, before it may be any.
const maxPlaces = 64

func kinds(k ...string) value         { return value{kinds: k} }
func places(p ...outcome.Place) value { return value{places: p} }
func anything() value                 { return kinds(kindAny) }
func (v value) is(k string) bool      { return slices.Contains(v.kinds, k) }
func (v value) none() bool {
	return len(v.kinds)+len(v.places)+len(v.objs)+len(v.fns)+len(v.specs) == 0
}

// plainData reports whether a value is text or a number, whichever that is.
func (v value) plainData() bool {
	return len(v.objs)+len(v.fns)+len(v.specs) == 0 && len(v.kinds) > 0 &&
		!slices.ContainsFunc(v.kinds, func(k string) bool { return k != kindAny && k != kindPart && k != kindSelect })
}

// add grows a value by another, and reports whether that changed it.
func (v *value) add(o value) (grew bool) {
	v.kinds, grew = union(v.kinds, o.kinds, grew)
	if !v.is(kindAny) { // else they say nothing more
		v.places, grew = union(v.places, o.places, grew)
	}
	v.objs, grew = union(v.objs, o.objs, grew)
	v.fns, grew = union(v.fns, o.fns, grew)
	v.specs, grew = union(v.specs, o.specs, grew)
	if len(v.places) > maxPlaces {
		v.kinds, _ = union(v.kinds, []string{kindAny}, false)
	}
	if v.is(kindAny) {
		v.places = nil
	}
	return grew
}

func union[T comparable](a, b []T, grew bool) ([]T, bool) {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a, grew = append(slices.Clip(a), x), true
		}
	}
	return a, grew
}

func join(values ...value) (out value) {
	for _, v := range values {
		out.add(v)
	}
	return out
}

// text is what a value is as data alone: its text and what it holds, without
// what can be called.
func (v value) text() value {
	out := value{places: v.places}
	for _, k := range v.kinds {
		switch k {
		case kindAny, kindPart:
			out.add(kinds(k))
		case kindNumber:
			out.add(kinds(kindPart))
		case "path", "url": // says what may be done with the places
		default:
			out.add(anything())
		}
	}
	if len(v.objs)+len(v.fns)+len(v.specs) > 0 || out.none() && !v.none() {
		out.add(anything())
	}
	return out
}

// below are the places under those of v.
func below(v value, pattern string) value {
	out := value{}
	for _, p := range v.places {
		out.places, _ = union(out.places, []outcome.Place{{Path: p.Path, Below: true, Pattern: pattern}}, false)
	}
	if v.is(kindPart) {
		out.add(places(outcome.Place{Path: ".", Below: true, Pattern: pattern}))
	}
	if v.none() || v.is(kindAny) || v.is(kindUnseen) || v.is(kindProject) {
		out.add(anything())
	}
	return out
}

// joined are paths made of a folder and what lies in it.
func joined(dir, rest value) (out value) {
	dir, rest = dir.text(), rest.text()
	if dir.none() || rest.none() {
		return value{} // not worked out yet
	}
	if rest.is(kindAny) || dir.is(kindAny) && len(rest.places)+len(rest.kinds) > 0 {
		return anything()
	}
	if rest.is(kindPart) {
		out.add(below(dir, ""))
	}
	for _, r := range rest.places {
		switch {
		case path.IsAbs(r.Path) || strings.HasPrefix(r.Path, "~"):
			out.add(places(r))
			continue
		case (r.Path == "." || strings.HasPrefix(r.Path, "./")) && !onlyHere(dir):
			return anything() // it may be the folder at hand, from the root
		case dir.is(kindPart):
			out.add(below(places(outcome.Place{Path: "."}), ""))
			if climbs(r.Path) {
				return anything()
			}
		}
		for _, d := range dir.places {
			switch p := path.Join(d.Path, r.Path); {
			case !d.Below && !r.Below:
				out.add(places(outcome.Place{Path: p}))
			case !d.Below:
				out.add(places(outcome.Place{Path: p, Below: true, Pattern: r.Pattern}))
			case climbs(r.Path):
				return anything()
			default:
				out.add(places(outcome.Place{Path: d.Path, Below: true, Pattern: path.Base(r.Path)}))
			}
		}
	}
	return out
}

// onlyHere reports whether a folder is the one at hand.
func onlyHere(dir value) bool {
	return len(dir.kinds) == 0 && !slices.ContainsFunc(dir.places, func(p outcome.Place) bool { return p.Path != "." || p.Below })
}

// climbs reports whether a relative path may lead out of the folder that it
// starts in.
func climbs(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

// parents are the folders that the places lie in.
func parents(v value) (out value) {
	for _, p := range v.text().places {
		if p.Below {
			// The parent of what lies right below a folder is the folder.
			if !p.Up {
				out.add(places(outcome.Place{Path: p.Path, Below: true, Up: true}))
				continue
			}
			p.Path = path.Join(p.Path, "..")
			out.add(places(outcome.Place{Path: p.Path, Below: true, Up: true}))
			continue
		}
		if climbs(p.Path) || strings.HasSuffix(p.Path, "/") { // languages differ
			return anything()
		}
		out.add(places(outcome.Place{Path: path.Join(p.Path, "..")}))
	}
	if v.is(kindPart) {
		out.add(places(outcome.Place{Path: ".", Below: true, Up: true}))
	}
	if v.is(kindAny) || v.none() {
		out.add(anything())
	}
	return out
}

// concat are the texts of values one after the other.
func concat(values []value) value {
	texts := []string{""}
	for i, v := range values {
		v = v.text()
		if v.is(kindAny) {
			return anything()
		}
		if len(v.kinds) > 0 || slices.ContainsFunc(v.places, func(p outcome.Place) bool { return p.Below }) {
			return behind(texts, v, values[i+1:])
		}
		var longer []string
		for _, t := range texts {
			for _, p := range v.places {
				longer = append(longer, t+p.Path)
			}
		}
		if len(longer) > maxPlaces {
			return anything()
		}
		texts = longer
	}
	out := value{}
	for _, t := range texts {
		out.add(places(outcome.Place{Path: t}))
	}
	return out
}

// behind are texts that begin in a known way, go on with a part, and end as
// the rest says: they lie below the folder that they begin with.
func behind(texts []string, part value, rest []value) (out value) {
	afterPart := true
	for _, v := range rest {
		v = v.text()
		if v.is(kindAny) || v.is(kindPart) && afterPart {
			return anything()
		}
		afterPart = v.is(kindPart)
		for _, p := range v.places {
			if t := p.Path; p.Below || strings.Contains(t, "..") || strings.HasPrefix(t, "./") || strings.HasSuffix(t, ".") {
				return anything()
			}
		}
	}
	for _, t := range texts {
		for _, p := range part.places {
			switch {
			case t != "" && !(t == "./" && !path.IsAbs(p.Path) && !strings.HasPrefix(p.Path, "~")) || p.Up:
				return anything()
			case p.Below:
				below := outcome.Place{Path: p.Path, Below: true}
				if len(rest) == 0 {
					below.Pattern = p.Pattern
				}
				out.add(places(below))
			case len(rest) == 0:
				out.add(places(p))
			default:
				return anything()
			}
		}
		if part.is(kindPart) {
			if strings.HasSuffix(t, ".") {
				return anything()
			}
			dir := "."
			if at := strings.LastIndexByte(t, '/'); at >= 0 {
				dir = t[:at+1]
			}
			if t == "" && len(rest) == 0 {
				out.add(kinds(kindPart))
				continue
			}
			out.add(below(places(outcome.Place{Path: dir}), ""))
		}
	}
	return out
}
