package badger

import (
	"cmp"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
)

// maxWaiting is how many bytes may wait for the log before the writer waits for
// it.
const maxWaiting = 4 << 20

// An item is a transaction, or the answers to a batch, on its way through the
// journal. What it does not have is left at zero.
type item struct {
	record  []byte // for the log
	durable bool   // it counts only once it is synced
	version uint64 // what readers see afterwards

	committed chan error    // Badger's answer; nil where there is none to wait for
	done      chan struct{} // closed when all up to this is synced or has failed

	batch *batch
	err   error // the answer to all of the batch
}

// journal holds the items that wait for the log, in order.
type journal struct {
	mu      sync.Mutex
	changed sync.Cond // waiting was taken
	waiting []*item
	size    int // bytes of their records
	closed  bool
	wake    chan struct{} // has an element where there may be something new

	dirty atomic.Bool // the log has something that is not synced
}

func newJournal() *journal {
	j := &journal{wake: make(chan struct{}, 1)}
	j.changed.L = &j.mu
	return j
}

// add hands over an item. It waits while too much waits already.
func (j *journal) add(i *item) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.size > maxWaiting {
		j.changed.Wait()
	}
	j.waiting = append(j.waiting, i)
	j.size += len(i.record)
	serial.Signal(j.wake)
}

// awaitTaken returns once nothing waits.
func (j *journal) awaitTaken() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.waiting) > 0 {
		j.changed.Wait()
	}
}

// takeAll returns all that waits, using spare for what is to come, and reports
// whether more can come.
func (j *journal) takeAll(spare []*item) (items []*item, open bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	items, j.waiting, j.size = j.waiting, spare[:0], 0
	j.changed.Broadcast()
	return items, !j.closed
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	serial.Signal(j.wake)
}

// flush returns once everything that was handed over is synced.
func (d *db) flush() error {
	done := make(chan struct{})
	d.journal.add(&item{durable: true, done: done})
	<-done
	return d.failed()
}

// keep is the keeper: it brings items to the log, syncs, and lets people see
// them, until the journal is closed and empty. What nobody waits to be durable
// it syncs within syncSoon, and when it is idle after that it marks the log.
func (d *db) keep() {
	soon := time.NewTimer(syncSoon)
	defer soon.Stop()
	var items, spare []*item
	for open := true; ; {
		items, open = d.journal.takeAll(spare)
		if len(items) > 0 {
			wasDirty := d.journal.dirty.Load()
			d.finish(items)
			if !wasDirty {
				soon.Reset(syncSoon)
			}
			clear(items)
		}
		spare = items
		if len(items) > 0 {
			select {
			case <-soon.C:
				d.syncLog()
			default:
			}
			continue
		}
		if !open {
			d.syncLog()
			return
		}
		select {
		case <-d.journal.wake:
		case <-soon.C:
			d.syncLog()
			d.markLog()
		}
	}
}

// markLog marks the end of the log.
func (d *db) markLog() {
	if d.stopped != nil {
		return
	}
	if err := d.log.Mark(); err != nil {
		d.stopped = d.fail(err)
	}
}

// finish brings the items to the log and, once Badger has them too, answers
// them in order. The first that fails fails all behind it.
func (d *db) finish(items []*item) {
	durable := false
	for _, i := range items {
		durable = durable || i.durable
		if i.record == nil {
			continue
		}
		if d.stopped == nil {
			d.journal.dirty.Store(true)
			if err := d.log.Append(i.record); err != nil {
				d.stopped = d.fail(err)
			}
		}
		recycle(i.record)
	}
	if durable {
		d.syncLog()
	}
	for _, i := range items {
		if i.committed != nil {
			d.stopped = cmp.Or(d.stopped, <-i.committed)
		}
		d.answer(i)
	}
}

// answer lets readers, watchers and callers see an item.
func (d *db) answer(i *item) {
	err := cmp.Or(d.stopped, i.err)
	if i.batch != nil {
		if err == nil && len(i.batch.changes) > 0 {
			d.snaps.publish(i.version)
			d.watchers.Notify(maps.Keys(i.batch.changes))
			serial.Signal(d.tidying)
		}
		if err != nil && i.record != nil { // it may be in the log, or in Badger's own
			err = fmt.Errorf("%w: %w", store.ErrUnknown, err)
		}
		for _, r := range i.batch.served {
			r.Answer(cmp.Or(err, r.Err))
		}
	}
	if i.done != nil {
		close(i.done)
	}
}

// syncLog syncs what the log holds.
func (d *db) syncLog() {
	if d.stopped != nil {
		return
	}
	began, idle := time.Now(), d.log.Synced()
	err := d.log.Sync()
	if d.onSync != nil && !idle {
		d.onSync(time.Since(began), err)
	}
	if err != nil {
		d.stopped = d.fail(err)
		return
	}
	d.journal.dirty.Store(false)
}

// tidy runs until the writer has ended. Within syncSoon of a batch it lets
// Badger forget the versions that nobody reads and that recovery would not
// look for, and frees what of the log is in tables.
func (d *db) tidy() {
	timer := time.NewTimer(syncSoon)
	defer timer.Stop()
	for {
		select {
		case <-d.tidying:
		case <-d.done:
			return
		}
		timer.Reset(syncSoon)
		select {
		case <-timer.C:
		case <-d.done:
			return
		}
		version, news, err := d.mem.inTables()
		if err == nil && news {
			err = d.log.Release(version)
		}
		if err != nil {
			d.fail(err)
		}
		d.letForget()
	}
}

// letForget lets Badger forget the versions that nobody reads and that recovery would not
// look for.
func (d *db) letForget() { d.badger.SetDiscardTs(min(d.snaps.oldest(), d.log.Oldest()-1)) }

// records are buffers for records that were used before.
var records = sync.Pool{New: func() any { return new([]byte) }}

// maxKept is the size of the largest buffer that is kept, in bytes.
const maxKept = 1 << 20

func recycle(b []byte) {
	if cap(b) <= maxKept {
		records.Put(&b)
	}
}
