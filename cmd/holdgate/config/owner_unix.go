//go:build !windows

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// othersWrite are the mode's bits with which others than the owner may write.
const othersWrite = 0o022

// trustedOwner reports whether a file belongs to this user or to root.
func trustedOwner(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int64(s.Uid) == int64(os.Geteuid()))
}
