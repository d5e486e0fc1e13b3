package undo

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openFile opens a file for the agent.
func (c *call) openFile(dirfd int32, arg, flags int, mode uint32) result {
	if flags&unix.O_PATH != 0 {
		return failed(errContinue)
	}
	temporary := flags&unix.O_TMPFILE == unix.O_TMPFILE
	follow := flags&unix.O_NOFOLLOW == 0 && flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
	t, err := c.target(dirfd, c.args[arg], follow)
	if err != nil {
		return failed(err)
	}
	defer t.close()
	exists, err := c.openable(t, flags)
	if err != nil {
		return failed(err)
	}
	if exists {
		flags &^= unix.O_CREAT // its mode stays
	}
	if flags&unix.O_CREAT != 0 || temporary {
		if mode, err = c.masked(mode & 0o7777); err != nil {
			return failed(err)
		}
	} else {
		mode = 0
	}
	fd, err := c.run.tree.openForWriting(t.place, flags, mode)
	if err != nil {
		return failed(err)
	}
	return result{fd: fd, open: true, flags: uint32(flags & unix.O_CLOEXEC)}
}

// openable refuses what must not be written, and leaves to the kernel what only
// reads.
func (c *call) openable(t target, flags int) (exists bool, err error) {
	_, err = t.stat()
	exists = err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return exists, err
	}
	writes := flags&(unix.O_WRONLY|unix.O_RDWR|unix.O_TRUNC) != 0
	switch {
	case exists && !writes && flags&unix.O_EXCL == 0:
		return exists, errContinue
	case exists && flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return exists, unix.EEXIST
	case !exists && flags&unix.O_CREAT == 0:
		return exists, unix.ENOENT
	case c.guarded(t.rel), c.guardedFile(t.place):
		return exists, unix.EROFS
	}
	return exists, c.later(t.rel)
}

// openat2 reads what is asked; ways of resolving other than the usual are not
// there for what writes in the folder.
func (c *call) openat2() result {
	how, err := c.words(2, 3)
	if err != nil || how == nil {
		return failed(errors.Join(err, unix.EFAULT))
	}
	const writes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	if how[0]&writes == 0 {
		return failed(errContinue)
	}
	if how[2] == 0 {
		return c.openFile(c.fd(0), 1, int(how[0]), uint32(how[1]))
	}
	t, err := c.target(c.fd(0), c.args[1], true)
	if err != nil {
		return failed(err)
	}
	t.close()
	return failed(unix.ENOSYS)
}
