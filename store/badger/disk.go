package badger

import (
	"errors"
	"fmt"

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

// ErrDiskFull says that the disk has too little room for further writes. It
// goes by itself once there is room.
var ErrDiskFull = errors.New("the disk is nearly full")

// Free implements [store.Disk].
func (d *db) Free() (int64, error) {
	free, err := freeBytes(d.mem.dir)
	if err != nil {
		return 0, fmt.Errorf("asking how much of the disk is free: %w", err)
	}
	return max(free-reserve, 0), nil
}

// diskSpace watches how much of a disk is free. It is the writer's.
type diskSpace struct {
	dir   string
	known int64 // bytes that were free at the last look, less those written since
	since int   // bytes written since
}

// checkSpace returns an error that wraps [ErrDiskFull] where the disk has too little
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
		return fmt.Errorf("%w: %d MiB are free in %s, at least %d are needed", ErrDiskFull, free>>20, r.dir, (reserve+n)>>20)
	}
	return nil
}
