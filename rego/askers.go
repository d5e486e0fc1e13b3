package rego

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/ruleset"
	"github.com/holdgate/holdgate/rego/verdict"
)

// An Asker is a rule that says who may approve what it holds.
type Asker struct {
	IDs       []string // as in Rule
	Location  string   // file:line
	Approvers holdgate.Approvers
}

// Askers lists the rules of the policy in force that name approvers, as far as
// their sources write them out: what is computed is known only when a call is
// decided.
func (e *Engine) Askers() []Asker { return slices.Clone(e.current.Load().askers) }

func listAskers(modules map[string]*ast.Module) []Asker {
	var list []Asker
	for _, m := range modules {
		for _, r := range m.Rules {
			ast.NewGenericVisitor(func(x any) bool {
				o, ok := x.(ast.Object)
				if !ok {
					return false
				}
				t := o.Get(ast.InternedTerm("approvers"))
				if t == nil || !t.IsGround() {
					return false
				}
				a := Asker{IDs: ruleset.RuleIDs(r), Location: r.Location.String()}
				if verdict.ReadApprovers(t.Value, &a.Approvers) == nil {
					list = append(list, a)
				}
				return false
			}).Walk(r)
		}
	}
	slices.SortFunc(list, func(a, b Asker) int { return slices.Compare([]string{a.Location}, []string{b.Location}) })
	return list
}
