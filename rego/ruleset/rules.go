package ruleset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A Rule is a rule of the policy in force, as its METADATA describes it.
type Rule struct {
	// IDs are the ids that it may give as decision.rule, as far as the source
	// names them.
	IDs         []string `json:"ids,omitempty"`
	Package     string   `json:"package"`
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Risk        string   `json:"risk,omitempty"` // custom.risk
	Location    string   `json:"location"`       // file:line
	Text        string   `json:"text,omitempty"` // its source
}

// ListRules lists the rules of modules.
func ListRules(modules map[string]*ast.Module) []Rule {
	type placed struct {
		Rule
		file string
		row  int
	}
	var list []placed
	for file, m := range modules {
		for _, r := range m.Rules {
			rule := Rule{IDs: RuleIDs(r), Package: PackageName(m), Name: RuleName(r), Text: string(r.Location.Text)}
			for _, a := range r.Annotations {
				rule.Title = cmp.Or(rule.Title, a.Title)
				rule.Description = cmp.Or(rule.Description, a.Description)
				if risk, ok := a.Custom["risk"].(string); ok {
					rule.Risk = cmp.Or(rule.Risk, risk)
				}
			}
			if rule.Title == "" && len(rule.IDs) == 0 {
				continue
			}
			rule.Location = fmt.Sprintf("%s:%d", file, r.Location.Row)
			list = append(list, placed{rule, file, r.Location.Row})
		}
	}
	slices.SortFunc(list, func(a, b placed) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.row, b.row)) })
	rules := make([]Rule, len(list))
	for i, p := range list {
		rules[i] = p.Rule
	}
	return rules
}

// idArgument says which argument of the pack's functions is a rule's id.
var idArgument = map[string]int{"ask": 0, "refuse": 0, "by_setting": 1}

// RuleIDs are the ids that a rule names: under "rule" in an object, or as an
// argument of the pack's functions.
func RuleIDs(r *ast.Rule) []string {
	var ids []string
	add := func(t *ast.Term) {
		if s, ok := t.Value.(ast.String); ok && !slices.Contains(ids, string(s)) {
			ids = append(ids, string(s))
		}
	}
	call := func(terms []*ast.Term) {
		ref, ok := terms[0].Value.(ast.Ref)
		if !ok {
			return
		}
		var name string
		switch last := ref[len(ref)-1].Value.(type) {
		case ast.Var:
			name = string(last)
		case ast.String:
			name = string(last)
		}
		if i, known := idArgument[name]; known && len(terms) > i+1 {
			add(terms[i+1])
		}
	}
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case ast.Object:
			if t := x.Get(ast.InternedTerm("rule")); t != nil {
				add(t)
			}
		case ast.Call:
			call(x)
		case *ast.Expr:
			if terms, ok := x.Terms.([]*ast.Term); ok {
				call(terms)
			}
		}
		return false
	}).Walk(r)
	slices.Sort(ids)
	return ids
}
