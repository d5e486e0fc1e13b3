package approvals

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
)

// callerKey is what two connections must share for one to take up the other's
// exchange.
type callerKey struct {
	agent         string
	proven        bool
	session, door string
}

// An index is what the queue keeps in memory: which exchanges are open and who
// takes part in them, and who waits for which request. The store says what
// state they are in; the index only ever knows too much (an exchange that has
// just become final), never too little.
type index struct {
	mu      sync.Mutex
	open    map[callerKey][]*slot
	slots   map[string]*slot     // by exchange
	waiters map[string][]*waiter // by request
	orphans []string             // exchanges whose sender left without saying what arrived
}

// A slot is one open exchange.
type slot struct {
	id     string
	caller callerKey
	key    holdgate.Digest
	live   *Exchange     // the connection that takes part
	freed  chan struct{} // closed when live goes; nil while there is none
	reader *Exchange     // one whose client has gone and which still reads the answer
	shut   bool          // not to be joined: it is about to become final
}

func newIndex() *index {
	return &index{
		open:    make(map[callerKey][]*slot),
		slots:   make(map[string]*slot),
		waiters: make(map[string][]*waiter),
	}
}

// add takes up an exchange that has just been stored, or was found there.
func (ix *index) add(id string, c callerKey, key holdgate.Digest) *slot {
	s := &slot{id: id, caller: c, key: key}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.open[c] = append(ix.open[c], s)
	ix.slots[id] = s
	return s
}

// busy reports whether the caller has open exchanges.
func (ix *index) busy(c callerKey) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return len(ix.open[c]) > 0
}

// candidates are the caller's open exchanges with the key.
func (ix *index) candidates(c callerKey, key holdgate.Digest) []*slot {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var found []*slot
	for _, s := range ix.open[c] {
		if s.key == key {
			found = append(found, s)
		}
	}
	return found
}

// claim makes x the slot's live connection where there is none. It returns the
// connection that still reads the answer, if any.
func (ix *index) claim(s *slot, x *Exchange) (reader *Exchange, ok bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s.live != nil || s.shut {
		return nil, false
	}
	s.live, s.freed = x, make(chan struct{})
	return s.reader, true
}

// free ends a connection's hold on the slot.
func (s *slot) free() {
	s.live = nil
	close(s.freed)
	s.freed = nil
}

// awaitFree waits until one of the caller's exchanges with the key is free, at
// most for the time given, and reports whether one is.
func (ix *index) awaitFree(ctx context.Context, c callerKey, key holdgate.Digest, limit time.Duration) bool {
	var taken <-chan struct{}
	ix.mu.Lock()
	for _, s := range ix.open[c] {
		if s.key != key || s.shut {
			continue
		}
		if s.live == nil {
			ix.mu.Unlock()
			return true
		}
		taken = s.freed
	}
	ix.mu.Unlock()
	if taken == nil {
		return false
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-taken:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// release ends x's part in the slot. An orphan is not to be joined until the
// timer's goroutine has settled it.
func (ix *index) release(s *slot, x *Exchange, orphan bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s.live == x {
		s.free()
	}
	if s.reader == x {
		s.reader = nil
	}
	if orphan {
		s.shut = true
		ix.orphans = append(ix.orphans, s.id)
	}
}

// detach leaves x to read the answer, and the slot to be joined.
func (ix *index) detach(s *slot, x *Exchange) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s.live == x {
		s.free()
		s.reader = x
	}
}

// isLive reports whether x is the connection that may use the approvals.
func (ix *index) isLive(s *slot, x *Exchange) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return s.live == x
}

// shut keeps an exchange from being joined, where nobody takes part in it.
func (ix *index) shut(id string) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s := ix.slots[id]
	if s == nil {
		return true
	}
	if s.live != nil || s.reader != nil {
		return false
	}
	s.shut = true
	return true
}

// reopen is the opposite of shut.
func (ix *index) reopen(id string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s := ix.slots[id]; s != nil {
		s.shut = false
	}
}

// takeOrphans hands over the exchanges to be settled.
func (ix *index) takeOrphans() []string {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ids := ix.orphans
	ix.orphans = nil
	return ids
}

// putOrphan gives back one that could not be settled.
func (ix *index) putOrphan(id string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.orphans = append(ix.orphans, id)
}

// learn takes in a change that is durable: it forgets exchanges that are
// over and wakes those who wait for a request that ended.
func (ix *index) learn(c *record.Change) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, id := range c.Over {
		ix.forget(id)
	}
	for _, id := range c.Ended {
		for _, w := range ix.waiters[id] {
			w.wake()
		}
		delete(ix.waiters, id)
	}
}

func (ix *index) forget(id string) {
	s := ix.slots[id]
	if s == nil {
		return
	}
	delete(ix.slots, id)
	rest := slices.DeleteFunc(ix.open[s.caller], func(o *slot) bool { return o == s })
	if len(rest) == 0 {
		delete(ix.open, s.caller)
		return
	}
	ix.open[s.caller] = rest
}

// wait returns a channel that is closed when the request ends, and a function
// that gives it back.
func (ix *index) wait(request string) (<-chan struct{}, func()) {
	ended := make(chan struct{})
	w := &waiter{wake: func() { close(ended) }}
	ix.await(w, request)
	return ended, func() { ix.leave(w, request) }
}

// A waiter is told when a request ends.
type waiter struct {
	wake func() // must not block; once for each request
}

func (ix *index) await(w *waiter, requests ...string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, id := range requests {
		ix.waiters[id] = append(ix.waiters[id], w)
	}
}

func (ix *index) leave(w *waiter, requests ...string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, id := range requests {
		rest := slices.DeleteFunc(ix.waiters[id], func(o *waiter) bool { return o == w })
		if len(rest) == 0 {
			delete(ix.waiters, id)
			continue
		}
		ix.waiters[id] = rest
	}
}
