package badger

import (
	"fmt"
	"time"

	badgerdb "github.com/dgraph-io/badger/v4"

	"github.com/holdgate/holdgate/store/wal"
)

// commitLimit is how long Badger may take for a commit. It waits for ever
// where it cannot write its tables, so whoever waits for it must not.
const commitLimit = 30 * time.Second

// commit writes the batch's changes as one transaction, the pieces of large
// values ahead of it.
func (d *db) commit(b *batch) error {
	changes := b.changes
	entries := make([]*badgerdb.Entry, 0, len(changes))
	for key, c := range changes {
		if old, ok := d.large[key]; ok {
			entries = append(entries, old.removal()...)
			delete(d.large, key)
		}
		switch {
		case c.Deleted:
			entries = append(entries, tombstone(pairKey(key)))
		case len(c.Value) > maxInline:
			f, err := d.writeAhead(key, c.Value)
			if err != nil {
				return err
			}
			d.large[key] = f
			entries = append(entries, badgerdb.NewEntry(pairKey(key), f.encode()).WithMeta(metaPieces))
		default:
			entries = append(entries, badgerdb.NewEntry(pairKey(key), c.Value))
		}
	}
	return d.commitEntries(entries, b)
}

// tombstone returns an entry that [db.commitEntries] deletes: one without a
// value of its own kind.
func tombstone(key []byte) *badgerdb.Entry {
	return badgerdb.NewEntry(key, nil).WithMeta(metaDeleted)
}

// metaDeleted marks an entry to be deleted; it is never stored.
const metaDeleted = 0xff

// commitEntries commits the entries under the next version, and hands them to
// the journal. The batch, where they end one, is answered when they are in the
// log and in Badger; so where it is not handed over there is an error.
func (d *db) commitEntries(entries []*badgerdb.Entry, b *batch) error {
	if d.mem.fill.nearEnd(0) {
		if err := d.flush(); err != nil {
			return err
		}
	}
	record := wal.Begin(*records.Get().(*[]byte))
	i := &item{
		record:    appendPayload(record, d.mem.fid, entries),
		durable:   b != nil && b.durable,
		version:   d.version + 1,
		committed: make(chan error, 1),
		batch:     b,
	}
	d.journal.add(i)
	err := d.apply(entries, d.version+1)
	if err != nil {
		err = d.fail(err)
	}
	i.committed <- err
	if b != nil {
		return nil
	}
	return err
}

// apply commits the entries to Badger under the version.
func (d *db) apply(entries []*badgerdb.Entry, version uint64) error {
	txn := d.badger.NewTransactionAt(version-1, true)
	defer txn.Discard()
	took := endFill(version)
	for _, e := range entries {
		took = took.plus(entryFill(e))
		var err error
		if e.UserMeta == metaDeleted {
			err = txn.Delete(e.Key)
		} else {
			err = txn.SetEntry(e)
		}
		if err != nil {
			return fmt.Errorf("preparing a commit: %w", err)
		}
	}
	d.version = version
	if err := d.commitAt(txn, version); err != nil {
		return fmt.Errorf("committing version %d: %w", version, err)
	}
	return d.mem.follow(took, version)
}

// commitAt commits. Where a new memtable may be needed Badger may wait for its
// tables to be written, and commitAt gives up after commitLimit.
func (d *db) commitAt(txn *badgerdb.Txn, version uint64) error {
	if !d.mem.fill.nearEnd(0) {
		return txn.CommitAt(version, nil)
	}
	answer := make(chan error, 1)
	if err := txn.CommitAt(version, func(err error) { answer <- err }); err != nil {
		return err
	}
	timer := time.NewTimer(commitLimit)
	defer timer.Stop()
	select {
	case err := <-answer:
		return err
	case <-timer.C:
		return fmt.Errorf("no answer from the database within %v", commitLimit)
	}
}
