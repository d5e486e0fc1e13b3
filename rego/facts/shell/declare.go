package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// declare is export, declare, local, readonly and typeset.
func (s *Shell) declare(c *syntax.DeclClause) {
	if name := c.Variant.Value; name == "declare" || name == "typeset" || name == "nameref" {
		s.Found.UnlikeDash = true
		if s.Dash { // a program that is not there
			for _, a := range c.Args {
				s.nested(a)
			}
			return
		}
	}
	words := []argv.Field{{Text: c.Variant.Value}}
	readonly, odd, flags := c.Variant.Value == "readonly", false, ""
	if c.Variant.Value == "nameref" {
		s.reference()
	}
	for _, a := range c.Args {
		if a.Naked && a.Name == nil {
			f := s.one(a.Value, quoting{})
			readonly = readonly || strings.HasPrefix(f.Text, "-") && strings.Contains(f.Text, "r")
			if strings.HasPrefix(f.Text, "-") {
				flags += f.Text
			}
			odd = odd || strings.HasPrefix(f.Text, "-") && strings.ContainsAny(f.Text, "inluc") || !f.Known()
			words = append(words, f)
			if strings.HasPrefix(f.Text, "-") && strings.Contains(f.Text, "n") || !f.Known() {
				s.reference()
			}
			continue
		}
		before, had := s.Vars[nameOf(a)]
		if s.locals != nil && wordlist.Has("local declare typeset", c.Variant.Value) {
			if _, again := s.locals[nameOf(a)]; !again {
				before.odd, before.absent = before.odd && had, !had
				s.locals[nameOf(a)] = before
				had = had && strings.Contains(flags, "g")
			}
			if now := s.Vars[nameOf(a)]; now.keyed && !strings.ContainsAny(flags, "Ag") { // it is another variable
				now.keyed = false
				s.Vars[nameOf(a)] = now
			}
		}
		if a.Name != nil && strings.Contains(flags, "A") {
			v := s.Vars[a.Name.Value]
			if !v.keyed && a.Naked && !v.Known && s.conditional == 0 {
				v.origin = argv.OriginAtom // there is nothing in it
			}
			// Of what may be another array it makes none with keys of text.
			v.keyed = v.keyed || !had && !s.Wild && !wordlist.Has(shellArrays, a.Name.Value)
			s.Vars[a.Name.Value] = v
		}
		words = append(words, s.assign(a))
		if a.Name == nil {
			continue
		}
		if c.Variant.Value == "local" && len(s.calling) == 0 { // an error in some shells
			s.forget(a.Name.Value)
			continue
		}
		v := s.Vars[a.Name.Value]
		if v.keyed && v.Known && len(v.Values) == 0 {
			v = Variable{keyed: true, origin: argv.OriginAtom} // there is nothing in it
		}
		if odd {
			v = Variable{odd: true, keyed: v.keyed, integer: v.integer || strings.Contains(flags, "i")}
			if v.integer && !a.Naked {
				v.origin = argv.OriginAtom
			}
		}
		v.readonly = v.readonly || readonly
		if odd || readonly || !a.Naked {
			s.Vars[a.Name.Value] = v
		}
	}
	in := Invocation{Words: words}
	s.environment(&in)
	s.Emit(in)
}

func nameOf(a *syntax.Assign) string {
	if a.Name == nil {
		return ""
	}
	return a.Name.Value
}

// reference notes that a variable became another's name: from here on, an
// assignment to one may change the other.
func (s *Shell) reference() {
	s.forgetAll()
	s.refs = true
}

// shellArrays are arrays that the shell itself has, with numbers as their keys.
const shellArrays = "BASH_ARGC BASH_ARGV BASH_LINENO BASH_REMATCH BASH_SOURCE BASH_VERSINFO COMP_WORDS COMPREPLY COPROC DIRSTACK FUNCNAME GROUPS MAPFILE PIPESTATUS pipestatus dirstack"
