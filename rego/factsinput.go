package rego

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/settings"
)

// factsObject is input.facts: what the JSON of facts.Facts says, without the
// way through JSON, and of each command what the tables say of it and how much of
// it was seen.
func factsObject(f facts.Facts, tables settings.Commands) ast.Object {
	o := newFields(10)
	o.text("category", f.Category)
	o.put("impact", impactTerm(f.Impact))
	putList(&o, "commands", f.Commands, func(c facts.Command) fields { return commandObject(c, tables) })
	putList(&o, "paths", f.Paths, pathObject)
	putList(&o, "sql", f.SQL, statementObject)
	putList(&o, "urls", f.URLs, urlObject)
	putList(&o, "secrets", f.Secrets, secretObject)
	putList(&o, "effects", f.Effects, effectObject)
	o.optionalList("parse_errors", f.ParseErrors)
	o.optionalList("suspicious_text", f.SuspiciousText)
	return ast.NewObject(o...)
}

// noImpact is the impact of most calls. It is shared, and never changes.
var noImpact = newImpact(facts.Impact{})

func impactTerm(i facts.Impact) *ast.Term {
	if i == (facts.Impact{}) {
		return noImpact
	}
	return newImpact(i)
}

func newImpact(i facts.Impact) *ast.Term {
	o := newFields(7)
	o.flag("recursive", i.Recursive)
	o.flag("force", i.Force)
	o.put("paths", ast.InternedTerm(i.Paths))
	if i.More {
		o.flag("more", true)
	}
	if i.Rows > 0 {
		o.put("rows", ast.InternedTerm(i.Rows))
	}
	if i.Currency != "" {
		o.put("amount", ast.FloatNumberTerm(i.Amount))
		o.text("currency", i.Currency)
	}
	return ast.ObjectTerm(o...)
}

func commandObject(c facts.Command, tables settings.Commands) fields {
	o := newFields(15)
	o.text("program", c.Program)
	o.list("argv", c.Argv)
	o.optionalList("via", c.Via)
	o.optionalList("unresolved", c.Unresolved)
	o.optionalList("unbound", c.Unbound)
	o.optionalList("project", c.Project)
	o.optionalList("reasons", c.Reasons)
	o.optional("stdin", c.Stdin)
	o.optionalFlag("sql", c.SQL)
	o.optionalFlag("deletes", c.Deletes)
	o.optionalFlag("serves", c.Serves)
	putList(&o, "env", c.Env, variableObject)
	target := tables.Target(c)
	o.optional("seen", seen(c, target))
	class, subcommand := tables.Class(c)
	o.optional("class", class)
	o.optional("subcommand", strings.Join(subcommand, " "))
	o.optionalMap("target", target)
	return o
}

// optionalMap leaves out what is empty.
func (f *fields) optionalMap(name string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	o := newFields(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		o.text(k, m[k])
	}
	f.put(name, ast.ObjectTerm(o...))
}

func variableObject(v facts.Variable) fields {
	o := newFields(3)
	o.text("name", v.Name)
	o.text("value", v.Value)
	o.flag("unresolved", v.Unresolved)
	return o
}

// seen sums up what is known of a command, so that a policy has one field to
// look at in place of three that are missing.
func seen(c facts.Command, target map[string]string) string {
	switch {
	case len(c.Via) > 0 || len(c.Unresolved) > 0 || c.Serves:
		return ""
	case target["host"] != "" || target["machine"] != "" || target["stage"] != "", slices.ContainsFunc(c.Argv, func(w string) bool { return strings.Contains(w, "://") }):
		return "" // it may act elsewhere
	case len(c.Unbound) > len(c.Project):
		return "but_files"
	case len(c.Unbound) > 0:
		return "but_project"
	}
	return "whole"
}

func pathObject(p facts.Path) fields {
	o := newFields(9)
	o.text("path", p.Path)
	o.text("clean", p.Clean)
	o.text("access", p.Access)
	o.flag("inside", p.Inside)
	o.optional("class", p.Class)
	if p.Fresh {
		o.flag("fresh", true)
	}
	if p.Made {
		o.flag("made", true)
	}
	if p.Perhaps {
		o.flag("perhaps", true)
	}
	if p.Self {
		o.flag("self", true)
	}
	return o
}

func statementObject(s facts.Statement) fields {
	o := newFields(6)
	o.text("verb", s.Verb)
	o.flag("where", s.Where)
	if s.Scratch {
		o.flag("scratch", true)
	}
	if s.Rows > 0 {
		o.put("rows", ast.InternedTerm(s.Rows))
	}
	o.optional("object", s.Object)
	o.optionalList("tables", s.Tables)
	return o
}

func effectObject(e holdgate.Effect) fields {
	o := newFields(8)
	o.text("kind", string(e.Kind))
	o.text("what", e.What)
	o.optional("where", e.Where)
	o.text("undoable", string(e.Undoable))
	o.optional("because", e.Because)
	o.optional("as", e.As)
	o.optional("on", e.On)
	o.text("says", e.Says)
	return o
}

func urlObject(u facts.URL) fields {
	o := newFields(4)
	o.text("url", u.URL)
	o.text("scheme", u.Scheme)
	o.text("host", u.Host)
	if u.Self {
		o.flag("self", true)
	}
	return o
}

func secretObject(s facts.Secret) fields {
	o := newFields(2)
	o.text("kind", s.Kind)
	o.text("pointer", s.Pointer)
	return o
}
