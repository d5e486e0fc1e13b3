package tui

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// Requests that are alike but for a run that has ended are two rows, and the cursor
// reaches what is below both.
func TestRowsThatAreLeftAreReached(t *testing.T) {
	now := time.Now()
	var b inbox
	add := func(id, shape string, left bool) {
		r := approvals.Request{ID: id, Status: holdgate.StatusPending, Shape: shape, Risk: holdgate.RiskLow, ExpiresAt: now.Add(time.Hour)}
		if left {
			r.RunEnded = &now
		}
		b.list = append(b.list, r)
	}
	for i := range 2 {
		add(fmt.Sprint("live", i), "s", false)
		add(fmt.Sprint("left", i), "s", true)
	}
	add("other", "t", true)
	b.arrange(now)
	b.at = b.items[0].key
	for want := range len(b.items) {
		if got := b.index(); got != want {
			t.Fatalf("row %d of %d is chosen, want %d", got, len(b.items), want)
		}
		b.move(1)
	}
	if len(b.items) != 3 {
		t.Errorf("there are %d rows", len(b.items))
	}
}
