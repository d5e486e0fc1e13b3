package approvals

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/store"
)

// ErrDiskFull says that the store's disk has no room for anything new. It goes
// by itself once there is room.
var ErrDiskFull = errors.New("the disk is nearly full")

// checkSpace returns an error that wraps ErrDiskFull where something new of n bytes
// would take what is kept in reserve.
func (q *Queue) checkSpace(n int64) error { return leaves(q.disk, q.c.Reserve, n) }

// strainEvery is how old an answer of Strained may be. In that time agents' calls
// add tens of KiB to the log, and the reserve is of MiB.
const strainEvery = 20 * time.Millisecond

// A strain is what Strained found out, and when.
type strain struct {
	at  time.Time
	err error
}

// Strained returns an error that wraps [ErrDiskFull] where half the reserve is
// gone. Then agents may do nothing any more, for each of their calls takes room
// in the log: what is left is for what people decide. As it is asked about each
// call, it does not look at the disk each time.
func (q *Queue) Strained() error {
	if s := q.strain.Load(); s != nil && time.Since(s.at) < strainEvery {
		return s.err
	}
	s := &strain{time.Now(), leaves(q.disk, q.c.Reserve/2, 0)}
	q.strain.Store(s)
	return s.err
}

// leaves returns an error unless n bytes can be written to a disk and so many are left.
func leaves(disk store.Disk, reserve, n int64) error {
	if disk == nil || reserve <= 0 {
		return nil
	}
	free, err := disk.Free()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	if free-n >= reserve {
		return nil
	}
	return fmt.Errorf("%w: %d KiB can still be written, and limits.disk_reserve keeps %d KiB for decisions and the log: free some space where the state folder is",
		ErrDiskFull, free>>10, reserve>>10)
}
