package agents

import (
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/screentest"
)

// FuzzLists throws texts at the lists of agents and sessions, and at what is said of one.
func FuzzLists(f *testing.F) {
	for _, s := range screentest.Hostile {
		f.Add(s, 0)
		f.Add(s, 80)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width = max(width, 0) % 200; width < 40 {
			width = 0
		}
		now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		of := func(id string) approvals.Session {
			return approvals.Session{ID: id, Agent: s, State: tracks.SessionState(s), Why: s, Mode: sessions.Mode(s), SetBy: s, ModeWith: s, Taint: []string{s}, Needed: []string{s}, Passed: []sessions.Passed{{Gate: s, By: s}}}
		}
		var b strings.Builder
		show := func(err error, rows int, begins ...string) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			screentest.Check(t, b.String(), width, begins...)
			if n := strings.Count("\n"+b.String(), "\nid"); n != rows {
				t.Errorf("%d lines begin as rows do, want %d:\n%s", n, rows, b.String())
			}
			b.Reset()
		}
		halted := 2
		if s == "" {
			halted = 0 // nothing says why
		}
		show(printSessions(&b, []approvals.Session{of("id1"), of("id2")}, now, width), 2+halted, "SESSION ", "id1", "id2", "  ")
		show(printSession(&b, of("s"), now, width), 0, "session ", "agent ", "state ", "mode ", "gate", "taint ", "calls ", "tools ", "  ")
		list := []agents.Agent{{ID: "id1", Confinement: s}, {ID: "id2", Confinement: s}}
		show(printAgents(&b, list, now, width), 2, "AGENT ", "id1", "id2", "  ")
	})
}
