package briefing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
)

// learned adds what there is to know of the tool from what its server says of
// it: above all how that has changed, which approving the call accepts.
func (b *briefer) learned(t *holdgate.Tool) {
	l := t.Learned
	if l == nil {
		return
	}
	if t.Server == "" {
		b.because(fmt.Sprintf("stands for the tool %s of the MCP server %s: approving this covers the call there too, once", l.Tool, l.Server))
	}
	of := fmt.Sprintf("the server %s says of its tool %s", l.Server, l.Tool)
	switch {
	case l.Unread != "":
		b.because("what " + of + " is not known: its last list could not be read: " + l.Unread)
	case l.Changed && (l.Was == nil || l.Is == nil):
		b.because("what " + of + " has changed, and is too long to be shown")
		b.b.Whole = false
	case l.Changed:
		b.because("what " + of + " has changed since it was first seen or last accepted: approving accepts it")
		b.section("what "+of+" now, and said before", KindDiff, redefined(*l.Was, *l.Is))
	}
	if len(l.Shadows) > 0 {
		b.because("a tool of this name is also one of " + strings.Join(l.Shadows, ", "))
	}
	switch l.Schema {
	case holdgate.FitNot:
		b.because("the arguments do not fit what the server says the tool takes: " + listing(l.Misfits))
	case holdgate.FitUnchecked:
		b.because("whether the arguments fit what the server says the tool takes could not be checked")
	}
}

// definition shows what its server says of a tool of which nobody else has said
// anything. It is not part of the call: what is cut of it hides nothing of that.
func (b *briefer) definition(l *holdgate.Learned) {
	if l == nil || l.Is == nil || l.Changed || b.facts == nil || b.facts.Category != "unknown" {
		return
	}
	said, _ := members(definitionJSON(*l.Is))
	var lines []string
	for _, m := range said {
		if m.name == "name" { // in the title
			continue
		}
		text := string(m.raw)
		if m.isText {
			text = m.text
		}
		lines = append(lines, strings.Split(m.name+": "+text, "\n")...)
	}
	count := b.b.Counts.Cut
	b.section(fmt.Sprintf("what the server %s says of its tool %s", l.Server, l.Tool), KindArguments, lines)
	b.b.Counts.Cut = count
}

// redefined shows what differs between two definitions.
func redefined(was, is holdgate.Definition) []string {
	old, _ := members(definitionJSON(was))
	now, _ := members(definitionJSON(is))
	return changes(old, now)
}

func definitionJSON(d holdgate.Definition) []byte {
	d.Name = "" // the same in both
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return []byte("{}")
	}
	return b.Bytes()
}
