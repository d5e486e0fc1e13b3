//go:build !windows

package openfiles

import (
	"math"

	"golang.org/x/sys/unix"
)

// limit is how many descriptors this process may have.
func limit() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil || l.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(l.Cur)
}

// next is the number that the next descriptor gets; beyond all lines where there is none.
func next() int {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return math.MaxInt32
	}
	_ = unix.Close(fd)
	return fd
}
