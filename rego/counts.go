package rego

import (
	"encoding/json"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate/rego/ruleset"
)

// The pack's only modules that read what counts calls. The one of input.usage
// says nothing where data.settings.model.budget is empty, and the one of
// input.session.repeats nothing where data.settings.repeats is 0.
const (
	budgetModule  = ruleset.PackName + "/model/model.rego"
	repeatsModule = ruleset.PackName + "/gates/gates.rego"
)

// relevant leaves out what grows with each call and no rule reads, so that the
// same call has the same input.
func (p *policy) relevant(in Input) Input {
	if !p.readsHistory {
		in.History = nil
	}
	if !p.readsUsage {
		in.Usage = nil
	}
	if !p.readsRepeats {
		in.Repeats = 0
	}
	return in
}

func readsUsage(modules map[string]*ast.Module, data object) bool {
	settings, _ := data[rootSettings].(object)
	model, _ := settings["model"].(object)
	if budget, ok := model["budget"].(object); !ok || len(budget) > 0 {
		return ruleset.Reads(modules, "usage")
	}
	return ruleset.Reads(except(modules, budgetModule), "usage")
}

func readsRepeats(modules map[string]*ast.Module, data object) bool {
	settings, _ := data[rootSettings].(object)
	if n, ok := settings["repeats"].(json.Number); !ok || n != "0" {
		return ruleset.Reads(modules, "session", "repeats")
	}
	return ruleset.Reads(except(modules, repeatsModule), "session", "repeats")
}

// readsClock reports whether any rule asks for the time other than as
// input.time, which says by itself that it was looked at.
func readsClock(modules map[string]*ast.Module) bool {
	found := false
	for _, m := range modules {
		ast.WalkRefs(m, func(r ast.Ref) bool {
			found = found || r.HasPrefix(ast.NowNanos.Ref())
			return found
		})
	}
	return found
}

func except(modules map[string]*ast.Module, name string) map[string]*ast.Module {
	others := maps.Clone(modules)
	delete(others, name)
	return others
}
