package audit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/screentest"
	"github.com/holdgate/holdgate/store/audit"
)

// FuzzEntries throws texts at the list of entries: only an entry's own line begins with a
// number at the edge.
func FuzzEntries(f *testing.F) {
	for _, s := range screentest.Hostile {
		f.Add(s, 0)
		f.Add(s, 80)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width = max(width, 0) % 200; width < 40 {
			width = 0
		}
		input, err := json.Marshal(map[string]string{"command": s})
		if err != nil {
			t.Fatal(err)
		}
		var list []audit.Entry
		for seq := range uint64(3) {
			n := entry(seq+1, audit.TypeDecision)
			n.Note, n.Grant, n.RequestID, n.Input = s, s, s, input
			n.Call = &audit.Call{Agent: s, Session: s, Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: s, Server: s}}
			n.Decision = &audit.Decision{Rule: s, Reason: s, Risk: holdgate.Risk(s)}
			n.Outcome = &holdgate.Outcome{By: s, Reason: s, Instructions: s, Choice: s, Arguments: input}
			list = append(list, n)
		}
		list[1].Call = &audit.Call{Kind: holdgate.KindHTTPRequest, HTTP: s}
		list[2].Decision, list[2].Outcome, list[2].Call = nil, nil, nil
		var b strings.Builder
		if err := writeEntries(&b, list, nil, width, false); err != nil {
			t.Fatal(err)
		}
		screentest.Check(t, b.String(), width, "1  2026-11-27 12:00:00  decision: ", "2  2026-11-27 12:00:00  decision: ", "3  2026-11-27 12:00:00  decision", "   ")
	})
}
