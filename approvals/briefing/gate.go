package briefing

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
)

// gate briefs on a checkpoint that the agent asked for. All that there is to show
// of it is the agent's word.
func (b *briefer) gate(g *holdgate.Gate) {
	summary := "At the gate " + g.Type
	if g.Score != nil {
		summary += fmt.Sprintf(", with a confidence of %.2f", *g.Score)
	}
	if len(g.Artifacts) > 0 {
		summary += ": " + listing(g.Artifacts)
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
	for _, m := range shown {
		b.section(m.name, KindSaid, said(m))
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
