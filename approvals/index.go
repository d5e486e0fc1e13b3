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
	open    map[callerKey]map[holdgate.Digest][]*slot
	slots   map[string]*slot     // by exchange
	waiters map[string][]*waiter // by request
	orphans []string             // exchanges whose sender left without saying what arrived
	shared  bool                 // other members may take part in what is free here
	left    []leaving            // what they do not know to be free yet

	deserted []desertion // connections that outlived their run, and have ended now
}

// A desertion is an exchange whose run had ended at a time, before its last connection.
type desertion struct {
	id string
	at time.Time
}

// A leaving is an exchange in which no connection takes part any more.
type leaving struct {
	id   string
	turn uint64
}

// A slot is one open exchange.
type slot struct {
	id     string
	caller callerKey
	key    holdgate.Digest
	live   *Exchange     // the connection that takes part
	freed  chan struct{} // closed when live goes; nil while there is none
	reader *Exchange     // one whose client has gone and which still reads the answer
	left   bool          // its requests say that nobody waits for them
	ended  time.Time     // its run ended then, and live goes on waiting; else zero
	shut   bool          // not to be joined: it is about to become final
	turn   uint64        // as the store has it, since a connection last took part
}

func newIndex() *index {
	return &index{
		open:    make(map[callerKey]map[holdgate.Digest][]*slot),
		slots:   make(map[string]*slot),
		waiters: make(map[string][]*waiter),
	}
}

// add takes up an exchange that has just been stored, or was found there.
func (ix *index) add(id string, c callerKey, key holdgate.Digest) *slot {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s := ix.slots[id]; s != nil {
		return s
	}
	s := &slot{id: id, caller: c, key: key}
	if ix.open[c] == nil {
		ix.open[c] = make(map[holdgate.Digest][]*slot)
	}
	ix.open[c][key] = append(ix.open[c][key], s)
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
	return slices.Clone(ix.open[c][key])
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

// leave marks an exchange whose requests say that nobody waits for them, and reports
// whether a connection does all the same.
func (ix *index) leave(id string, left bool) (waits bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s := ix.slots[id]
	if s == nil {
		return false
	}
	s.left = left
	return s.live != nil
}

// outlives notes that the run of an exchange has ended, where a connection still takes
// part in it, and reports whether one does.
func (ix *index) outlives(id string, ended time.Time) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s := ix.slots[id]
	if s == nil || s.live == nil {
		return false
	}
	s.ended = ended
	return true
}

// waits reports whether a connection takes part in an exchange.
func (ix *index) waits(id string) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s := ix.slots[id]
	return s != nil && s.live != nil
}

// isLeft reports whether the slot's requests say that nobody waits for them.
func (ix *index) isLeft(s *slot) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return s.left
}

// free ends a connection's hold on the slot. It needs the lock.
func (ix *index) free(s *slot) {
	s.live = nil
	close(s.freed)
	s.freed = nil
	if !s.ended.IsZero() {
		ix.deserted = append(ix.deserted, desertion{s.id, s.ended})
		s.ended = time.Time{}
	}
}

// takeDeserted hands over the exchanges whose run has ended, and now their connection.
func (ix *index) takeDeserted() []desertion {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	list := ix.deserted
	ix.deserted = nil
	return list
}

// putDeserted gives back those of which nothing could be said.
func (ix *index) putDeserted(list []desertion) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.deserted = append(ix.deserted, list...)
}

// awaitFree waits until one of the caller's exchanges with the key is free, at
// most for the time given, and reports whether one is.
func (ix *index) awaitFree(ctx context.Context, c callerKey, key holdgate.Digest, limit time.Duration) bool {
	var taken <-chan struct{}
	ix.mu.Lock()
	for _, s := range ix.open[c][key] {
		if s.shut {
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
// timer's goroutine has settled it. It reports whether that goroutine has work.
func (ix *index) release(s *slot, x *Exchange, orphan bool) (due bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s.live == x {
		ix.free(s)
	}
	if s.reader == x {
		s.reader = nil
	}
	if orphan {
		s.shut = true
		ix.orphans = append(ix.orphans, s.id)
		return true
	}
	if ix.shared && s.turn > 0 && s.live == nil && s.reader == nil && ix.slots[s.id] == s {
		ix.left = append(ix.left, leaving{s.id, s.turn})
		s.turn = 0
	}
	return len(ix.left)+len(ix.deserted) > 0
}

// entered notes as which turn x takes part in the slot.
func (ix *index) entered(s *slot, turn uint64) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s.turn = turn
}

// takeLeft hands over the exchanges that others may take up.
func (ix *index) takeLeft() []leaving {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	left := ix.left
	ix.left = nil
	return left
}

// putLeft gives back those of which they could not be told.
func (ix *index) putLeft(left []leaving) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.left = append(ix.left, left...)
}

// detach leaves x to read the answer, and the slot to be joined. It reports whether the
// timer's goroutine has work.
func (ix *index) detach(s *slot, x *Exchange) (due bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s.live == x {
		ix.free(s)
		s.reader = x
	}
	return len(ix.deserted) > 0
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
		ix.wake(id)
	}
}

// wake wakes those who wait for a request. It needs the lock.
func (ix *index) wake(request string) {
	for _, w := range ix.waiters[request] {
		w.wake()
	}
	delete(ix.waiters, request)
}

// awaited reports whether anybody waits for a request.
func (ix *index) awaited(request string) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return len(ix.waiters[request]) > 0
}

// ended is learn for a request that another member has ended.
func (ix *index) ended(request string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.wake(request)
}

// drop is learn for an exchange that is over with another member.
func (ix *index) drop(id string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.forget(id)
}

func (ix *index) forget(id string) {
	s := ix.slots[id]
	if s == nil {
		return
	}
	delete(ix.slots, id)
	of := ix.open[s.caller]
	of[s.key] = slices.DeleteFunc(of[s.key], func(o *slot) bool { return o == s })
	if len(of[s.key]) == 0 {
		delete(of, s.key)
	}
	if len(of) == 0 {
		delete(ix.open, s.caller)
	}
}

// wait returns a channel that is closed when the request ends, and a function
// that gives it back.
func (ix *index) wait(request string) (<-chan struct{}, func()) {
	ended := make(chan struct{})
	w := &waiter{wake: func() { close(ended) }}
	ix.await(w, request)
	return ended, func() { ix.giveUp(w, request) }
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

func (ix *index) giveUp(w *waiter, requests ...string) {
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
