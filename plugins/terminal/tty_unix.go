//go:build !windows

package terminal

import (
	"io/fs"
	"syscall"
)

// openFlags open a device that is no link, without making it this process's terminal.
const openFlags = syscall.O_NOCTTY | syscall.O_NOFOLLOW

// identity says whose a file is, and which device.
func identity(info fs.FileInfo) (uid uint32, device uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return s.Uid, uint64(s.Rdev), true
}
