package undo

import (
	"errors"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// beneath keeps a path in the tree: no link is followed and no mount crossed.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// A tree is a folder whose changes are journalled. It is for one goroutine.
type tree struct {
	root    int // the folder
	objects int // what was moved into the entry: files named by the number of their record
	journal *journal
	saved   *pack   // what files held before they were written
	sealer  *sealer // of what was moved

	created map[identity]int64 // what the run made, and when, in ms
	copied  map[identity]int64 // whose content is kept, or was looked at, and when last
	timed   map[identity]bool  // whose times are

	folded         bool  // calls are not told apart
	used           int64 // bytes kept, without the journal
	limit, reserve int64 // as in Options
}

// A place is a name in an open folder of the tree.
type place struct {
	dir  int
	name string
	rel  string // the whole path, in the root
}

func (p place) close() { _ = unix.Close(p.dir) }

// at opens the folder that rel lies in.
func (t *tree) at(rel string) (place, error) {
	dir, name := path.Split(rel)
	if rel == "." {
		dir, name = ".", "."
	} else if dir == "" {
		dir = "."
	}
	fd, err := t.folder(dir)
	return place{fd, name, rel}, err
}

// folder opens a folder of the tree.
func (t *tree) folder(rel string) (int, error) {
	fd, err := unix.Openat2(t.root, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
	if errors.Is(err, unix.EXDEV) {
		err = unix.EROFS // another file system, of which nothing is kept
	}
	return fd, err
}

// A status is what a file is.
type status struct {
	id     identity
	was    state
	ctime  int64
	nlink  uint32
	uid    uint32
	gid    uint32
	size   int64
	blocks int64 // bytes on disk
}

func (s status) kind() uint32 { return s.was.Mode & unix.S_IFMT }

func (s status) folder() bool { return s.kind() == unix.S_IFDIR }

// stat says what a name is, and follows no link.
func stat(dir int, name string) (status, error) {
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	ns := func(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
	return status{
		id:    identity{st.Ino, ns(st.Btime)},
		was:   state{uint32(st.Mode), ns(st.Atime), ns(st.Mtime)},
		ctime: ns(st.Ctime), nlink: st.Nlink, uid: st.Uid, gid: st.Gid, size: int64(st.Size), blocks: int64(st.Blocks) * 512,
	}, err
}

func (p place) stat() (status, error) { return stat(p.dir, p.name) }

// What is kept again of a file although the run has kept it, or has made it: so that
// what one call did can be taken back alone. A file is kept once a second at most, and
// not where it is large, or half of what may be kept is there already.
const (
	apartAfter = 1000 // ms: calls are further apart, for a model speaks in between
	apartKept  = 16 << 20
	apartMade  = 1 << 20
)

// apart reports whether a file of which the run has all that it needs since some time
// is to be kept again.
func (t *tree) apart(since int64, st status, most int64) bool {
	return !t.folded && t.now()-since >= apartAfter && st.kind() == unix.S_IFREG && st.size <= most && (t.limit == 0 || t.used < t.limit/2)
}

// now is in ms.
func (t *tree) now() int64 { return t.journal.now().UnixMilli() }

// made reports whether the run has made a file.
func (t *tree) made(st status) bool { _, ok := t.created[st.id]; return ok }

func object(n int64) string { return strconv.FormatInt(n, 10) }

// intend journals what is about to be done to a place, and before that the times
// of its folder, which change with it.
func (t *tree) intend(p place, r record) (int64, error) {
	if t.limit > 0 && t.used+t.journal.end > t.limit {
		return 0, errFull
	}
	if err := t.times(p); err != nil {
		return 0, err
	}
	r.Path = []byte(p.rel)
	return t.journal.add(r)
}

// times keeps the times of a place's folder.
func (t *tree) times(p place) error {
	st, err := stat(p.dir, "")
	if err != nil || t.made(st) || t.timed[st.id] {
		return err
	}
	if _, err := t.journal.add(record{Op: opMeta, Path: []byte(path.Dir(p.rel)), ID: st.id, Kind: st.kind(), Was: &st.was}); err != nil {
		return err
	}
	t.timed[st.id] = true
	return nil
}

// refused notes that the kernel did not do what was intended.
func (t *tree) refused(n int64, err error) error {
	if err != nil {
		_, jerr := t.journal.add(record{Op: opVoid, Of: n})
		err = errors.Join(err, jerr)
	}
	return err
}

// create makes something that there was not.
func (t *tree) create(p place, r record, do func() error) error {
	r.Op = opCreate
	if err := t.room(0); err != nil {
		return err
	}
	n, err := t.intend(p, r)
	if err != nil {
		return err
	}
	if err := t.refused(n, do()); err != nil {
		return err
	}
	st, err := p.stat()
	if err != nil {
		return nil // another has moved it already
	}
	if !r.Link {
		t.created[st.id] = t.now()
	}
	_, _ = t.journal.add(record{Op: opDid, Of: n, ID: st.id}) // a create without one counts as made
	return nil
}

func (t *tree) mkdir(p place, mode uint32) error {
	return t.create(p, record{Kind: unix.S_IFDIR}, func() error { return unix.Mkdirat(p.dir, p.name, mode) })
}

func (t *tree) mknod(p place, mode uint32) error {
	kind := mode & unix.S_IFMT
	switch kind {
	case 0:
		kind = unix.S_IFREG
	case unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK:
	default:
		return unix.EPERM // devices need a capability that nobody here has
	}
	return t.create(p, record{Kind: kind}, func() error { return unix.Mknodat(p.dir, p.name, mode, 0) })
}

func (t *tree) symlink(target string, p place) error {
	return t.create(p, record{Kind: unix.S_IFLNK}, func() error { return unix.Symlinkat(target, p.dir, p.name) })
}

// link gives the file at from another name.
func (t *tree) link(from, p place) error {
	st, err := from.stat()
	if err != nil {
		return err
	}
	return t.create(p, record{Kind: st.kind(), Link: true}, func() error { return unix.Linkat(from.dir, from.name, p.dir, p.name, 0) })
}

// linkOpen gives an open file that has no name one.
func (t *tree) linkOpen(fd int, p place) error {
	return t.create(p, record{Kind: unix.S_IFREG}, func() error {
		return unix.Linkat(unix.AT_FDCWD, procFD(fd), p.dir, p.name, unix.AT_SYMLINK_FOLLOW)
	})
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// unlink removes what is no folder.
func (t *tree) unlink(p place) error {
	st, err := p.stat()
	if err != nil {
		return err
	}
	if st.folder() {
		return unix.EISDIR
	}
	if t.made(st) && !t.apart(t.created[st.id], st, apartMade) {
		n, err := t.intend(p, record{Op: opDrop, ID: st.id, Kind: st.kind()})
		if err == nil {
			err = t.refused(n, unix.Unlinkat(p.dir, p.name, 0))
		}
		if err == nil && st.nlink == 1 {
			delete(t.created, st.id)
		}
		return err
	}
	if err := t.charge(st); err != nil {
		return err
	}
	n, err := t.intend(p, record{Op: opUnlink, ID: st.id, Kind: st.kind(), Kept: true})
	if err != nil {
		return err
	}
	if err := t.refused(n, unix.Renameat2(p.dir, p.name, t.objects, object(n), unix.RENAME_NOREPLACE)); err != nil {
		return err
	}
	t.moved(n, st)
	return nil
}

// moved has a file sealed that is in the entry now.
func (t *tree) moved(n int64, st status) {
	if st.kind() == unix.S_IFREG && st.nlink == 1 {
		t.sealer.moved(n)
	}
}

// room makes sure that the disk has room for so many bytes and the reserve.
func (t *tree) room(bytes int64) error {
	if t.reserve <= 0 {
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(t.journal.f.Fd()), &st); err != nil {
		return err
	}
	if int64(st.Bavail)*st.Bsize < t.reserve+bytes {
		return unix.ENOSPC
	}
	return nil
}

// charge counts what is to be kept against the limit.
func (t *tree) charge(st status) error {
	if t.limit > 0 && t.used+t.journal.end+st.blocks > t.limit {
		return errFull
	}
	t.used += st.blocks
	return nil
}

func (t *tree) rmdir(p place) error {
	st, err := p.stat()
	switch {
	case err != nil:
		return err
	case !st.folder():
		return unix.ENOTDIR
	}
	r := record{Op: opRmdir, ID: st.id, Kind: unix.S_IFDIR, Was: &st.was}
	if t.made(st) {
		r = record{Op: opDrop, ID: st.id, Kind: unix.S_IFDIR}
	}
	n, err := t.intend(p, r)
	if err == nil {
		err = t.refused(n, unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR))
	}
	if err == nil {
		delete(t.created, st.id)
	}
	return err
}

// rename moves from to to, and keeps what it overwrites. flags are those of
// renameat2.
func (t *tree) rename(from, to place, flags uint) error {
	st, err := from.stat()
	if err != nil {
		return err
	}
	over, err := to.stat()
	exists := err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	switch {
	case flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0:
		return unix.EINVAL
	case exists && flags&unix.RENAME_NOREPLACE != 0:
		return unix.EEXIST
	case exists && over.id == st.id && flags == 0:
		return nil // two names of one file: nothing is to happen
	case exists && flags == 0 && st.folder() != over.folder():
		if over.folder() {
			return unix.EISDIR
		}
		return unix.ENOTDIR
	}
	r := record{Op: opRename, To: []byte(to.rel), ID: st.id, Over: over.id, Kind: st.kind(), Swap: flags&unix.RENAME_EXCHANGE != 0}
	gone := exists && !r.Swap
	switch {
	case gone && !t.made(over) && over.folder():
		r.Was = &over.was
	case gone && (!t.made(over) || t.apart(t.created[over.id], over, apartMade)):
		r.Kept = true
		if err := t.charge(over); err != nil {
			return err
		}
	}
	if err := t.times(to); err != nil {
		return err
	}
	n, err := t.intend(from, r)
	if err != nil {
		return err
	}
	if r.Kept {
		err = unix.Linkat(to.dir, to.name, t.objects, object(n), 0)
	}
	if err == nil {
		err = unix.Renameat2(from.dir, from.name, to.dir, to.name, flags)
	}
	if err != nil && r.Kept {
		_ = unix.Unlinkat(t.objects, object(n), 0) // the file is where it was
	}
	if err := t.refused(n, err); err != nil {
		return err
	}
	if gone && (over.nlink == 1 || over.folder()) {
		delete(t.created, over.id)
	}
	if r.Kept {
		t.moved(n, over)
	}
	return nil
}
