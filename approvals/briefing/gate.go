package briefing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// gate briefs on a checkpoint that the agent asked for. All that there is to show
// of it is the agent's word.
func (b *briefer) gate(g *holdgate.Gate) {
	summary := "At the gate " + g.Type
	if g.Score != nil {
		summary += fmt.Sprintf(", with a reported confidence of %.2f", *g.Score)
	}
	if n := len(g.Artifacts); n > 0 {
		summary += ", about " + counted(n, "artifact")
	}
	b.summary(summary)
	if g.Message != "" {
		b.section("the agent asks", KindSaid, strings.Split(g.Message, "\n"))
	}
	if len(g.Artifacts) > 0 {
		b.section("about", KindSaid, g.Artifacts)
	}
	shown, ok := members(g.Context)
	if !ok && g.Context != nil {
		b.b.Whole = false
		return
	}
	first := func(m member) int { // what the gate is to show comes first, in its order
		if i := slices.Index(b.show, m.name); i >= 0 {
			return i
		}
		return len(b.show)
	}
	slices.SortStableFunc(shown, func(x, y member) int { return cmp.Compare(first(x), first(y)) })
	for _, m := range shown {
		b.section(m.name, KindSaid, said(m))
	}
}

// shows says what people are to see at a gate, and do not.
func (b *briefer) shows() {
	missing := slices.DeleteFunc(slices.Clone(b.show), func(name string) bool {
		return slices.ContainsFunc(b.b.Sections, func(s Section) bool {
			return s.Title == name && s.Kind == KindSaid || name == KindDiff && s.Kind == KindDiff
		})
	})
	if len(missing) > 0 {
		b.because("not shown, though this gate is to show it: " + strings.Join(missing, ", "))
	}
}

// said is what the agent shows under one name: text by lines, anything else as
// JSON.
func said(m member) []string {
	var list []string
	if json.Unmarshal(m.raw, &list) == nil {
		return list
	}
	return m.lines()
}
