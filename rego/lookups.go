package rego

import (
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/ruleset"
	"github.com/holdgate/holdgate/rego/settings"
)

// HidesTools reports whether the policy in force wants tools left out of the
// lists of MCP servers at all (data.settings.mcp.hide_denied).
func (e *Engine) HidesTools() bool { return e.hiding() != nil }

// hiding are the settings by which tools are hidden, or nil.
func (e *Engine) hiding() *settings.Tools {
	p := e.current.Load()
	if p.settings == nil || !p.settings.Hides || p.loaded.Whole || e.o.Observe {
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
	return s != nil && s.Refuses(a, server, tool)
}

// toolCategories are data.settings.tool_categories: what tools do, where their
// names do not tell.
func (p *policy) toolCategories() map[string]string { return p.settings.Categories() }

// Operation names what an HTTP request asks its service to do, as
// "github.repos.delete"; "" where the service or the request is in no table. A
// request that the service could take for another one ends in ".unresolved".
func (e *Engine) Operation(h *holdgate.HTTP) string {
	return e.current.Load().operation(h)
}

func (p *policy) operation(h *holdgate.HTTP) string { return p.services.Operation(h) }

// servicesOf are the services of a policy's data, or those of the shipped pack
// where it has none.
func servicesOf(data object) (settings.Services, error) {
	own, err := settings.ReadServices(data)
	if err != nil || len(own) > 0 {
		return own, err
	}
	pack, err := shipped()
	if err != nil {
		return nil, err
	}
	return settings.ReadServices(pack.data)
}

// Rules lists the rules of the policy in force that name an id or carry
// METADATA, by file and line.
func (e *Engine) Rules() []ruleset.Rule { return slices.Clone(e.current.Load().rules) }
