// Package badger keeps a [store.Store] in a folder, with Badger underneath.
//
// # Writing
//
// One goroutine, the writer, runs the functions given to Update and UpdateSoon,
// one after the other in the order of their calls, so a function sees
// everything that came before it and no conflict exists. Each runs on an overlay
// of its own: a function that fails or panics leaves nothing behind. What all
// the waiting functions wrote goes to Badger as one transaction (a batch). A
// second goroutine, the keeper, meanwhile appends the same to a log of our own
// (package wal) and syncs it; while it does, the writer goes on to the next
// batch. One sync serves a batch, or several. A batch of UpdateSoon alone is
// answered unsynced, and synced within syncSoon.
//
// # Reading
//
// Readers see a batch once its callers are answered, not before: nobody acts
// on an outcome that a power cut could still take away. For this the package
// numbers Badger's versions itself (its managed mode). An update that wrote
// nothing is answered in its turn too: it may have read what is not synced yet.
//
// # What a power cut can take
//
// Only what was not synced, the latest first. Badger has a log of its own, one
// file for each memtable; it is never synced while the store is open, and what
// a power cut leaves of it is filled up from ours when the store is opened (see
// catchUp). Ours is kept until Badger has put the memtable into a table, which
// it syncs; so it is about as large as the memtables. Syncing it instead of
// Badger's makes a batch half as fast again: Badger writes its log through a
// mapping of blocks that the filesystem has not yet seen written.
//
// A batch that may begin a new memtable waits until everything before it is
// synced (see memtables), so that no memtable outlives the one before it.
//
// # Sizes
//
// All that one function sets and deletes must stay under 2 MiB, keys included,
// except that a value over 256 KiB counts as a few bytes: it is written ahead
// in pieces which nothing names until the transaction itself commits (see
// piece). Each piece of a value that it replaces or deletes counts as a key of
// the 20,000. Nothing ever reaches Badger's value log, which would need a garbage
// collection of its own.
//
// # Failing
//
// A table or a log that is damaged keeps the store from being opened: see [ErrDamaged].
// What is damaged of a table that has nothing but cold keys ([Cold]) is missing.
// Where a commit or a sync fails the store is failed for good: every later
// Update returns an error that wraps the cause, and reads go on. A disk that
// is nearly full refuses updates before it comes to that, and takes them again
// once there is room.
package badger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	badgerdb "github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
	"github.com/holdgate/holdgate/store/wal"
)

const (
	// memTableSize is the size of Badger's memtables and decides how much is
	// replayed after a crash. Badger takes 15 % of it in one transaction.
	memTableSize = 16 << 20
	// lockWait is how long an open waits for a folder that another has locked,
	// and lockPoll how often it looks.
	lockWait = 500 * time.Millisecond
	lockPoll = 20 * time.Millisecond
	// syncSoon is how long a write of UpdateSoon waits for its sync at the most.
	syncSoon = 50 * time.Millisecond
)

// db is the Store.
type db struct {
	badger *badgerdb.DB
	logger *slog.Logger

	queue    *serial.Queue
	watchers serial.Watchers
	snaps    snapshots
	large    map[string]ref // the keys whose values are in pieces; the writer's

	log     *wal.Log // the keeper's
	stopped error    // why the keeper keeps nothing more; the keeper's
	journal *journal
	mem     *memtables
	version uint64 // of the newest commit; the writer's
	failure atomic.Pointer[error]

	tidying chan struct{} // tells tidy that there is something to do
	done    chan struct{} // closed when the writer has ended
	workers sync.WaitGroup

	closing  sync.Once
	closeErr error

	onSync func(took time.Duration, err error) // the keeper's; nil: nobody asks
}

var (
	_ store.Store     = (*db)(nil)
	_ store.Disk      = (*db)(nil)
	_ store.Reclaimer = (*db)(nil)
)

// An Option changes how [Open] opens a store.
type Option func(*opening)

// opening is how a store is opened.
type opening struct {
	badgerdb.Options

	onSync func(took time.Duration, err error)
	cold   []string
}

// WithoutCompaction keeps Badger from merging its tables. It is for a small
// store in a test that lets hours pass on a clock of its own: the compactors
// look for work twenty times a second, on that clock too.
func WithoutCompaction() Option {
	return func(o *opening) { o.Options = o.WithNumCompactors(0) }
}

// OnSync has fn told of each sync of the log, by one goroutine that waits for it.
func OnSync(fn func(took time.Duration, err error)) Option {
	return func(o *opening) { o.onSync = fn }
}

// Cold says that whoever reads the keys under prefix finds out alone where one is missing.
// Open does not check all of them, so that it takes no longer the more there are. Keys in a
// block that is damaged seem not to be there; where a compaction reads the block, neither
// are those behind it in its table.
func Cold(prefix string) Option {
	return func(o *opening) { o.cold = append(o.cold, prefix) }
}

// Open opens the store in dir, creating the folder where there is none. A
// folder that another process still uses after half a second is an error that wraps
// [ErrInUse].
func Open(dir string, logger *slog.Logger, options ...Option) (store.Store, error) {
	return open(dir, logger, options...)
}

