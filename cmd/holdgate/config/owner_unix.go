//go:build !windows

package config

import (
	"fmt"
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

// keepOwner gives a new file the owner and the group of the one that it replaces.
func keepOwner(f *os.File, old fs.FileInfo) error {
	made, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok1 := made.Sys().(*syscall.Stat_t)
	was, ok2 := old.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("keeping its owner and group: %w", err)
	}
	return nil
}
