package ruleset

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate/rego/schema"
	"github.com/holdgate/holdgate/rego/verdict"
)

// packFields are fields that rules may add to decisions for the pack, which
// takes them off again.
var packFields = map[string]*schema.Shape{
	"about":      {Type: schema.Types{"array"}, Items: &schema.Shape{}},
	"least_risk": {Type: schema.Types{"string"}, Enum: []string{"low", "medium", "high", "critical"}},
}

// CheckLiterals holds what rules write out of decisions against the decision's
// schema: a slip is an error when the policy loads, not when a call comes. What
// rules compute is read when they are evaluated.
func CheckLiterals(modules map[string]*ast.Module, whole bool) error {
	root, err := schema.Decision()
	if err != nil {
		return err
	}
	member := *root
	member.Properties = maps.Clone(root.Properties)
	maps.Copy(member.Properties, packFields)
	l := literals{modules: modules, root: root, asked: &member, seen: map[string]bool{}}
	if !whole {
		l.root = &member
	}
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		pkg := PackageName(modules[file])
		if strings.HasPrefix(file, "(adapter)/") || !IsCustom(pkg) && (!whole || pkg != Root) {
			continue
		}
		for _, r := range modules[file].Rules {
			l.rule(r)
		}
	}
	if len(l.found) == 0 {
		return nil
	}
	return fmt.Errorf("reading policy: %w", errors.Join(l.found...))
}

// literals looks for decisions that are written out.
type literals struct {
	modules map[string]*ast.Module
	root    *schema.Shape   // of a decision
	asked   *schema.Shape   // of one of the set of which the pack, or a copy of it, makes a decision
	seen    map[string]bool // names that were looked at, with their targets
	found   []error
}

// rule looks at a rule that the entry point asks.
func (l *literals) rule(r *ast.Rule) {
	switch RuleName(r) {
	case RuleDecision, RuleResult:
		s, path := l.root, "decision"
		for _, t := range r.Head.Ref()[1:] { // decision.hold.gate := ...
			name, ok := t.Value.(ast.String)
			if !ok {
				return
			}
			if s = l.field(s, path, string(name), t); s == nil {
				return
			}
			path += "." + string(name)
		}
		for ; r != nil; r = r.Else {
			if r.Head.Value != nil {
				l.value(r, r.Head.Value, target{s, path, len(r.Head.Ref()) > 1})
			}
		}
	case RuleDecisions, RuleResults:
		if r.Head.Key != nil {
			l.value(r, r.Head.Key, target{l.asked, "decision", false})
		}
	}
}

// A Target is what a term is to be.
type target struct {
	shape *schema.Shape
	path  string
	part  bool // other terms may add fields to it
}

// value looks at a term of a rule: at what is written there, and at what the user's
// rules say of the names in it.
func (l *literals) value(r *ast.Rule, t *ast.Term, as target) {
	switch v := t.Value.(type) {
	case ast.Var:
		l.named(r, v, as)
	case ast.Ref:
		l.values(r, v, as)
	case ast.Call:
		l.call(r, v, as)
	default:
		l.literal(t, as, func(t *ast.Term, as target) { l.value(r, t, as) })
	}
}

// call looks at the arguments of what puts objects together, and into functions of
// the user's.
func (l *literals) call(r *ast.Rule, c ast.Call, as target) {
	as.part = true
	ref, ok := c[0].Value.(ast.Ref)
	if !ok {
		return
	}
	switch name := ref.String(); name {
	case "object.union":
		for _, t := range c[1:] {
			l.value(r, t, as)
		}
	case "object.union_n":
		eachTerm(c[1], func(t *ast.Term) { l.value(r, t, as) })
	default:
		if short := name[strings.LastIndex(name, ".")+1:]; as.path == "decision" && idArgument[short] == 0 && len(c) > 2 && (short == "ask" || short == "refuse") {
			l.value(r, c[2], target{l.root.Properties["risk"], "decision.risk", false})
		}
		as.part = false
		l.values(r, ref, as)
	}
}

