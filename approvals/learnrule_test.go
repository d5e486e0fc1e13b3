package approvals_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// What people approved as less grave, or without another finding beside it, teaches
// nothing of what is graver.
func TestApprovalsOfWhatIsHarmlessTeachNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		web := page("/srv/www/a.html", "x")
		beside := func(d *holdgate.Decision) {
			d.Also = []holdgate.Finding{{Rule: "files.other", Risk: holdgate.RiskLow}}
		}
		edits := []func(*holdgate.Decision){risk(holdgate.RiskLow), risk(holdgate.RiskMedium), beside}
		for range 2 {
			for i, edit := range edits {
				if got := b.approved(web, taught(web, edit), "ana"); got.Outcome.Grant != "" {
					t.Fatalf("learned of less than three like %d: %+v", i, b.grant(got.Outcome.Grant))
				}
			}
		}
		g := b.grant(b.approved(web, taught(web, beside), "ana").Outcome.Grant)
		if len(g.Also) != 1 || g.Also[0] != "files.other" || !b.released(web, taught(web, beside)) {
			t.Errorf("learned: %+v", g)
		}
		b.close()
	})
}

// What policy asks for is held against what was learned whenever that is used.
func TestWhatWasLearnedFollowsPolicy(t *testing.T) {
	t.Parallel()
	web := page("/srv/www/a.html", "x")
	learn := func(approvals, days int) holdgate.Decision {
		return taught(web, func(d *holdgate.Decision) { d.Hold.Learn = holdgate.Learn{Approvals: approvals, Days: days} })
	}
	t.Run("fewer days", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			for range 3 {
				b.approved(web, learn(3, 30), "ana")
			}
			b.close() // in which the timer would have much to do
			time.Sleep(48 * time.Hour)
			b.open()
			if !b.released(web, learn(3, 30)) || b.released(web, learn(3, 1)) {
				t.Error("two days later it counts for thirty days, and not for one")
			}
			b.close()
		})
	})
	t.Run("more approvals, and fewer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			var g approvals.Grant
			for i, n := range []int{3, 3, 3, 4, 6, 2} {
				got := b.approved(web, learn(n, 1), "ana").Outcome.Grant
				if want := i == 2 || i == 3 || i == 5; (got != "") != want {
					t.Fatalf("approval %d of %d: learned %q", i+1, n, got)
				}
				if got != "" {
					g = b.grant(got)
				}
			}
			if g.Learned.Approvals != 2 || len(g.Learned.Requests) != 2 {
				t.Errorf("the last was learned from %+v", g.Learned)
			}
			if list, err := b.queue.Grants.List(t.Context(), ""); err != nil || len(list) != 1 || list[0].ID != g.ID {
				t.Errorf("what it was learned from before holds still: %+v, %v", list, err)
			}
			b.close()
		})
	})
}
