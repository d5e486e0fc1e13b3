package rego

import (
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// budgetModule is the pack's only module that reads input.usage. It says nothing
// where data.settings.model.budget is empty.
const budgetModule = packName + "/model.rego"

// relevant leaves out what grows with each call and no rule reads, so that the
// same call has the same input.
func (p *policy) relevant(in Input) Input {
	if !p.readsHistory {
		in.History = nil
	}
	if !p.readsUsage {
		in.Usage = nil
	}
	return in
}

func readsUsage(modules map[string]*ast.Module, data object) bool {
	settings, _ := data[rootSettings].(object)
	model, _ := settings["model"].(object)
	if budget, ok := model["budget"].(object); !ok || len(budget) > 0 {
		return reads(modules, "usage")
	}
	others := maps.Clone(modules)
	delete(others, budgetModule)
	return reads(others, "usage")
}
