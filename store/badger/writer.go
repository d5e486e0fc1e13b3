package badger

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/holdgate/holdgate/store"
)

// request is one call of Update or UpdateSoon.
type request struct {
	fn      func(store.Tx) error
	durable bool
	done    chan error // has room for the answer

	// mu is held while fn runs, so that whoever gives up can wait for it.
	mu    sync.Mutex
	begun bool
	gone  bool // the caller gave up; fn must not begin, nor begin again

	err error // what fn said; the writer's
}

// queue holds the requests that wait, in order. wake has an element where
// there may be something new.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	wake    chan struct{}
}

func (q *queue) add(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return store.ErrClosed
	}
	q.waiting = append(q.waiting, r)
	signal(q.wake)
	return nil
}

// take returns all that wait, using spare for those to come, and reports
// whether more can come.
func (q *queue) take(spare []*request) (list []*request, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, q.waiting = q.waiting, spare[:0]
	return list, !q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	signal(q.wake)
}

// Update implements [store.Store]. It must not be called from within a
// function of Update or UpdateSoon: it would wait for itself.
func (d *db) Update(ctx context.Context, fn func(store.Tx) error) error {
	return d.submit(ctx, &request{fn: fn, durable: true, done: make(chan error, 1)})
}

// UpdateSoon implements [store.Store]; the same holds for it as for Update.
func (d *db) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return d.submit(ctx, &request{fn: fn, done: make(chan error, 1)})
}

func (d *db) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.queue.add(r); err != nil {
		return err
	}
	var err error
	select {
	case err = <-r.done:
	case <-ctx.Done():
		err = r.abandon(ctx)
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		panic(p.value)
	}
	return err
}

// answer ends the request, unless it has its answer.
func (r *request) answer(err error) {
	select {
	case r.done <- err:
	default:
	}
}

// abandon removes a request that has not begun. Where it has, it waits for
// its function, though not for the commit.
func (r *request) abandon(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	if !r.begun {
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	default:
		return fmt.Errorf("waiting for the commit, which may yet succeed: %w", ctx.Err())
	}
}

// write is the writer: it runs until the queue is closed and empty.
func (d *db) write() {
	var list, spare []*request
	ended := false
	defer func() {
		if ended {
			d.journal.close()
			close(d.done)
		} else {
			d.replaceWriter(list)
		}
	}()
	for open := true; ; {
		d.journal.awaitTaken() // more than one batch ahead would only be a smaller batch
		runtime.Gosched()      // a commit costs far more than what is in it: whoever is about to ask shares it
		list, open = d.queue.take(spare)
		for rest := list; len(rest) > 0; {
			rest = d.runBatch(rest)
		}
		clear(list)
		spare = list
		if len(list) > 0 {
			continue
		}
		if !open {
			ended = true
			return
		}
		<-d.queue.wake
	}
}

// replaceWriter is for a function that ended the writer's goroutine, as a
// test's FailNow does. That can't be undone; so that nobody waits for ever, the
// store fails, and a new writer says so to all.
func (d *db) replaceWriter(list []*request) {
	err := d.fail(errors.New("a function of an update ended its goroutine"))
	for _, r := range list {
		r.answer(err)
	}
	d.workers.Go(d.write)
}

// batch is what goes into one transaction.
type batch struct {
	changes map[string]change
	size    int // bytes of keys and values
	count   int // entries that it becomes at the most
	durable bool
	served  []*request
}

// runBatch runs the functions in order until the batch is full, and commits it;
// the keeper answers. It returns the requests that are left, the first of which
// did not fit: it runs again, on what is then committed.
func (d *db) runBatch(list []*request) (rest []*request) {
	b := &batch{changes: make(map[string]change)}
	if err := d.failed(); err != nil {
		b.served = slices.Clone(list)
		d.journal.add(&item{batch: b, err: err})
		return nil
	}
	base := newReader(d.badger, d.version)
	for len(list) > 0 && d.runOne(b, base, list[0]) {
		list = list[1:]
	}
	base.close()
	if err := d.commitBatch(b); err != nil {
		d.journal.add(&item{batch: b, err: err})
	}
	return list
}

// runOne runs one function and adds what it wrote to the batch. It reports
// false, and leaves nothing, where the batch has no room for that.
func (d *db) runOne(b *batch, base reader, r *request) bool {
	tx := &updateTx{base: base, batch: b.changes, own: make(map[string]change)}
	if !r.run(tx) {
		b.served = append(b.served, r)
		return true
	}
	size, count := 0, len(tx.own)
	for key, c := range tx.own {
		size += c.size(key)
		if old, ok := d.large[key]; ok {
			count += 1 + int(old.count) // see removal
		}
	}
	switch {
	case r.err != nil:
	case size > maxBatch || count > maxBatchCount:
		r.err = fmt.Errorf("the function wrote %d keys, pieces to remove included, and %d bytes, more than %d and %d: %w",
			count, size, maxBatchCount, maxBatch, store.ErrTooLarge)
	case b.size+size > maxBatch || b.count+count > maxBatchCount:
		return false
	default:
		for key, c := range tx.own {
			b.changes[key] = c
		}
		b.size += size
		b.count += count
		b.durable = b.durable || r.durable && len(tx.own) > 0
	}
	b.served = append(b.served, r)
	return true
}

// run runs the request's function, unless its caller has gone.
func (r *request) run(tx *updateTx) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return false
	}
	r.begun = true
	r.err = guard(func() error { return r.fn(tx) })
	tx.ended = true
	return true
}

// panicked carries a panic from the writer to the caller of Update.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("the function panicked: %v", p.value) }

// guard turns a panic of fn into an error.
func guard(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v}
		}
	}()
	return fn()
}

// commitBatch commits what the batch holds. Where it returns an error the batch
// is still to be answered.
func (d *db) commitBatch(b *batch) error {
	if len(b.changes) == 0 {
		d.journal.add(&item{batch: b})
		return nil
	}
	if err := d.mem.room(b.changes); err != nil {
		return err
	}
	if err := d.commit(b); err != nil {
		return d.fail(err)
	}
	return nil
}
