package undo

import (
	"errors"

	"golang.org/x/sys/unix"
)

// meta keeps mode and times of a place that are to change.
func (t *tree) meta(p place, st status) error {
	if t.made(st) && !st.folder() { // what a folder holds may need its mode to be removed
		return nil
	}
	t.timed[st.id] = true
	_, err := t.journal.add(record{Op: opMeta, Path: []byte(p.rel), ID: st.id, Kind: st.kind(), Was: &st.was, Only: !t.made(st)})
	return err
}

// change keeps a place's mode and times and opens it, so that what is changed
// then is what was kept.
func (t *tree) change(p place, do func(fd int) error) error {
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	st, err := stat(fd, "")
	if err == nil {
		err = t.meta(p, st)
	}
	if err == nil {
		err = do(fd)
	}
	return err
}

func (t *tree) chmod(p place, mode uint32) error {
	return t.change(p, func(fd int) error { return unix.Fchmodat(unix.AT_FDCWD, procFD(fd), mode, 0) })
}

func (t *tree) chown(p place, uid, gid int) error {
	return t.change(p, func(fd int) error { return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH) })
}

// utimes sets times; nil is now.
func (t *tree) utimes(p place, ts []unix.Timespec) error {
	if ts == nil {
		ts = []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	}
	return t.change(p, func(int) error { return unix.UtimesNanoAt(p.dir, p.name, ts, unix.AT_SYMLINK_NOFOLLOW) })
}

func (t *tree) truncate(p place, size int64) error {
	fd, err := t.openForWriting(p, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Ftruncate(fd, size), unix.Close(fd))
}

// errNative says that a file is none of the tree's content: a fifo or a device,
// which a read-only mount lets be written.
var errNative = errors.New("not the content of the folder")

// settable are the flags of open that an agent may set of a file that is open.
const settable = unix.O_APPEND | unix.O_NONBLOCK | unix.O_DIRECT | unix.O_NOATIME

// openForWriting opens what is to be written or made. Before anything can be written it is
// kept as it was.
func (t *tree) openForWriting(p place, flags int, mode uint32) (int, error) {
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		fd, err := unix.Openat(p.dir, p.name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
		if err == nil {
			if st, serr := stat(fd, ""); serr == nil {
				t.created[st.id] = t.now()
			}
		}
		return fd, err
	}
	for {
		st, err := p.stat()
		if errors.Is(err, unix.ENOENT) && flags&unix.O_CREAT != 0 {
			fd, err := t.openNew(p, flags, mode)
			if errors.Is(err, unix.EEXIST) && flags&unix.O_EXCL == 0 {
				continue // somebody else has made it meanwhile
			}
			return fd, err
		}
		if err != nil {
			return -1, err
		}
		return t.openOld(p, st, flags)
	}
}

// openNew opens what is made by it.
func (t *tree) openNew(p place, flags int, mode uint32) (fd int, err error) {
	err = t.create(p, record{Kind: unix.S_IFREG}, func() (err error) {
		fd, err = unix.Openat(p.dir, p.name, flags|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// openOld opens what there is.
func (t *tree) openOld(p place, st status, flags int) (int, error) {
	switch {
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return -1, unix.EEXIST
	case st.kind() == unix.S_IFLNK:
		return -1, unix.ELOOP
	case st.folder():
		return -1, unix.EISDIR
	case flags&unix.O_DIRECTORY != 0:
		return -1, unix.ENOTDIR
	case st.kind() != unix.S_IFREG:
		return -1, errNative
	}
	const never = unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC
	fd, err := unix.Openat(p.dir, p.name, flags&^never|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = t.save(p, fd); err == nil && flags&unix.O_TRUNC != 0 {
		err = t.empty(p, fd, flags)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&settable)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// empty empties the file of a descriptor that may be one for reading only.
func (t *tree) empty(p place, fd, flags int) error {
	if flags&unix.O_ACCMODE != unix.O_RDONLY {
		return unix.Ftruncate(fd, 0)
	}
	other, err := unix.Open(procFD(fd), unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Ftruncate(other, 0), unix.Close(other))
}

// save keeps the file that fd has open, where that was not done already.
func (t *tree) save(p place, fd int) error {
	st, err := stat(fd, "")
	if err != nil {
		return err
	}
	now := t.now()
	if since := max(t.created[st.id], t.copied[st.id]); since > 0 {
		switch {
		case t.folded || now-since < apartAfter:
			return nil
		case !t.apart(since, st, apartKept):
			t.copied[st.id] = now
			_, err := t.journal.add(record{Op: opWrite, Path: []byte(p.rel), ID: st.id, Kind: st.kind(), Was: &st.was})
			return err
		}
	}
	if err := t.room(st.blocks); err != nil {
		return err
	}
	if err := t.charge(st); err != nil {
		return err
	}
	n, end := t.journal.last+1, t.saved.end
	err = t.keep(n, fd, st)
	if err == nil {
		_, err = t.journal.add(record{Op: opWrite, Path: []byte(p.rel), ID: st.id, Kind: st.kind(), Was: &st.was, Kept: true})
	}
	if err != nil {
		t.saved.drop(n, end)
		t.used -= st.blocks
		return err
	}
	t.copied[st.id], t.timed[st.id] = now, true
	return nil
}

// keep copies an open file into the entry, sealed.
func (t *tree) keep(n int64, fd int, st status) error {
	from, err := unix.Open(procFD(fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	return t.saved.add(n, header{Size: st.size}, from)
}
