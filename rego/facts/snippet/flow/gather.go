package flow

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// flow is the result of a function that hands on what it gets, itself or in a
// container. What it calls gets the elements of the rest.
func (w *walker) flow(c call) (out value) {
	var rest value
	if c.recv.is(kindAny) || len(c.recv.objs)+len(c.recv.places) > 0 {
		rest.add(c.recv)
	}
	var called, keys []*function
	for i, a := range c.args {
		w.shown(a)
		for _, s := range a.specs {
			if !s.harmless() {
				w.unseen("%s, handed on", s.name)
			} else if c.keys[i] != "key" {
				out.add(w.result(s, call{spec: s, at: c.at, recv: w.elements(join(c.args...), true)}))
			}
		}
		if c.keys[i] == "key" {
			keys = append(keys, a.fns...)
		} else {
			called = append(called, a.fns...)
		}
		a.specs, a.fns = nil, nil
		rest.add(a)
	}
	elems := w.elements(rest, true)
	for _, f := range keys {
		w.handed(f, join(elems, w.elements(elems, true)))
	}
	for _, f := range called {
		r := w.handed(f, join(elems, w.elements(elems, true)))
		w.handed(f, r)
		out.add(r)
	}
	made := w.container(c.at, w.elements(rest, true), elems, rest, out)
	return join(out, elems, made, rest)
}

// harmlessSpecials are special functions that neither touch anything nor change what
// they are called on, so that they may be handed to code which is not read.
var harmlessSpecials = strings.Fields("flow gather each enumerate zip decorator defaultdict groupby lower upper title strip path join joinpath home base dirname relative suffix sibling splitext")

func (s *spec) harmless() bool {
	return len(s.effects) == 0 && (s.special == "" || slices.Contains(harmlessSpecials, s.special))
}

// gather is a container of what an iterable yields, as list, sorted, filter and map
// make them.
func (w *walker) gather(c call) value {
	name := c.spec.name[strings.LastIndexByte(c.spec.name, '.')+1:]
	takesFunction := name == "map" || name == "filter"
	var from, made value
	called := value{}
	for i, a := range c.args {
		w.shown(a)
		switch {
		case i == 0 && takesFunction, c.keys[i] == "key":
			called.add(value{fns: a.fns, specs: a.specs})
			continue
		case c.keys[i] == "reverse":
			continue
		case c.keys[i] == "*" || c.keys[i] == "**":
			a = w.elements(a, false)
		}
		from.add(a)
	}
	elems := w.elements(from, true)
	for _, f := range called.fns {
		made.add(w.handed(f, elems))
	}
	for _, s := range called.specs {
		made.add(w.apply(call{at: c.at.Kids[0], spec: s, recv: elems, args: []value{elems}, keys: []string{""}}))
	}
	if name != "map" {
		made = elems
	} else if len(called.fns)+len(called.specs) == 0 && len(c.args) > 0 {
		w.unseen("a call of what is not known")
	}
	return w.container(c.at, value{}, made)
}

// lower and the like keep what is known of a text.
func mapText(v value, f func(string) string) (out value) {
	t := v.text()
	for _, p := range t.places {
		if p.Below || strings.ContainsFunc(p.Path, func(r rune) bool { return r > unicode.MaxASCII }) {
			return anything()
		}
		out.add(places(outcome.Place{Path: f(p.Path)}))
	}
	out.kinds = t.kinds
	return out
}

func baseOf(v value) (out value) {
	for _, p := range v.text().places {
		if p.Below {
			out.add(kinds(kindPart))
			continue
		}
		if b := path.Base(p.Path); b == ".." || strings.HasSuffix(p.Path, "/") {
			out.add(anything())
		} else {
			out.add(places(outcome.Place{Path: b}))
		}
	}
	for _, k := range v.text().kinds {
		out.add(kinds(k))
	}
	if out.is(kindAny) {
		return anything()
	}
	return out
}
