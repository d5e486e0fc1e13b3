package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
	"github.com/holdgate/holdgate/store/wal"
)

const (
	// reserve is how much of the disk must stay free, in bytes: for the log, the
	// tables that full memtables become, and a compaction.
	reserve = 4*memTableSize + 2*wal.SegmentSize
	// checkEvery is after how many bytes written the disk is looked at again.
	checkEvery = 1 << 20
)

// memtableRoom is what one memtable takes, in its file or as a table, in bytes; spare is
// for the files that Badger opens beside.
const (
	memtableRoom = memTableSize + 2*serial.MaxBatch
	spare        = 4 << 20
)

// checkRoom returns an error that wraps [store.ErrNoRoom] where the disk has no room for what
// opening the database writes: a table for each memtable that a crash has left, and the
// file of a new one. Badger writes both through mappings, and a write to a mapping that
// meets a full disk ends the process.
func checkRoom(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil {
		return err
	}
	return room(dir, int64(len(left)+1)*memtableRoom+spare)
}

// room returns an error that wraps [store.ErrNoRoom] where less than need is free, in bytes.
func room(dir string, need int64) error {
	free, err := freeBytes(dir)
	if err != nil {
		return fmt.Errorf("asking how much of the disk is free: %w", err)
	}
	if free < need {
		return fmt.Errorf("%w: %d MiB are free in %s, at least %d are needed", store.ErrNoRoom, free>>20, dir, need>>20)
	}
	return nil
}

// Free implements [store.Disk].
func (d *db) Free() (int64, error) {
	free, err := freeBytes(d.mem.dir)
	if err != nil {
		return 0, fmt.Errorf("asking how much of the disk is free: %w", err)
	}
	return max(free-reserve, 0), nil
}

// Reclaim implements [store.Reclaimer]. Badger merges what was deleted with the deletions when
// a level of its tables is full, which after a few deletions of much it is not for long.
func (d *db) Reclaim() error {
	version, err := d.snaps.enter() // Close waits for it
	if err != nil {
		return err
	}
	defer d.snaps.leave(version)
	if err := d.roomToMerge(); err != nil {
		return err
	}
	d.letForget()
	if err := d.badger.Flatten(1); err != nil {
		return fmt.Errorf("merging the database's tables: %w", err)
	}
	return nil
}

// roomToMerge returns an error that wraps [store.ErrNoRoom] where the disk may not hold every
// table a second time: merged ones are written before those that they replace are removed.
func (d *db) roomToMerge() error {
	names, err := filepath.Glob(filepath.Join(d.mem.dir, "*.sst"))
	if err != nil {
		return err
	}
	need := int64(reserve)
	for _, name := range names {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // Badger has just merged it
		}
		if err != nil {
			return fmt.Errorf("asking how large the database's tables are: %w", err)
		}
		need += info.Size()
	}
	return room(d.mem.dir, need)
}

// diskSpace watches how much of a disk is free. It is the writer's.
type diskSpace struct {
	dir   string
	known int64 // bytes that were free at the last look, less those written since
	since int   // bytes written since
}

// checkSpace returns an error that wraps [store.ErrNoRoom] where the disk has too little
// room for a batch. The disk is looked at again after checkEvery bytes, while
// it is nearly full, and before a new memtable may begin.
func (m *memtables) checkSpace(changes map[string]serial.Change) error {
	n := 0
	for key, c := range changes {
		n += 2*arenaNode + len(key) + len(c.Value)
	}
	r := &m.free
	r.since += n
	r.known -= int64(n)
	if r.known >= reserve && r.since < checkEvery && !m.fill.nearEnd(n) {
		return nil
	}
	free, err := freeBytes(r.dir)
	if err != nil {
		return fmt.Errorf("asking how much of the disk is free: %w", err)
	}
	r.known, r.since = free-int64(n), 0
	if r.known < reserve {
		return fmt.Errorf("%w: %d MiB are free in %s, at least %d are needed", store.ErrNoRoom, free>>20, r.dir, (reserve+n)>>20)
	}
	return nil
}
