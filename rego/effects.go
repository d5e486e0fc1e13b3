package rego

import (
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/effects"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/settings"
)

// effects are what a call does, for people and for rules that read
// input.facts.effects. They are worked out where one of them does: what is
// allowed unseen costs nothing.
func (p *policy) effects(c holdgate.Call, f facts.Facts) []holdgate.Effect {
	if h := c.HTTP; h != nil && h.Operation == "" {
		named := *h
		named.Operation = p.operation(h)
		c.HTTP = &named
	}
	tables := p.tables
	if tables.Empty() {
		tables = packTables()
	}
	return effects.Of(c, f, tables.Known)
}

// packTables are the shipped pack's, for the effects of a policy that has none.
var packTables = sync.OnceValue(func() settings.Commands {
	pack, err := shipped()
	if err != nil {
		return settings.Commands{}
	}
	return settings.ReadCommands(pack.data)
})

// shown are the effects for people. A fault in there costs a sentence, never a
// decision that was made: the list is then empty.
func (p *policy) shown(c holdgate.Call, f facts.Facts) (list []holdgate.Effect) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	return p.effects(c, f)
}
