package undo

import (
	"encoding/binary"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// sysFchmodat2 has one number on all processors.
const sysFchmodat2 = 452

// handlers make the calls that a confinement stops, by number.
var handlers = join(map[uint32]func(*call) result{
	unix.SYS_OPENAT:  func(c *call) result { return c.openFile(c.fd(0), 1, c.flags(2), uint32(c.args[3])) },
	unix.SYS_OPENAT2: (*call).openat2,

	unix.SYS_MKDIRAT:   func(c *call) result { return c.mkdir(c.fd(0), 1, uint32(c.args[2])) },
	unix.SYS_MKNODAT:   func(c *call) result { return c.mknod(c.fd(0), 1, uint32(c.args[2])) },
	unix.SYS_UNLINKAT:  func(c *call) result { return c.unlinkat(c.fd(0), 1, c.flags(2)) },
	unix.SYS_SYMLINKAT: func(c *call) result { return c.symlink(0, c.fd(1), 2) },
	unix.SYS_LINKAT:    func(c *call) result { return c.link(c.fd(0), 1, c.fd(2), 3, c.flags(4)) },
	unix.SYS_RENAMEAT:  func(c *call) result { return c.rename(c.fd(0), 1, c.fd(2), 3, 0) },
	unix.SYS_RENAMEAT2: func(c *call) result { return c.rename(c.fd(0), 1, c.fd(2), 3, uint(c.flags(4))) },

	unix.SYS_FCHMOD:    func(c *call) result { return c.changeOpen(c.fd(0), c.toMode(1)) },
	unix.SYS_FCHMODAT:  func(c *call) result { return c.change(c.fd(0), 1, 0, c.toMode(2)) },
	sysFchmodat2:       func(c *call) result { return c.change(c.fd(0), 1, c.flags(3), c.toMode(2)) },
	unix.SYS_FCHOWN:    func(c *call) result { return c.changeOpen(c.fd(0), c.toOwner(1, 2)) },
	unix.SYS_FCHOWNAT:  func(c *call) result { return c.change(c.fd(0), 1, c.flags(4), c.toOwner(2, 3)) },
	unix.SYS_UTIMENSAT: (*call).utimensat,
	unix.SYS_TRUNCATE:  func(c *call) result { return c.change(unix.AT_FDCWD, 0, 0, c.toSize(1)) },

	unix.SYS_UMASK: (*call).maskChanges,

	unix.SYS_FACCESSAT:  func(c *call) result { return c.access(c.fd(0), 1, uint32(c.args[2]), 0) },
	unix.SYS_FACCESSAT2: func(c *call) result { return c.access(c.fd(0), 1, uint32(c.args[2]), c.flags(3)) },
}, older)

func join(a, b map[uint32]func(*call) result) map[uint32]func(*call) result {
	for n, do := range b {
		a[n] = do
	}
	return a
}

func (c *call) fd(arg int) int32  { return int32(c.args[arg]) }
func (c *call) flags(arg int) int { return int(int32(c.args[arg])) }

// failed is the result of what may have failed.
func failed(err error) result { return result{err: err} }

// place finds what is to be changed, and refuses what must not be. gone says
// whether its name may go, too.
func (c *call) place(dirfd int32, arg int, follow, gone bool) (target, error) {
	t, err := c.target(dirfd, c.args[arg], follow)
	if err != nil {
		return t, err
	}
	switch {
	case gone && c.pinned(t.rel):
		err = unix.EBUSY // as a mount is
	case c.guarded(t.rel), c.guardedFile(t.place):
		err = unix.EROFS
	}
	if err != nil {
		t.close()
	}
	return t, err
}

// guardedFile reports whether a place is another name of a file that must not
// be changed.
func (c *call) guardedFile(p place) bool {
	if len(c.files) == 0 {
		return false
	}
	st, err := p.stat()
	return err == nil && c.files[st.id]
}

// at finds what is to be changed and changes it.
func (c *call) at(dirfd int32, arg int, follow, gone bool, do func(target) error) result {
	t, err := c.place(dirfd, arg, follow, gone)
	if err != nil {
		return failed(err)
	}
	defer t.close()
	return failed(do(t))
}

// masked is a mode without what the caller's umask takes.
func (c *call) masked(mode uint32) (uint32, error) {
	mask, err := c.umask()
	return mode &^ (mask & 0o777), err
}

func (c *call) mkdir(dirfd int32, arg int, mode uint32) result {
	return c.at(dirfd, arg, false, false, func(t target) error {
		mode, err := c.masked(mode)
		if err != nil {
			return err
		}
		if _, err := t.stat(); err == nil {
			return unix.EEXIST
		}
		return c.run.tree.mkdir(t.place, mode)
	})
}

func (c *call) mknod(dirfd int32, arg int, mode uint32) result {
	return c.at(dirfd, arg, false, false, func(t target) error {
		mode, err := c.masked(mode)
		if err != nil {
			return err
		}
		if err := c.later(t.rel); err != nil {
			return err
		}
		return c.run.tree.mknod(t.place, mode)
	})
}

func (c *call) unlinkat(dirfd int32, arg, flags int) result {
	if flags&^unix.AT_REMOVEDIR != 0 {
		return failed(unix.EINVAL)
	}
	return c.at(dirfd, arg, false, true, func(t target) error {
		switch {
		case t.dot && flags != 0:
			return unix.EINVAL
		case flags != 0:
			return c.run.tree.rmdir(t.place)
		}
		if st, err := t.stat(); err == nil {
			if err := c.laterGone(t.rel, st); err != nil {
				return err
			}
		}
		return c.run.tree.unlink(t.place)
	})
}

func (c *call) symlink(text int, dirfd int32, arg int) result {
	to, err := c.text(c.args[text])
	if err != nil {
		return failed(err)
	}
	return c.at(dirfd, arg, false, false, func(t target) error {
		if err := c.later(t.rel); err != nil {
			return err
		}
		return c.run.tree.symlink(to, t.place)
	})
}

// edge is what is said of a call with two paths, of which one was found: where
// only one is in the folder, they are on two mounts.
func (c *call) edge(dirfd int32, arg int) result {
	t, err := c.target(dirfd, c.args[arg], false)
	if err != nil {
		return failed(err)
	}
	t.close()
	return failed(unix.EXDEV)
}

func (c *call) rename(fromFD int32, from int, toFD int32, to int, flags uint) result {
	a, err := c.place(fromFD, from, false, true)
	if errors.Is(err, errContinue) {
		return c.edge(toFD, to)
	}
	if err != nil {
		return failed(err)
	}
	defer a.close()
	b, err := c.place(toFD, to, false, true)
	if errors.Is(err, errContinue) {
		return failed(unix.EXDEV)
	}
	if err != nil {
		return failed(err)
	}
	defer b.close()
	if a.dot || b.dot {
		return failed(unix.EBUSY)
	}
	if done, err := c.configured(a.place, b.place, flags); done || err != nil {
		return failed(err)
	}
	if err := c.laterRename(a.place, b.place, flags); err != nil {
		return failed(err)
	}
	return failed(c.run.tree.rename(a.place, b.place, flags))
}

func (c *call) link(fromFD int32, from int, toFD int32, to int, flags int) result {
	text, err := c.text(c.args[from])
	if err != nil {
		return failed(err)
	}
	if flags&unix.AT_EMPTY_PATH != 0 && text == "" {
		return c.linkOpen(fromFD, toFD, to)
	}
	if number, ok := descriptor(text); ok && flags&unix.AT_SYMLINK_FOLLOW != 0 {
		return c.linkOpen(number, toFD, to)
	}
	a, err := c.place(fromFD, from, flags&unix.AT_SYMLINK_FOLLOW != 0, false)
	if errors.Is(err, errContinue) {
		return c.edge(toFD, to)
	}
	if errors.Is(err, unix.EROFS) {
		err = unix.EXDEV // it is a mount of its own there
	}
	if err != nil {
		return failed(err)
	}
	defer a.close()
	r := c.at(toFD, to, false, false, func(t target) error {
		for _, rel := range []string{a.rel, t.rel} { // by another name it could be written
			if err := c.later(rel); err != nil {
				return err
			}
		}
		return c.run.tree.link(a.place, t.place)
	})
	if errors.Is(r.err, errContinue) {
		r.err = unix.EXDEV
	}
	return r
}

// linkOpen gives a name to a file that was made without one.
func (c *call) linkOpen(fd, toFD int32, to int) result {
	r := c.at(toFD, to, false, false, func(t target) error {
		theirs, err := c.file(fd)
		if err != nil {
			return err
		}
		defer unix.Close(theirs)
		st, err := stat(theirs, "")
		if err != nil {
			return err
		}
		if !c.run.tree.made(st) {
			return unix.EXDEV // as a link from what is mounted read-only is
		}
		if err := c.later(t.rel); err != nil {
			return err
		}
		return c.run.tree.linkOpen(theirs, t.place)
	})
	return r
}

// file is a descriptor of the agent's.
func (c *call) file(fd int32) (int, error) {
	return unix.Open(c.proc("fd/"+strconv.Itoa(int(fd))), unix.O_PATH|unix.O_CLOEXEC, 0)
}

func (c *call) access(dirfd int32, arg int, mode uint32, flags int) result {
	if flags&unix.AT_EMPTY_PATH != 0 {
		return failed(errContinue)
	}
	t, err := c.target(dirfd, c.args[arg], flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	if err != nil {
		return failed(err)
	}
	defer t.close()
	if _, err := t.stat(); err != nil {
		return failed(err)
	}
	if c.guarded(t.rel) || c.guardedFile(t.place) {
		return failed(unix.EROFS)
	}
	return failed(unix.Faccessat(t.dir, t.name, mode, 0))
}

// A changing is what is done to mode, owner, times or size.
type changing func(place) error

func (c *call) toMode(arg int) changing {
	return func(p place) error {
		st, err := p.stat()
		if err != nil || st.kind() == unix.S_IFLNK {
			return errors.Join(err, unix.EOPNOTSUPP)
		}
		mode := uint32(c.args[arg]) & 0o7777
		if err := c.laterMode(p, st, mode); err != nil {
			return err
		}
		return c.run.tree.chmod(p, mode)
	}
}

func (c *call) toSize(arg int) changing {
	return func(p place) error {
		if err := c.later(p.rel); err != nil {
			return err
		}
		return c.run.tree.truncate(p, int64(c.args[arg]))
	}
}

// toOwner is for those that exist where the agent is: the user's own.
func (c *call) toOwner(uid, gid int) changing {
	return func(p place) error {
		u, g := int(int32(c.args[uid])), int(int32(c.args[gid]))
		if u != -1 && u != unix.Getuid() || g != -1 && g != unix.Getgid() {
			return unix.EPERM
		}
		return c.run.tree.chown(p, u, g)
	}
}

// change changes what a path leads to.
func (c *call) change(dirfd int32, arg, flags int, do changing) result {
	if flags&unix.AT_EMPTY_PATH != 0 {
		if text, err := c.text(c.args[arg]); err == nil && text == "" {
			return c.changeOpen(dirfd, do)
		}
	}
	return c.at(dirfd, arg, flags&unix.AT_SYMLINK_NOFOLLOW == 0, false, func(t target) error { return do(t.place) })
}

// changeOpen changes what a descriptor has open.
func (c *call) changeOpen(fd int32, do changing) result {
	p, err := c.opened(fd)
	if err != nil {
		return failed(err)
	}
	defer p.close()
	if c.guarded(p.rel) || c.guardedFile(p) {
		return failed(unix.EROFS)
	}
	return failed(do(p))
}

func (c *call) utimensat() result {
	ts, err := c.times(2)
	if err != nil {
		return failed(err)
	}
	do := func(p place) error { return c.run.tree.utimes(p, ts) }
	if c.args[1] == 0 {
		return c.changeOpen(c.fd(0), do)
	}
	return c.change(c.fd(0), 1, c.flags(3), do)
}

// times reads two times of the caller's memory; nil is now.
func (c *call) times(arg int) ([]unix.Timespec, error) {
	list, err := c.words(arg, 4)
	if list == nil || err != nil {
		return nil, err
	}
	return []unix.Timespec{{Sec: list[0], Nsec: list[1]}, {Sec: list[2], Nsec: list[3]}}, nil
}

// words reads numbers of the caller's memory; a null pointer is nil.
func (c *call) words(arg, n int) ([]int64, error) {
	if c.args[arg] == 0 {
		return nil, nil
	}
	buf := make([]byte, 8*n)
	got, err := c.memory(c.args[arg], buf)
	if err != nil || got != len(buf) {
		return nil, unix.EFAULT
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(buf[8*i:]))
	}
	return list, nil
}
