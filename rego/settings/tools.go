package settings

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// Tools are data.settings.tools, agents, categories, tool_categories and
// profile, read
// once for each policy. The pack's tools/tools.rego says the same, for inputs that come
// without a setting; a test holds the two together.
type Tools struct {
	tools      map[string]string
	agents     map[string]map[string]string
	categories map[string]string
	kinds      map[string]string // what tools do, by name
	profile    string
	Hides      bool // tools that are refused are left out of servers' lists
}

// Categories are data.settings.tool_categories: what tools do, where their names do
// not tell.
func (s *Tools) Categories() map[string]string {
	if s == nil {
		return nil
	}
	return s.kinds
}

// ReadTools reads the tables out of a policy's data, or returns nil
// where it has none. What has another form is left out: the schema of settings
// refuses it, and a policy that replaces the pack may keep there what it likes.
func ReadTools(data object) *Tools {
	settings, ok := data["settings"].(object)
	if !ok {
		return nil
	}
	s := &Tools{
		tools:      readTexts(settings["tools"]),
		categories: readTexts(settings["categories"]),
		kinds:      readTexts(settings["tool_categories"]),
		agents:     map[string]map[string]string{},
	}
	s.profile, _ = settings["profile"].(string)
	mcp, _ := settings["mcp"].(object)
	hides, _ := mcp["hide_denied"].(bool)
	s.Hides = hides && !lifts(settings["exceptions"], ruleToolSetting)
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

// Class is what the settings say of a tool: an agent's own settings first, then
// the tool's by its most specific name, its category's, those of all tools, and at
// last the profile.
func (s *Tools) Of(a holdgate.Agent, t *holdgate.Tool, category string) string {
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
func (s *Tools) named(a holdgate.Agent, t *holdgate.Tool) (string, bool) {
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

// Refuses reports whether a tool of a server is refused by its name, so that no
// call of it could pass, whatever its arguments. What is refused by what a tool
// does, or by rules, is not known before there is a call.
func (s *Tools) Refuses(a holdgate.Agent, server, tool string) bool {
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
