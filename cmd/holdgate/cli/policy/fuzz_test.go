package policy

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/screentest"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// FuzzExplain throws texts at what is said of a past call.
func FuzzExplain(f *testing.F) {
	for _, s := range screentest.Hostile {
		f.Add(s, 0)
		f.Add(s, 80)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width = max(width, 0) % 200; width < 40 {
			width = 0
		}
		call := &audit.Call{Agent: s, Session: s, Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: s, Server: s}}
		x := &explained{
			Entry:   audit.Entry{Seq: 7, RequestID: s, Call: call, Decision: &audit.Decision{Rule: s, Reason: s, Revision: s, Risk: holdgate.Risk(s)}},
			Outcome: &holdgate.Outcome{By: s, Reason: s},
			Unknown: s, Fired: []rego.Fired{{Rule: s, Action: s, Reason: s, About: []string{s, s}, Location: s, Title: s, Risk: s}},
			Input: map[string]any{"session": map[string]any{s: s}}, Trace: s,
		}
		x.decision.Rule, x.decision.Revision = s, s
		x.decision.Facts = &holdgate.Facts{Category: s, Commands: []holdgate.Command{{Argv: []string{s, s}, Via: []string{s}, Unresolved: []string{s}, Unbound: []string{s}}},
			Paths: []holdgate.Path{{Access: s, Clean: s, Class: s}}, ParseErrors: []string{s}, SuspiciousText: []string{s}}
		ours := []string{"entry 7, ", "then: ", "now: ", "rules that fired:", "which rules fired", "what they saw:", "trace:", "  "}
		for _, judged := range []bool{true, false} {
			var b strings.Builder
			x.Judged = judged
			if err := x.write(&b, width); err != nil {
				t.Fatal(err)
			}
			screentest.Check(t, b.String(), width, ours...)
			for _, once := range []string{"\nnow: ", "\nthen: ", "\n  people were asked: "} {
				if n := strings.Count(b.String(), once); n > 1 {
					t.Errorf("%d lines begin with %q:\n%s", n, once, b.String())
				}
			}
		}
	})
}