// named looks at what a variable of the rule's body, or a rule, stands for.
func (l *literals) named(r *ast.Rule, name ast.Var, as target) {
	if !l.first(fmt.Sprintf("%p %s", r, name), as) {
		return
	}
	local := slices.ContainsFunc(r.Head.Args, func(t *ast.Term) bool { return t.Value.Compare(name) == 0 })
	for _, e := range r.Body {
		if some, ok := e.Terms.(*ast.SomeDecl); ok {
			local = l.member(r, some, name, as) || local
			continue
		}
		terms, ok := e.Terms.([]*ast.Term)
		if !ok || len(terms) != 3 || !e.IsAssignment() && !e.IsEquality() {
			continue
		}
		for i, side := range terms[1:] {
			if v, ok := side.Value.(ast.Var); ok && v == name {
				local = true
				l.value(r, terms[2-i], as)
			}
		}
	}
	if !local {
		l.values(r, ast.Ref{ast.NewTerm(name)}, as)
	}
}

// member looks at the items that `some name in collection` goes through, and reports
// whether the name is declared there.
func (l *literals) member(r *ast.Rule, some *ast.SomeDecl, name ast.Var, as target) (declares bool) {
	for _, s := range some.Symbols {
		c, ok := s.Value.(ast.Call)
		if !ok || len(c) < 3 {
			continue
		}
		if v, ok := c[len(c)-2].Value.(ast.Var); !ok || v != name {
			continue
		}
		declares = true
		all := c[len(c)-1]
		eachTerm(all, func(t *ast.Term) { l.value(r, t, as) })
		set, ok := all.Value.(ast.Ref)
		if v, single := all.Value.(ast.Var); single {
			set, ok = ast.Ref{ast.NewTerm(v)}, true
		}
		if ok {
			l.follow(r, set, as, func(of *ast.Rule) {
				if of.Head.Key != nil {
					l.value(of, of.Head.Key, as)
				} else if of.Head.Value != nil {
					eachTerm(of.Head.Value, func(t *ast.Term) { l.value(of, t, as) })
				}
			})
		}
	}
	return declares
}

// values looks at the values of the rules that a rule refers to.
func (l *literals) values(r *ast.Rule, to ast.Ref, as target) {
	l.follow(r, to, as, func(r *ast.Rule) {
		for ; r != nil; r = r.Else {
			if r.Head.Value != nil {
				l.value(r, r.Head.Value, as)
			}
		}
	})
}

// follow calls look with each rule of the user's that a rule refers to, once for
// each target.
func (l *literals) follow(r *ast.Rule, to ast.Ref, as target, look func(*ast.Rule)) {
	pkg, name := referred(r, to)
	if !l.first(pkg+"."+name, as) {
		return
	}
	for _, m := range l.modules {
		if PackageName(m) != pkg {
			continue
		}
		for _, r := range m.Rules {
			if RuleName(r) == name && len(r.Head.Ref()) == 1 {
				look(r)
			}
		}
	}
}

// first reports whether a name is not yet looked at as this.
func (l *literals) first(name string, as target) bool {
	key := fmt.Sprintf("%s %s %t %p", name, as.path, as.part, as.shape)
	was := l.seen[key]
	l.seen[key] = true
	return !was
}

// referred is the package and the name of what a rule refers to: a rule beside it,
// or one of an import's or of data.
func referred(r *ast.Rule, to ast.Ref) (pkg, name string) {
	head, ok := to[0].Value.(ast.Var)
	if !ok {
		return "", ""
	}
	path := strings.Split(PackageName(r.Module), ".")
	rest := to[1:]
	switch imported := importNamed(r.Module, head); {
	case head == "data":
		path = nil
	case imported != nil:
		path = nil
		rest = append(slices.Clone(imported[1:]), rest...)
	default:
		path = append(path, string(head))
	}
	for _, t := range rest {
		s, ok := t.Value.(ast.String)
		if !ok {
			return "", ""
		}
		path = append(path, string(s))
	}
	last := len(path) - 1
	if last < 0 {
		return "", ""
	}
	return strings.Join(path[:last], "."), path[last]
}

// importNamed is what a module imports under a name; nil where that is no data.
func importNamed(m *ast.Module, name ast.Var) ast.Ref {
	for _, i := range m.Imports {
		if ref, ok := i.Path.Value.(ast.Ref); ok && i.Name() == name && ref[0].Equal(ast.DefaultRootDocument) {
			return ref
		}
	}
	return nil
}

