// Package ruleset reads the parsed modules of a policy: which rules they have, what
// these are called, and what is wrong with them before anything is evaluated.
package ruleset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The names by which the pack's entry gathers what rules say.
const (
	Root          = "holdgate"
	RuleDecision  = "decision"  // one decision
	RuleDecisions = "decisions" // a set of them
	RuleResult    = "result"    // one decision on a result
	RuleResults   = "results"   // a set of them
	RootCustom    = "custom"
	PackName      = "(pack)"                         // stands before the names of the pack's files
	CustomModule  = PackName + "/custom/custom.rego" // asks packages of the user
)

// IsWhole reports whether modules define data.holdgate.decision.
func IsWhole(modules map[string]*ast.Module) bool {
	for _, m := range modules {
		if PackageName(m) != Root {
			continue
		}
		for _, r := range m.Rules {
			if RuleName(r) == RuleDecision {
				return true
			}
		}
	}
	return false
}

// CheckLayer makes sure that what is added to the pack has an effect: a rule
// that nobody asks would be missed only when it is needed.
func CheckLayer(modules map[string]*ast.Module) error {
	contributes := false
	for name, m := range modules {
		pkg := PackageName(m)
		custom := IsCustom(pkg)
		if !custom && (pkg == Root || strings.HasPrefix(pkg, Root+".")) {
			return fmt.Errorf("reading policy %s: package %s is the shipped pack's own: put rules under package holdgate.custom.NAME, or define data.holdgate.decision to replace the pack", name, pkg)
		}
		if !custom {
			continue
		}
		for _, r := range m.Rules {
			asked, err := checkContribution(pkg, r)
			if err != nil {
				return err
			}
			contributes = contributes || asked
		}
	}
	if len(modules) > 0 && !contributes {
		return fmt.Errorf("reading policy: no rule in it is ever asked: add to decisions in package holdgate.custom.NAME, or define data.holdgate.decision to replace the pack")
	}
	return nil
}

// CheckIDs keeps an id to one package. An exception from a rule, an answer or a grant
// goes by its id, and would count for another rule of that id too, whoever it asks.
// Ids that are computed are for the pack to see (custom.rego).
func CheckIDs(modules, pack map[string]*ast.Module) error {
	shipped := map[string]string{}
	for file, m := range pack {
		for _, r := range m.Rules {
			for _, id := range RuleIDs(r) {
				shipped[id] = file
			}
		}
	}
	type owner struct {
		pkg string
		at  *ast.Location
	}
	owners := map[string]owner{}
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		pkg := PackageName(modules[file])
		for _, r := range modules[file].Rules {
			for _, id := range RuleIDs(r) {
				if file, taken := shipped[id]; taken {
					return fmt.Errorf("reading policy: %s: the id %q is that of a rule of the shipped pack (%s), whose exceptions and answers would count for this rule too: give it another, such as %q", r.Location, id, file, "own."+id)
				}
				o, taken := owners[id]
				if taken && o.pkg != pkg {
					return fmt.Errorf("reading policy: %s: the id %q is that of a rule of the package %s (%s) too, whose exceptions and answers would count for this rule: give one of them another", r.Location, id, o.pkg, o.at)
				}
				if !taken {
					owners[id] = owner{pkg, r.Location}
				}
			}
		}
	}
	return nil
}

// WithoutCustom leaves out the module by which the pack asks packages of the
// user, where there is none of them.
func WithoutCustom(modules map[string]*ast.Module) {
	for _, m := range modules {
		if IsCustom(PackageName(m)) {
			return
		}
	}
	delete(modules, CustomModule)
}

// IsCustom reports whether a package is one that the pack asks.
func IsCustom(pkg string) bool {
	return pkg == Root+"."+RootCustom || strings.HasPrefix(pkg, Root+"."+RootCustom+".")
}

// checkContribution reports whether the pack's entry asks the rule.
func checkContribution(pkg string, r *ast.Rule) (bool, error) {
	name := RuleName(r)
	one := name == RuleDecision || name == RuleResult
	set := name == RuleDecisions || name == RuleResults
	if !one && !set {
		return false, nil
	}
	if strings.Count(pkg, ".") > 2 {
		return false, fmt.Errorf("reading policy: %s: package %s lies too deep to be asked: use holdgate.custom.NAME", r.Location, pkg)
	}
	many := r.Head.RuleKind() == ast.MultiValue
	if set && !many {
		return false, fmt.Errorf("reading policy: %s: %s is a set: write `%s contains {...} if ...`", r.Location, name, name)
	}
	if one && (many || len(r.Head.Ref()) > 1 || len(r.Head.Args) > 0) {
		return false, fmt.Errorf("reading policy: %s: %s is one object: write `%s := {...} if ...`", r.Location, name, name)
	}
	if set && len(r.Head.Ref()) > 1 {
		return false, fmt.Errorf("reading policy: %s: %s is a set of objects, without keys", r.Location, name)
	}
	return true, nil
}

// PackageName is a module's package without data, with dots.
func PackageName(m *ast.Module) string {
	parts := make([]string, 0, len(m.Package.Path))
	for _, t := range m.Package.Path[1:] {
		s, _ := t.Value.(ast.String)
		parts = append(parts, string(s))
	}
	return strings.Join(parts, ".")
}

func RuleName(r *ast.Rule) string {
	if v, ok := r.Head.Ref()[0].Value.(ast.Var); ok {
		return string(v)
	}
	return ""
}
