package stats_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/stats"
	"github.com/holdgate/holdgate/store/audit"
)

var begin = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

func decision(request, rule, tool string, a holdgate.Action, at time.Duration) audit.Entry {
	return audit.Entry{Type: audit.TypeDecision, RequestID: request, Time: begin.Add(at), Decision: &audit.Decision{Action: a, Rule: rule},
		Call: &audit.Call{Agent: "coder", Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: tool}}}
}

func end(typ audit.Type, request string, a holdgate.Answer, by string, at time.Duration) audit.Entry {
	return audit.Entry{Type: typ, RequestID: request, Time: begin.Add(at), Outcome: &holdgate.Outcome{Decision: a, By: by}}
}

func TestStatsCountHowQuestionsEnded(t *testing.T) {
	c := stats.NewCounter(begin)
	c.Count(decision("before", "files.delete", "Bash", holdgate.Hold, -time.Hour))
	c.Count(decision("", "default", "Read", holdgate.Allow, 0))
	c.Count(decision("", "self_approval", "Bash", holdgate.Deny, 0))
	for i, a := range []holdgate.Answer{"approve", "approve", "approve", "approve"} {
		id := fmt.Sprintf("a%d", i)
		c.Count(decision(id, "files.outside", "Write", holdgate.Hold, 0))
		c.Count(end(audit.TypeVote, id, a, "ann", 10*time.Second))
		c.Count(end(audit.TypeOutcome, id, a, "ann", 10*time.Second))
	}
	for i, a := range []holdgate.Answer{"approve", "deny", "steer", "edit", "timeout", "cancel", ""} {
		id := fmt.Sprintf("b%d", i)
		c.Count(decision(id, "files.delete", "Bash", holdgate.Hold, 0))
		by := "bob"
		if a == holdgate.AnswerTimeout || a == holdgate.AnswerCancel {
			by = "holdgate"
		} else if a != "" {
			c.Count(end(audit.TypeVote, id, a, by, time.Minute))
		}
		if a != "" {
			c.Count(end(audit.TypeOutcome, id, a, by, time.Minute))
		}
	}
	expired := decision("late", "files.delete", "Bash", holdgate.Hold, 0)
	c.Count(expired)
	late := end(audit.TypeOutcome, "late", holdgate.AnswerTimeout, "policy", time.Minute) // silence denied, as the queue writes it
	late.Status = holdgate.StatusExpired
	c.Count(late)
	released := decision("", "files.delete", "Bash", holdgate.Allow, time.Minute)
	released.Seen = []byte(`{"answers":[{"by":"bob","decision":"approve","rule":"files.delete"}],"v":1}`)
	c.Count(released) // counted where it was asked
	named := decision("", "default", "Read", holdgate.Allow, 0)
	named.Seen = []byte(`{"task":{"answers":"none"},"v":1}`)
	c.Count(named)
	c.Count(decision("s", "confidence.low", "Bash", holdgate.Hold, 0))
	silent := end(audit.TypeOutcome, "s", holdgate.AnswerTimeout, "policy", time.Minute)
	silent.Status = holdgate.StatusApproved
	c.Count(silent)
	c.Count(end(audit.TypeOutcome, "before", holdgate.AnswerApprove, "bob", time.Minute))

	s := c.Stats()
	got := s.Counts
	got.Answer = stats.Took{}
	want := stats.Counts{Allowed: 2, Refused: 1, Asked: 13, Pending: 1, Approved: 6, Denied: 1, Steered: 1, Expired: 2, Silent: 1, Cancelled: 1, Overrides: 2}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if s.Answer.Count != 8 || math.Abs(s.Answer.P50-10)/10 > 0.07 || math.Abs(s.Answer.P95-60)/60 > 0.07 {
		t.Errorf("people took %+v", s.Answer)
	}
	if len(s.ByRule) != 5 || s.ByRule[0].Name != "files.delete" || s.ByRule[0].Asked != 8 || s.ByTool[0].Name != "Bash" || s.ByTool[0].Asked != 9 || s.ByAgent[0].Asked != 13 {
		t.Errorf("by rule %+v, by tool %+v, by agent %+v", s.ByRule, s.ByTool, s.ByAgent)
	}
	if len(s.AlwaysApproved) != 1 || s.AlwaysApproved[0].Name != "files.outside" {
		t.Errorf("always approved %+v", s.AlwaysApproved)
	}
	if len(s.ByApprover) != 2 || s.ByApprover[0].Name != "ann" || s.ByApprover[0].Approve != 4 || s.ByApprover[1].Deny != 1 || s.ByApprover[1].Edit != 1 || s.ByApprover[1].Steer != 1 {
		t.Errorf("by approver %+v", s.ByApprover)
	}
}

// Names are the agents' word: however many there are, the counts stay small and
// add up.
func TestStatsStayBounded(t *testing.T) {
	c := stats.NewCounter(time.Time{})
	for i := range 3 * stats.MaxNames {
		c.Count(decision("", "default", fmt.Sprintf("tool%d", i), holdgate.Allow, 0))
	}
	s := c.Stats()
	sum := 0
	for _, g := range s.ByTool {
		sum += g.Allowed
	}
	if len(s.ByTool) != stats.MaxNames+1 || sum != 3*stats.MaxNames || s.Others != 2*stats.MaxNames || s.Allowed != sum {
		t.Errorf("%d tools, %d calls, %d others", len(s.ByTool), sum, s.Others)
	}
}

func TestQuantilesAreRight(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := stats.NewCounter(begin)
		times := rapid.SliceOfN(rapid.Int64Range(0, 1<<32-1), 1, 200).Draw(rt, "milliseconds")
		for i, ms := range times {
			id := fmt.Sprint(i)
			c.Count(decision(id, "r", "t", holdgate.Hold, 0))
			c.Count(end(audit.TypeOutcome, id, holdgate.AnswerApprove, "ann", time.Duration(ms)*time.Millisecond))
		}
		slices.Sort(times)
		s := c.Stats().Answer
		for _, q := range []struct{ share, got float64 }{{0.5, s.P50}, {0.95, s.P95}} {
			want := float64(times[int(q.share*float64(len(times)-1))]) / 1000
			if math.Abs(q.got-want) > 0.07*want+0.001 {
				rt.Fatalf("the quantile %v is %v s, got %v s", q.share, want, q.got)
			}
		}
	})
}
