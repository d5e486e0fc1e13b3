package briefing_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

// However long the words of one effect are, the other sort of harm, and how many there
// are, are in the summary.
func TestNoSortOfHarmPushesAnotherOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é\n", 300)
	for name, says := range map[string][2]string{
		"the first is long":  {"Deletes " + long, "Sends notes"},
		"the second is long": {"Deletes notes", "Sends " + long},
		"both are":           {"Deletes " + long, "Sends " + long},
		"neither is":         {"Deletes notes", "Sends notes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			effects := []holdgate.Effect{
				{Kind: holdgate.EffectDelete, What: "file", Harm: "delete", Says: says[0]}, {Kind: holdgate.EffectDelete, What: "file", Harm: "delete", Says: "Deletes b"},
				{Kind: holdgate.EffectWrite, What: "file", Says: "Writes c"}, {Kind: holdgate.EffectSend, What: "file", Harm: "send", Says: says[1]},
			}
			b := briefing.Make(holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte("{}")}}, 0, holdgate.Decision{Facts: &holdgate.Facts{Effects: effects}})
			if !strings.HasPrefix(b.Summary, "Deletes ") || !strings.Contains(b.Summary, "; sends ") || !strings.HasSuffix(b.Summary, ", and 2 more") || utf8.RuneCountInString(b.Summary) > briefing.MaxSummary {
				t.Errorf("it says %q", b.Summary)
			}
		})
	}
}
