package badger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	badgerdb "github.com/dgraph-io/badger/v4"

	"github.com/holdgate/holdgate/store/serial"
	"github.com/holdgate/holdgate/store/wal"
)

// loggedTxn is a record of the log as recovery sees it.
type loggedTxn struct {
	version uint64
	fid     int // of the memtable's file that it went to
	entries []byte
	segment string
}

// catchUp brings Badger to where the log ends, makes that durable, and begins
// the log anew.
//
// Of each memtable's file a crash leaves the beginning: everything up to some
// transaction, and nothing behind it. So where the last transaction that went
// to a file is there, so are all; where it isn't, halving finds the first that
// is missing. From the first one on that any file lacks, everything is committed
// again, in order, which leaves each key as it was last written whatever Badger
// had of that. Badger keeps the versions that are in the log (see tidy), so one
// that is not found was never there.
func (d *db) catchUp() error {
	txns, err := d.readLog()
	if err != nil {
		return err
	}
	missing, err := d.firstMissing(txns)
	if err != nil {
		return err
	}
	newest := d.version // what Badger has beyond the log's end stays the newest
	if err := d.recommit(txns[missing:]); err != nil {
		return fmt.Errorf("committing what the write-ahead log holds: %w", err)
	}
	if n := len(txns); n > 0 {
		newest = max(newest, txns[n-1].version)
	}
	d.version = newest
	// What a crash left in the memtables' files was perhaps never synced; from
	// here on it is read and built upon, and the log has it no more.
	if err := d.mem.syncAll(); err != nil {
		return err
	}
	return d.log.Start(d.version + 1)
}

// readLog reads all that the log holds.
func (d *db) readLog() (txns []loggedTxn, err error) {
	for r, err := range d.log.Records() {
		if errors.Is(err, wal.ErrDamaged) {
			return nil, fmt.Errorf("%w (%w)", ErrDamaged, err)
		}
		if err != nil {
			return nil, err
		}
		fid, entries, err := payloadFile(r.Payload)
		if err != nil {
			return nil, fmt.Errorf("%s: %w (record %d: %w)", r.Segment, ErrDamaged, r.Number, err)
		}
		if n := len(txns); n > 0 {
			txns[n-1].fid = fid // each names the file of the one before
		}
		txns = append(txns, loggedTxn{version: r.Number, fid: -1, entries: entries, segment: r.Segment})
	}
	return txns, nil
}

// firstMissing returns the index of the first transaction that Badger lacks.
func (d *db) firstMissing(txns []loggedTxn) (int, error) {
	for begin := 0; begin < len(txns); {
		end := begin + 1
		for end < len(txns) && txns[end].fid == txns[begin].fid {
			end++
		}
		there, err := d.has(txns[end-1])
		if err != nil {
			return 0, err
		}
		if !there {
			n := sort.Search(end-begin, func(i int) bool {
				there, e := d.has(txns[begin+i])
				err = errors.Join(err, e)
				return !there
			})
			return begin + n, err
		}
		begin = end
	}
	return len(txns), nil
}

// has reports whether Badger has a transaction. It has all of one or nothing.
func (d *db) has(t loggedTxn) (bool, error) {
	e, _, err := nextEntry(t.entries)
	if err != nil {
		return false, fmt.Errorf("%s: %w (record %d: %w)", t.segment, ErrDamaged, t.version, err)
	}
	txn := d.badger.NewTransactionAt(t.version, false)
	defer txn.Discard()
	it := txn.NewKeyIterator(e.Key, badgerdb.IteratorOptions{AllVersions: true})
	defer it.Close()
	it.Rewind()
	return it.Valid() && it.Item().Version() == t.version, nil
}

// recommit commits the transactions again, many at once under the version of
// the last: all or none of them are there afterwards. Before one that may begin
// a memtable all before it is synced: were the power to fail again, a newer
// memtable that is left would say that the older one lacks nothing.
func (d *db) recommit(txns []loggedTxn) error {
	last := make(map[string]*badgerdb.Entry)
	size, count := 0, 0
	for i, t := range txns {
		entries, err := decodeEntries(t.entries)
		if err != nil {
			return fmt.Errorf("%s: %w (record %d: %w)", t.segment, ErrDamaged, t.version, err)
		}
		if i > 0 && (size+len(t.entries) > serial.MaxBatch || count+len(entries) > serial.MaxBatchCount) {
			if err := d.recommitOne(last, txns[i-1].version); err != nil {
				return err
			}
			clear(last)
			size, count = 0, 0
		}
		for _, e := range entries {
			last[string(e.Key)] = e
		}
		size += len(t.entries)
		count += len(entries)
	}
	if len(txns) == 0 {
		return nil
	}
	return d.recommitOne(last, txns[len(txns)-1].version)
}

func (d *db) recommitOne(last map[string]*badgerdb.Entry, version uint64) error {
	if d.mem.fill.nearEnd(0) {
		if err := d.mem.syncAll(); err != nil {
			return err
		}
	}
	return d.apply(slices.Collect(maps.Values(last)), version)
}