// literal holds what is written against a shape.
func (l *literals) literal(t *ast.Term, as target, inside func(*ast.Term, target)) {
	if as.shape == nil || !isLiteral(t.Value) {
		return
	}
	if kinds := as.shape.Type; len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return isType(t.Value, k) }) {
		l.fault(t, "%s is of type %s: want %s", as.path, ast.ValueName(t.Value), kinds)
		return
	}
	faults := len(l.found)
	switch v := t.Value.(type) {
	case ast.Object:
		l.object(t, v, as, inside)
		if as.path == "decision" && !as.part && len(l.found) == faults && ast.IsConstant(v) {
			l.whole(t, v)
		}
	case ast.String:
		l.word(t, string(v), as)
	case ast.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if s := as.shape; err == nil && (s.Minimum != nil && f < *s.Minimum || s.Maximum != nil && f > *s.Maximum) {
			l.fault(t, "%s cannot be %s", as.path, v)
		}
	default:
		eachTerm(t, func(t *ast.Term) { inside(t, target{as.shape.Items, as.path, false}) })
	}
}

func (l *literals) object(at *ast.Term, o ast.Object, as target, inside func(*ast.Term, target)) {
	certain := !as.part
	o.Foreach(func(k, v *ast.Term) {
		name, ok := k.Value.(ast.String)
		if !ok {
			certain = false
			return
		}
		if field := l.field(as.shape, as.path, string(name), k); field != nil {
			inside(v, target{field, as.path + "." + string(name), as.part})
		}
	})
	for _, name := range as.shape.Required {
		if certain && o.Get(ast.StringTerm(name)) == nil {
			l.fault(at, "%s has no %s", as.path, name)
		}
	}
}

// field is the shape of an object's field; nil where it has none of the name.
func (l *literals) field(s *schema.Shape, path, name string, at *ast.Term) *schema.Shape {
	if s == nil || s.Properties == nil {
		return nil
	}
	if f, ok := s.Properties[name]; ok {
		return f
	}
	l.fault(at, "%s has no field %q: %s", path, name, schema.DidYouMean(name, slices.Sorted(maps.Keys(s.Properties))))
	return nil
}

func (l *literals) word(t *ast.Term, s string, as target) {
	if known := as.shape.Enum; known != nil && !slices.Contains(known, s) {
		l.fault(t, "%s cannot be %q: %s", as.path, s, schema.DidYouMean(s, known))
	}
	if p := as.shape.Pattern; p != "" && !regexp.MustCompile(p).MatchString(s) {
		l.fault(t, "%s cannot be %q: %s", as.path, s, as.shape.About)
	}
	if as.path == "decision.rule" && strings.HasPrefix(s, verdict.ReservedPrefix) {
		l.fault(t, "%s cannot be %q: %s is Holdgate's own", as.path, s, verdict.ReservedPrefix)
	}
}

// whole reads a decision that is written out in full as one that was evaluated
// is read: what no schema says is found too.
func (l *literals) whole(t *ast.Term, o ast.Object) {
	fields := ast.NewObject()
	o.Foreach(func(k, v *ast.Term) {
		if name, ok := k.Value.(ast.String); !ok || packFields[string(name)] == nil {
			fields.Insert(k, v)
		}
	})
	if _, _, err := verdict.Read(fields); err != nil {
		l.fault(t, "%v", err)
	}
}

func (l *literals) fault(at *ast.Term, format string, args ...any) {
	where := "a rule"
	if at.Location != nil {
		where = fmt.Sprintf("%s:%d", at.Location.File, at.Location.Row)
	}
	l.found = append(l.found, fmt.Errorf("%s: "+format, append([]any{where}, args...)...))
}

// eachTerm calls fn with the items of a list or set that is written out, and with
// the values of an object.
func eachTerm(t *ast.Term, fn func(*ast.Term)) {
	switch v := t.Value.(type) {
	case *ast.Array:
		v.Foreach(fn)
	case ast.Set:
		v.Foreach(fn)
	case ast.Object:
		v.Foreach(func(_, v *ast.Term) { fn(v) })
	}
}

// isLiteral reports whether a value stands in the source, and is not computed.
func isLiteral(v ast.Value) bool {
	switch v.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String, *ast.Array, ast.Object, ast.Set:
		return true
	}
	return false
}

// isType reports whether a value is of a type of JSON Schema's; a set is an array.
func isType(v ast.Value, kind string) bool {
	switch v := v.(type) {
	case ast.String:
		return kind == "string"
	case ast.Boolean:
		return kind == "boolean"
	case ast.Number:
		_, err := strconv.Atoi(string(v))
		return kind == "number" || kind == "integer" && err == nil
	case ast.Object:
		return kind == "object"
	case *ast.Array, ast.Set:
		return kind == "array"
	}
	return kind == "null"
}