func open(dir string, logger *slog.Logger, options ...Option) (*db, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the store's folder: %w", err)
	}
	if err := wal.SyncDir(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, fmt.Errorf("creating the store's folder: %w", err)
	}
	o := opening{Options: settings(dir, logger)}
	for _, option := range options {
		option(&o)
	}
	if err := whileUnused(dir, func() error { return errors.Join(removeEmpty(dir), checkRoom(dir), verifyTables(dir, o)) }); err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	b, err := openLocked(o.Options)
	if err != nil {
		return nil, openError(dir, err)
	}
	d := &db{
		badger:  b,
		logger:  logger,
		version: b.MaxVersion(),
		journal: newJournal(),
		tidying: make(chan struct{}, 1),
		done:    make(chan struct{}),
		queue:   serial.NewQueue(),
		onSync:  o.onSync,
	}
	if err := d.start(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %s: %w", dir, err), b.Close())
	}
	return d, nil
}

// start takes up what Badger and the log hold, and starts the writer, the
// keeper and tidy; Close waits for all three.
func (d *db) start(dir string) (err error) {
	if d.mem, err = newMemtables(dir); err != nil {
		return err
	}
	if d.log, err = wal.Open(dir); err != nil {
		if errors.Is(err, wal.ErrDamaged) {
			return fmt.Errorf("%w (%w)", ErrDamaged, err)
		}
		return err
	}
	if err := d.catchUp(); err != nil {
		return errors.Join(err, d.log.Close())
	}
	d.workers.Go(d.keep)
	if err := d.takeUpPieces(); err != nil {
		d.journal.close()
		d.workers.Wait()
		return errors.Join(err, d.log.Close())
	}
	d.snaps.publish(d.version)
	d.workers.Go(d.write)
	d.workers.Go(d.tidy)
	return nil
}

// settings are chosen for a laptop: small memtables, small caches, two
// compactors. Conflicts cannot happen under one writer.
func settings(dir string, logger *slog.Logger) badgerdb.Options {
	return badgerdb.DefaultOptions(dir).
		WithLogger(bridge{logger}).
		WithSyncWrites(false).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithMemTableSize(memTableSize).
		WithNumMemtables(3).
		WithValueThreshold(1 << 20).
		WithValueLogFileSize(4 << 20).
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(4 << 20).
		WithNumCompactors(2).
		WithNumGoroutines(2)
}

// View implements [store.Store].
func (d *db) View(ctx context.Context, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	version, err := d.snaps.enter()
	if err != nil {
		return err
	}
	defer d.snaps.leave(version)
	r := newReader(d.badger, version)
	defer r.close()
	return fn(serial.View{Reader: r})
}

// Watch implements [store.Store].
func (d *db) Watch(ctx context.Context, prefix string) store.Watcher {
	return d.watchers.Add(ctx, prefix)
}

// Close implements [store.Store]. Updates that wait are run and answered;
// later ones get [store.ErrClosed]. It waits for functions that run, so it
// must not be called from one.
func (d *db) Close() error {
	d.closing.Do(func() {
		d.queue.Close()
		d.workers.Wait()
		d.snaps.close()
		d.watchers.Close()
		d.closeErr = d.closeFiles()
	})
	return d.closeErr
}

// closeFiles closes Badger, which then has everything in tables, and frees the
// log. Where the disk has no room for the tables it leaves all as a crash would: the log
// has what the tables lack.
func (d *db) closeFiles() error {
	left, err := d.mem.files()
	if err == nil {
		err = room(d.mem.dir, int64(len(left))*memtableRoom)
	}
	if err != nil {
		d.logger.Warn("the database is left as it is until it is opened again", "cause", err)
		return d.log.Close()
	}
	err = d.badger.Close()
	if err == nil && d.failed() == nil {
		if err = wal.SyncDir(d.mem.dir); err == nil {
			err = d.log.Start(d.version + 1)
		}
	}
	return errors.Join(err, d.log.Close())
}

// failed returns why the store takes no more updates, or nil.
func (d *db) failed() error {
	if e := d.failure.Load(); e != nil {
		return *e
	}
	return nil
}

// fail turns the store to its failed state; the first cause stays.
func (d *db) fail(cause error) error {
	err := fmt.Errorf("%w: %w", store.ErrFailed, cause)
	if d.failure.CompareAndSwap(nil, &err) {
		d.logger.Error("the store has failed; reads go on, writes are refused", "cause", cause)
	}
	return d.failed()
}

// ErrInUse says that another process has the store's folder open.
var ErrInUse = errors.New("the folder is used by another holdgate")

// openLocked opens Badger, and waits for up to lockWait while the folder is
// locked: a child that the last holder was just starting keeps the lock from its
// fork to its exec, however soon the holder itself let go.
func openLocked(o badgerdb.Options) (*badgerdb.DB, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPoll) {
		b, err := badgerdb.OpenManaged(o)
		if err == nil || !isLocked(err) || time.Now().After(end) {
			return b, err
		}
	}
}

// isLocked reports whether Badger could not lock its folder.
func isLocked(err error) bool {
	return strings.Contains(err.Error(), "Cannot acquire directory lock")
}

// openError names the other process where Badger could not lock the folder.
func openError(dir string, err error) error {
	if !isLocked(err) {
		if strings.Contains(err.Error(), ".vlog") {
			return fmt.Errorf("opening the store in %s: %w: nothing is kept in its .vlog files, which can be removed", dir, err)
		}
		return fmt.Errorf("opening the store in %s: %w", dir, err)
	}
	who := "its process id is not known"
	if pid, err := os.ReadFile(filepath.Join(dir, "LOCK")); err == nil && len(pid) > 1 {
		who = "process " + strings.TrimSpace(string(pid))
	}
	return fmt.Errorf("opening the store in %s: %w (%s): stop that one, or give this one a state folder of its own", dir, ErrInUse, who)
}
