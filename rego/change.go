package rego

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate/rego/ruleset"
)

// A Change is what a new policy has that the one before had not. Nobody can
// say in general whether a policy lets more through than another; what is told
// here is certain: the settings and the modules that differ, and of each
// whether it could only have made the policy stricter.
type Change struct {
	Settings []SettingChange `json:"settings,omitempty"`
	Modules  []ModuleChange  `json:"modules,omitempty"`
	// Replaces says that the new policy stands in place of the shipped pack,
	// and the one before lay over it, or the other way round.
	Replaces  bool `json:"replaces,omitempty"`
	MayLoosen bool `json:"may_loosen"`
}

// A SettingChange is one value of data that differs.
type SettingChange struct {
	Path      string `json:"path"`          // "settings.tools.Bash"
	Old       string `json:"old,omitempty"` // as JSON, cut short; empty: there was none, or it is not one of the pack's settings
	New       string `json:"new,omitempty"`
	MayLoosen bool   `json:"may_loosen"`
}

// A ModuleChange is one file of the user's own rules that differs.
type ModuleChange struct {
	Name      string   `json:"name"`
	Change    string   `json:"change"`          // "added", "removed" or "changed"
	Rules     []string `json:"rules,omitempty"` // ids of the rules that differ
	MayLoosen bool     `json:"may_loosen"`
}

// Empty reports whether nothing differs.
func (c Change) Empty() bool { return len(c.Settings)+len(c.Modules) == 0 && !c.Replaces }

