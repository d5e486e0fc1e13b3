package app

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// tidyEvery is how often it is looked whether many calls are held.
	tidyEvery = 5 * time.Second
	// tidyFrom is how many more calls than before must be held for memory to be
	// returned: fewer are not worth a collection.
	tidyFrom = 100
	// tidyTimes is how often it is returned then: a collection halves a stack
	// that has grown, and a call that was judged has one of several times what
	// it takes to wait.
	tidyTimes = 3
)

// tidy returns memory to the system while many calls wait for people. The
// collector runs by how much the heap grows; where everybody waits nothing
// grows, and what it took to judge the calls would stay as long as they wait.
func (a *App) tidy(ctx context.Context) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	held, due := 0, 0
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		now := a.queue.Pending()
		if now >= held+tidyFrom {
			held, due = now, tidyTimes
		}
		held = min(held, now)
		if due > 0 {
			due--
			debug.FreeOSMemory()
		}
	}
}
