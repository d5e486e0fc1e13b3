package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	badgerdb "github.com/dgraph-io/badger/v4"
)

// wal follows the files of Badger's write-ahead log. Each memtable has one,
// NNNNN.mem, numbered upwards. Badger begins a new memtable at the start of a
// commit that finds the present one full, and deletes a file once its memtable
// is in a table, synced and listed in the synced manifest. Badger's Sync
// reaches the newest file only. Were a new file synced, or written back by the
// kernel, while the old one is not, a power cut would lose an earlier write and
// keep a later one. So before a commit that may begin a new file, the present
// one is synced; and after each commit wal looks for a new one, syncs the
// folder that names it, and from then on syncs that.
//
// Whether a commit may begin a new file is known from the room that the
// entries take in the memtable's arena. Only the height of each entry's tower
// is random there; arenaSlack is far beyond what chance adds up to.
type wal struct {
	dir    string
	badger *badgerdb.DB

	fid  int      // number of the newest file
	fill int      // bytes used in the memtable, as estimated
	late int      // files begun where none was expected; a test holds it at 0
	free freeRoom // of the disk

	swap  sync.Mutex // held to sync in the background, and to change file
	file  *os.File
	dirty atomic.Bool
}

const (
	arenaSlack = 64 << 10
	// What a node takes in the arena beside its key and value: its fixed part,
	// its tower's expected height of 1.5, padding; and what Badger adds to a
	// key (a version) and a value (two marks, an expiry).
	arenaNode = 16 + 6 + 7 + 8 + 3
)

// arenaSize is the room that an entry takes in a memtable.
func arenaSize(e *badgerdb.Entry) int { return arenaNode + len(e.Key) + len(e.Value) }

// openWAL finds the newest file. The database must just have been opened: it
// then has an empty memtable.
func openWAL(dir string, b *badgerdb.DB) (*wal, error) {
	w := &wal{dir: dir, badger: b, free: freeRoom{dir: dir}}
	names, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("looking for the write-ahead log: none found (%v)", err)
	}
	for _, name := range names {
		var fid int
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.mem", &fid); err != nil {
			return nil, fmt.Errorf("reading the number of %s: %w", name, err)
		}
		w.fid = max(w.fid, fid)
	}
	w.file, err = w.open(w.fid)
	return w, err
}

func (w *wal) path(fid int) string { return filepath.Join(w.dir, fmt.Sprintf("%05d.mem", fid)) }

// open opens a file of the log and keeps room for it on the disk, so that a
// write to Badger's mapping of it can't hit a full disk.
func (w *wal) open(fid int) (*os.File, error) {
	f, err := os.OpenFile(w.path(fid), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the write-ahead log: %w", err)
	}
	if err := allocate(f, memTableSize+2*maxBatch); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping room for the write-ahead log: %w", err), f.Close())
	}
	return f, syncDir(w.dir)
}

func (w *wal) close() error { return w.file.Close() }

// prepare makes ready for a commit.
func (w *wal) prepare() error {
	if w.fill < memTableSize-arenaSlack {
		return nil
	}
	return w.sync()
}

// follow takes note of a commit.
func (w *wal) follow(fill int) error {
	w.dirty.Store(true)
	w.fill += fill
	_, err := os.Stat(w.path(w.fid + 1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for a new write-ahead log: %w", err)
	}
	return w.next(fill)
}

// next goes over to a new file, which so far holds one commit.
func (w *wal) next(fill int) error {
	if w.fill-fill < memTableSize-arenaSlack {
		w.late++
		if err := w.sync(); err != nil {
			return err
		}
	}
	f, err := w.open(w.fid + 1)
	if err != nil {
		return err
	}
	w.swap.Lock()
	defer w.swap.Unlock()
	old := w.file
	w.file = f
	w.fid++
	w.fill = fill
	w.dirty.Store(true)
	return old.Close()
}

// sync returns once everything committed is on stable storage. It is the
// writer's.
func (w *wal) sync() error {
	w.dirty.Store(false)
	if err := syncLog(w.file, w.badger); err != nil {
		return fmt.Errorf("syncing the write-ahead log: %w", err)
	}
	return nil
}

// syncBehind is sync beside the writer, where there is something to sync.
func (w *wal) syncBehind() error {
	w.swap.Lock()
	defer w.swap.Unlock()
	if !w.dirty.Load() {
		return nil
	}
	return w.sync()
}

// syncAll syncs every file of the log. Badger may remove some meanwhile,
// having synced what they held.
func (w *wal) syncAll() error {
	names, err := filepath.Glob(filepath.Join(w.dir, "*.mem"))
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("syncing the write-ahead log: %w", err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("syncing %s: %w", name, err)
		}
	}
	return syncDir(w.dir)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing the store's folder: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("syncing the store's folder: %w", err)
	}
	return nil
}