// String says in a line what differs, the first few parts of it.
func (c Change) String() string {
	const most = 12
	var parts []string
	if c.Replaces {
		parts = append(parts, "it does not stand to the shipped pack as before (over it, or in its place)")
	}
	for _, s := range c.Settings {
		parts = append(parts, fmt.Sprintf("%s: %s -> %s%s", s.Path, orNone(s.Old), orNone(s.New), may(s.MayLoosen)))
	}
	for _, m := range c.Modules {
		text := m.Name + " " + m.Change
		if len(m.Rules) > 0 {
			text += " (" + strings.Join(m.Rules, ", ") + ")"
		}
		parts = append(parts, text+may(m.MayLoosen))
	}
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	if len(parts) == 0 {
		return "nothing differs"
	}
	return strings.Join(parts, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func may(loosen bool) string {
	if loosen {
		return " (may loosen)"
	}
	return ""
}

// compare tells what differs from one policy to the next.
func compare(was, is *policy) Change {
	c := Change{Replaces: was.loaded.Whole != is.loaded.Whole}
	c.Settings = compareData(was.data, is.data)
	c.Modules = compareModules(was.own, is.own, is.loaded.Whole)
	c.MayLoosen = c.Replaces ||
		slices.ContainsFunc(c.Settings, func(s SettingChange) bool { return s.MayLoosen }) ||
		slices.ContainsFunc(c.Modules, func(m ModuleChange) bool { return m.MayLoosen })
	return c
}

// compareData compares two documents leaf by leaf.
func compareData(was, is object) []SettingChange {
	var list []SettingChange
	var walk func(path string, a, b any)
	walk = func(path string, a, b any) {
		ao, aok := a.(object)
		bo, bok := b.(object)
		if (aok || a == nil) && (bok || b == nil) && len(ao)+len(bo) > 0 {
			keys := slices.Collect(maps.Keys(ao))
			for k := range bo {
				if _, both := ao[k]; !both {
					keys = append(keys, k)
				}
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(strings.TrimPrefix(path+"."+k, "."), ao[k], bo[k])
			}
			return
		}
		if !reflect.DeepEqual(a, b) {
			list = append(list, settingChange(path, a, b))
		}
	}
	walk("", was, is)
	return list
}

func settingChange(path string, a, b any) SettingChange {
	s := SettingChange{Path: path, MayLoosen: !tightens(path, a, b)}
	if strings.HasPrefix(path, rootSettings+".") && !strings.HasPrefix(path, rootSettings+".custom.") {
		s.Old, s.New = short(a), short(b)
	}
	return s
}

// strictness orders the words that settings are written in.
var strictness = map[any]int{"auto": 0, "pass": 0, "allow": 0, "balanced": 0, "ask": 1, "hold": 1, "strict": 1, "deny": 2}

// tightens reports whether the new value can only make a policy stricter: a
// refusal, a stricter word in place of a laxer, or fewer exceptions.
func tightens(path string, a, b any) bool {
	if path == rootSettings+".exceptions" {
		was, _ := a.([]any)
		is, _ := b.([]any)
		return !slices.ContainsFunc(is, func(e any) bool {
			return !slices.ContainsFunc(was, func(w any) bool { return reflect.DeepEqual(w, e) })
		})
	}
	if _, word := b.(string); !word {
		return false
	}
	to, known := strictness[b]
	if !known || to == 0 {
		return false
	}
	if b == "deny" {
		return true
	}
	if _, word := a.(string); !word {
		return false // there may have been a wider setting that was stricter
	}
	from, known := strictness[a]
	return known && to >= from
}

// short is a value as JSON, bounded.
func short(v any) string {
	if v == nil {
		return ""
	}
	const most = 200
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "..."
	}
	return string(b)
}

// A module is one file of the user's own rules, as far as comparing needs it.
type module struct {
	pkg   string
	rules []moduleRule
}

type moduleRule struct {
	name string
	text string
	ids  []string
}

func ownModules(parsed map[string]*ast.Module) map[string]module {
	all := make(map[string]module, len(parsed))
	for name, m := range parsed {
		own := module{pkg: ruleset.PackageName(m)}
		for _, r := range m.Rules {
			own.rules = append(own.rules, moduleRule{ruleset.RuleName(r), r.String(), ruleset.RuleIDs(r)})
		}
		all[name] = own
	}
	return all
}

// compareModules compares the user's modules by file. Rules are compared as
// they are parsed, so that comments and spaces are no change.
func compareModules(was, is map[string]module, whole bool) []ModuleChange {
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	before, after := rulesOf(was), rulesOf(is)
	var list []ModuleChange
	for _, name := range names {
		a, had := was[name]
		b, has := is[name]
		c := ModuleChange{Name: name, Change: "changed"}
		switch {
		case !had:
			c.Change = "added"
		case !has:
			c.Change = "removed"
		}
		differ := false
		for _, r := range a.rules {
			if had && has && a.pkg == b.pkg && contains(b.rules, r.text) {
				continue
			}
			differ, c.Rules = true, append(c.Rules, r.ids...)
			c.MayLoosen = c.MayLoosen || !contains(after[a.pkg], r.text)
		}
		for _, r := range b.rules {
			if had && has && a.pkg == b.pkg && contains(a.rules, r.text) {
				continue
			}
			differ, c.Rules = true, append(c.Rules, r.ids...)
			c.MayLoosen = c.MayLoosen || !onlyAdds(b.pkg, r, before[b.pkg], whole)
		}
		if differ {
			slices.Sort(c.Rules)
			c.Rules = slices.Compact(c.Rules)
			list = append(list, c)
		}
	}
	return list
}

// onlyAdds reports whether a rule cannot change what the rules before said:
// it was there already, it is one more decision over the pack, where the
// strictest wins, or nobody knew its name.
func onlyAdds(pkg string, r moduleRule, before []moduleRule, whole bool) bool {
	switch {
	case contains(before, r.text):
		return true
	case !whole && ruleset.IsCustom(pkg) && (r.name == ruleset.RuleDecision || r.name == ruleset.RuleDecisions):
		return true
	}
	return !slices.ContainsFunc(before, func(b moduleRule) bool { return b.name == r.name })
}

func rulesOf(modules map[string]module) map[string][]moduleRule {
	all := map[string][]moduleRule{}
	for _, m := range modules {
		all[m.pkg] = append(all[m.pkg], m.rules...)
	}
	return all
}

func contains(rules []moduleRule, text string) bool {
	return slices.ContainsFunc(rules, func(r moduleRule) bool { return r.text == text })
}
