package decide

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/screentest"
)

// FuzzPending throws texts at the list of what waits.
func FuzzPending(f *testing.F) {
	for _, s := range screentest.Hostile {
		f.Add(s, 0)
		f.Add(s, 80)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width = max(width, 0) % 200; width < 80 {
			width = 0
		}
		args, err := json.Marshal(map[string]string{"command": s})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		request := func(id string) approvals.Request {
			call := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: s, Server: s, Arguments: args}}
			return approvals.Request{ID: id, Status: holdgate.StatusPending, Risk: holdgate.RiskHigh, Rule: id, Agent: approvals.AgentRef{ID: s}, Session: approvals.Ref{ID: s},
				CreatedAt: now, ExpiresAt: now.Add(time.Hour), Briefing: briefing.Make(call, 0, holdgate.Decision{Reason: s})}
		}
		gate, left := request("m9zyhk-2fdsw7-8cbhk2"), request("m9zyhk-2fdsw7-8cbhk3")
		gate.Call.Gate = &approvals.GateView{Message: s}
		left.RunEnded = &now
		var b strings.Builder
		if err := printPending(&b, []approvals.Request{request("m9zyhk-2fdsw7-8cbhk1"), gate, left}, now, width); err != nil {
			t.Fatal(err)
		}
		screentest.Check(t, b.String(), width, "ID  ", "m9zyhk-2fdsw7-8cbhk1  0s  ", "m9zyhk-2fdsw7-8cbhk2  0s  ", "m9zyhk-2fdsw7-8cbhk3  0s  ", "Nobody waits for these", "  ")
	})
}
