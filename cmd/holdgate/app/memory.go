package app

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// tidyEvery is how often it is looked whether many calls are held.
	tidyEvery = time.Second
	// tidyFrom is how many calls must be held, or more of them than before, for
	// memory to count: fewer are not worth a collection.
	tidyFrom = 100
	// tidyTimes is how often memory is returned then: a collection halves a
	// stack that has grown, and a call that was judged has one of several times
	// what it takes to wait.
	tidyTimes = 3
	// tidyRest is how many ticks lie between two of these times.
	tidyRest = 5
	// arrivingPercent is how much the heap may grow between two collections
	// while many calls are held and more come, in percent of what is alive. What
	// a call keeps while it waits lies among what it took to judge it; the more
	// of that comes before a collection, the more pages each call keeps for
	// itself.
	arrivingPercent = 30
	// waitingPercent is the same once they only wait: enough for a list of them
	// all without a collection in the midst of it.
	waitingPercent = 100
	// arriving is how many calls more than at the tick before count as more to
	// come.
	arriving = 10
)

// tidy keeps memory small while many calls wait for people, and after a busy spell. The
// collector runs by how much the heap grows; where everybody waits nothing grows, and what
// it took to judge the calls would stay as long as they wait.
func (a *App) tidy(ctx context.Context) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	var c crowd
	defer c.collect(0)
	memory := newHeap()
	held, due, rest := 0, 0, 0
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		now := a.queue.Pending()
		c.collect(now)
		if now >= held+tidyFrom {
			held, due = now, tidyTimes
		}
		held = min(held, now)
		rest--
		over := memory.tick()
		if over || due > 0 && rest <= 0 {
			due, rest = max(due-1, 0), tidyRest
			debug.FreeOSMemory()
		}
	}
}

// A crowd has the heap collected more often while many calls are held. The
// zero value is ready.
type crowd struct {
	held    int // at the tick before
	percent int // in force; 0 where it is the usual one
	usual   int
}

// collect is told at each tick how many calls are held. Where the environment
// asks for a heap that is smaller, or never collected, it stays so.
func (c *crowd) collect(held int) {
	want := 0
	switch {
	case held < tidyFrom:
	case held >= c.held+arriving:
		want = arrivingPercent
	default:
		want = waitingPercent
	}
	c.held = held
	if want == c.percent {
		return
	}
	if c.percent == 0 {
		c.usual = debug.SetGCPercent(waitingPercent)
	}
	c.percent = want
	if want == 0 || c.usual < want {
		want = c.usual
	}
	debug.SetGCPercent(want)
}
