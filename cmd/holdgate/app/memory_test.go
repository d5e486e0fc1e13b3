package app

import (
	"runtime/debug"
	"testing"
)

func TestTheHeapIsSmallWhileManyAreHeld(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	percent := func() int {
		p := debug.SetGCPercent(400)
		debug.SetGCPercent(p)
		return p
	}
	var c crowd
	for _, step := range []struct{ held, want int }{
		{0, 400}, {tidyFrom - 1, 400}, {tidyFrom + arriving, arrivingPercent}, {10_000, arrivingPercent},
		{10_000 + arriving - 1, waitingPercent}, {9_000, waitingPercent}, {10_000, arrivingPercent},
		{tidyFrom - 1, 400}, {tidyFrom, waitingPercent}, {0, 400},
	} {
		c.collect(step.held)
		if got := percent(); got != step.want {
			t.Errorf("with %d held the percent is %d, want %d", step.held, got, step.want)
		}
	}
	for _, asked := range []int{-1, arrivingPercent - 10} { // by the environment
		debug.SetGCPercent(asked)
		c.collect(2 * tidyFrom)
		if got := percent(); got != asked {
			t.Errorf("the environment asked for %d, and got %d", asked, got)
		}
		c.collect(0)
		if got := percent(); got != asked {
			t.Errorf("the environment asked for %d, and has %d afterwards", asked, got)
		}
	}
}
