package rego

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// toolSettings are data.settings.tools, agents, categories, tool_categories and
// profile, read
// once for each policy. The pack's tools/tools.rego says the same, for inputs that come
// without a setting; a test holds the two together.
type toolSettings struct {
	tools      map[string]string
	agents     map[string]map[string]string
	categories map[string]string
	kinds      map[string]string // what tools do, by name
	profile    string
	hides      bool // tools that are refused are left out of servers' lists
}

// toolCategories are data.settings.tool_categories: what tools do, where their
// names do not tell.
func (p *policy) toolCategories() map[string]string {
	if p.settings == nil {
		return nil
	}
	return p.settings.kinds
}

// readToolSettings reads the tables out of a policy's data, or returns nil
// where it has none. What has another form is left out: the schema of settings
// refuses it, and a policy that replaces the pack may keep there what it likes.
func readToolSettings(data object) *toolSettings {
	settings, ok := data[rootSettings].(object)
	if !ok {
		return nil
	}
	s := &toolSettings{
		tools:      readTexts(settings["tools"]),
		categories: readTexts(settings["categories"]),
		kinds:      readTexts(settings["tool_categories"]),
		agents:     map[string]map[string]string{},
	}
	s.profile, _ = settings["profile"].(string)
	mcp, _ := settings["mcp"].(object)
	hides, _ := mcp["hide_denied"].(bool)
	s.hides = hides && !lifts(settings["exceptions"], ruleToolSetting)
	agents, _ := settings["agents"].(object)
	for id, v := range agents {
		agent, _ := v.(object)
		s.agents[id] = readTexts(agent["tools"])
	}
	return s
}

// ruleToolSetting is the pack's rule that refuses by data.settings.tools.
const ruleToolSetting = "tools.setting"

// lifts reports whether one of the exceptions is from the rule.
func lifts(exceptions any, rule string) bool {
	list, _ := exceptions.([]any)
	return slices.ContainsFunc(list, func(v any) bool {
		e, _ := v.(object)
		return e["rule"] == rule
	})
}

func readTexts(v any) map[string]string {
	o, _ := v.(object)
	texts := make(map[string]string, len(o))
	for k, v := range o {
		if s, ok := v.(string); ok {
			texts[k] = s
		}
	}
	return texts
}

// of is what the settings say of a tool: an agent's own settings first, then
// the tool's by its most specific name, its category's, those of all tools, and at
// last the profile.
func (s *toolSettings) of(a holdgate.Agent, t *holdgate.Tool, category string) string {
	if setting, ok := s.named(a, t); ok {
		return setting
	}
	if setting, ok := s.categories[category]; ok {
		return setting
	}
	if setting, ok := s.tools["*"]; ok {
		return setting
	}
	return s.profile
}

// named is what the settings say of a tool by its name alone.
func (s *toolSettings) named(a holdgate.Agent, t *holdgate.Tool) (string, bool) {
	titles, names := []string{toolTitle(t)}, toolNames(t)
	if inner, ok := facts.Wrapped(t); ok {
		titles, names = []string{toolTitle(inner), toolTitle(t)}, append(toolNames(inner), names...)
	}
	if own, ok := s.agents[a.ID]; ok {
		setting, ok := lookUp(own, append(titles, "*")...)
		// An identity that is only asserted makes a rule stricter, never looser.
		if ok && (setting != "auto" || a.Proven) {
			return setting, true
		}
	}
	return lookUp(s.tools, names...)
}

// HidesTools reports whether the policy in force wants tools left out of the
// lists of MCP servers at all (data.settings.mcp.hide_denied).
func (e *Engine) HidesTools() bool { return e.hiding() != nil }

// hiding are the settings by which tools are hidden, or nil.
func (e *Engine) hiding() *toolSettings {
	p := e.current.Load()
	if p.settings == nil || !p.settings.hides || p.loaded.Whole || e.o.Observe {
		return nil
	}
	return p.settings
}

// Hides reports whether a tool of an MCP server is to be left out of the lists
// that the agent sees: the settings refuse it by its name, so that no call of it
// could pass, whatever its arguments. What is refused by what a tool does, or by
// rules, is not known before there is a call.
func (e *Engine) Hides(a holdgate.Agent, server, tool string) bool {
	s := e.hiding()
	if s == nil {
		return false
	}
	setting, ok := s.named(a, &holdgate.Tool{Server: server, Name: tool})
	if !ok && len(s.categories) == 0 {
		setting = s.tools["*"]
	}
	return setting == "deny"
}

func lookUp(table map[string]string, keys ...string) (string, bool) {
	for _, k := range keys {
		if v, ok := table[k]; ok {
			return v, true
		}
	}
	return "", false
}

// toolTitle is a tool's name as settings write it: a tool of an MCP server is
// server/tool.
func toolTitle(t *holdgate.Tool) string {
	if t.Server != "" {
		return t.Server + "/" + t.Name
	}
	return t.Name
}

// toolNames are the names that settings may call a tool by, the most specific
// first. A model knows the tool of an MCP server as mcp__server__tool.
func toolNames(t *holdgate.Tool) []string {
	names := []string{toolTitle(t)}
	if t.Server != "" {
		names = append(names, t.Server+"/*", "*/"+t.Name)
	}
	if parts := strings.Split(t.Name, "__"); parts[0] == "mcp" && len(parts) > 1 {
		names = append(names, strings.Join(parts[1:min(3, len(parts))], "/"), parts[1]+"/*")
	}
	return names
}
