package responses

import (
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// leavesOut reports whether an event of a call with other arguments is left
// out: all deltas but the first, and those that only show how the arguments
// came about.
func (c *call) leavesOut(e *event) bool {
	switch e.typ {
	case itemAdded, itemDone, argumentsDone:
		return false
	case argumentsDelta:
		if c.written {
			return true
		}
		c.written = true
		return false
	}
	return true
}

// edited returns the value of a member of an event of a call with other
// arguments. Text that came in deltas comes in one.
func (c *call) edited(e *event, m wire.Member) []byte {
	switch name := string(m.Name); {
	case name == "item" && (e.typ == itemDone || c.item.form != formText || !c.deltas):
		it := c.item
		it.raw = m.Value
		return it.withArguments(c.verdict.Arguments)
	case name == "item":
		return wire.SetMember(m.Value, "arguments", []byte(`""`))
	case name == "delta" || name == "arguments":
		return []byte(wire.Quote(string(c.verdict.Arguments)))
	case name == "obfuscation":
		return nil
	}
	return m.Value
}

// named returns the members that say which item it is.
func (it *item) named() []byte {
	return wire.RewriteMembers(it.raw, func(m wire.Member) []byte {
		if slices.Contains(identity, string(m.Name)) {
			return m.Value
		}
		return nil
	})
}
