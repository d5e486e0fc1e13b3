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
// Whether a commit may begin a new file is known beforehand: see fill.
type wal struct {
	dir    string
	badger *badgerdb.DB

	fid  int      // number of the newest file
	fill fill     // of the newest file and its memtable
	late int      // files begun where none was expected; a test holds it at 0
	free freeRoom // of the disk

	mu     sync.Mutex // held to sync, and to go over to another file
	file   *os.File
	broken error // why a sync failed: the kernel tells that only once
	dirty  atomic.Bool
}

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
	if !w.fill.nearEnd(0) {
		return nil
	}
	return w.sync()
}

// follow takes note of a commit and what it took.
func (w *wal) follow(took fill) error {
	w.dirty.Store(true)
	before := w.fill
	w.fill = before.plus(took)
	_, err := os.Stat(w.path(w.fid + 1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for a new write-ahead log: %w", err)
	}
	return w.next(before, took)
}

// next goes over to a new file, which so far holds one commit. The old one
// held what was before.
func (w *wal) next(before, took fill) error {
	if !before.nearEnd(0) {
		w.late++
		if err := w.sync(); err != nil {
			return err
		}
	}
	f, err := w.open(w.fid + 1)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.file
	w.file = f
	w.fid++
	w.fill = took
	w.dirty.Store(true)
	return old.Close()
}

// sync returns once everything committed before is on stable storage. It is
// safe for concurrent use.
func (w *wal) sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	w.dirty.Store(false)
	if err := syncLog(w.file, w.badger); err != nil {
		w.broken = fmt.Errorf("syncing the write-ahead log: %w", err)
	}
	return w.broken
}

// syncDirty is sync where there is something to sync.
func (w *wal) syncDirty() error {
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
