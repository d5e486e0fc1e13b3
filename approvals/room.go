package approvals

import (
	"errors"
	"fmt"
)

// ErrDiskFull says that the store's disk has no room for anything new. It goes
// by itself once there is room.
var ErrDiskFull = errors.New("the disk is nearly full")

// room returns an error that wraps ErrDiskFull where something new of n bytes
// would take what is kept in reserve.
func (q *Queue) room(n int64) error { return q.leaves(q.c.Reserve, n) }

// Strained returns an error that wraps [ErrDiskFull] where half the reserve is
// gone. Then agents may do nothing any more, for each of their calls takes room
// in the log: what is left is for what people decide.
func (q *Queue) Strained() error { return q.leaves(q.c.Reserve/2, 0) }

// leaves returns an error unless n bytes can be written and so many are left.
func (q *Queue) leaves(reserve, n int64) error {
	if q.disk == nil || reserve <= 0 {
		return nil
	}
	free, err := q.disk.Free()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	if free-n >= reserve {
		return nil
	}
	return fmt.Errorf("%w: %d KiB can still be written, and limits.disk_reserve keeps %d KiB for decisions and the log: free some space where the state folder is",
		ErrDiskFull, free>>10, reserve>>10)
}
