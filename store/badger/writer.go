package badger

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
)

// Update implements [store.Store]. It must not be called from within a
// function of Update or UpdateSoon: it would wait for itself.
func (d *db) Update(ctx context.Context, fn func(store.Tx) error) error {
	return d.queue.Do(ctx, fn, true)
}

// UpdateSoon implements [store.Store]; the same holds for it as for Update.
func (d *db) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return d.queue.Do(ctx, fn, false)
}

// write is the writer: it runs until the queue is closed and empty.
func (d *db) write() {
	var list, spare []*serial.Request
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
		list, open = d.queue.Take(spare)
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
		<-d.queue.Wake()
	}
}

// replaceWriter is for a function that ended the writer's goroutine, as a
// test's FailNow does. That can't be undone; so that nobody waits for ever, the
// store fails, and a new writer says so to all.
func (d *db) replaceWriter(list []*serial.Request) {
	err := d.fail(errors.New("a function of an update ended its goroutine"))
	for _, r := range list {
		r.Answer(err)
	}
	d.workers.Go(d.write)
}

// batch is what goes into one transaction.
type batch struct {
	changes map[string]serial.Change
	size    int // bytes of keys and values
	count   int // entries that it becomes at the most
	durable bool
	served  []*serial.Request
}

// runBatch runs the functions in order until the batch is full, and commits it;
// the keeper answers. It returns the requests that are left, the first of which
// did not fit: it runs again, on what is then committed.
func (d *db) runBatch(list []*serial.Request) (rest []*serial.Request) {
	b := &batch{changes: make(map[string]serial.Change)}
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
func (d *db) runOne(b *batch, base reader, r *serial.Request) bool {
	tx := serial.Over(base, b.changes)
	if !r.Run(tx) {
		b.served = append(b.served, r)
		return true
	}
	size, count := 0, len(tx.Own)
	for key, c := range tx.Own {
		size += changeSize(key, c)
		if old, ok := d.large[key]; ok {
			count += 1 + int(old.count) // see removal
		}
	}
	switch {
	case r.Err != nil:
	case size > serial.MaxBatch || count > serial.MaxBatchCount:
		r.Err = fmt.Errorf("the function wrote %d keys, pieces to remove included, and %d bytes, more than %d and %d: %w",
			count, size, serial.MaxBatchCount, serial.MaxBatch, store.ErrTooLarge)
	case b.size+size > serial.MaxBatch || b.count+count > serial.MaxBatchCount:
		return false
	default:
		for key, c := range tx.Own {
			b.changes[key] = c
		}
		b.size += size
		b.count += count
		b.durable = b.durable || r.Durable && len(tx.Own) > 0
	}
	b.served = append(b.served, r)
	return true
}

// commitBatch commits what the batch holds. Where it returns an error the batch
// is still to be answered.
func (d *db) commitBatch(b *batch) error {
	if len(b.changes) == 0 {
		d.journal.add(&item{batch: b})
		return nil
	}
	if err := d.mem.checkSpace(b.changes); err != nil {
		return err
	}
	if err := d.commit(b); err != nil {
		return d.fail(err)
	}
	return nil
}
