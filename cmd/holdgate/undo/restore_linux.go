package undo

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// one takes one record back.
func (u *undoing) one(r record) error {
	p, err := u.tree.at(string(r.Path))
	if err == nil {
		defer p.close()
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		if r.Op == opCreate || r.Op == opMeta || r.Op == opRename && u.dropped[r.ID] && !r.Kept {
			return nil // it went with its folder
		}
		return noFolder
	}
	if err != nil {
		return err
	}
	st, err := p.stat()
	exists := err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	switch r.Op {
	case opCreate:
		err = u.removed(r, p, st, exists)
	case opUnlink:
		err = u.restored(r, p, st, exists)
	case opRmdir:
		err = u.folder(r.ID, *r.Was, p, st, exists)
	case opRename:
		err = u.moved(r, p, st, exists)
	case opWrite:
		err = u.written(r, p, st, exists)
	case opMeta:
		err = u.meta(r, p, st, exists)
	}
	return err
}

// since reports whether somebody changed a file after the run.
func (u *undoing) since(r record, st status) bool {
	if u.theirs[st.id] {
		return true
	}
	if u.touched[st.id] || u.half == r.N {
		return false
	}
	ended := max(u.ended, u.undone[st.id])
	return st.was.Mtime >= ended || st.ctime >= ended
}

// meet notes whether somebody changed a file that has, or is about to get, its name back.
// The journal keeps that: from then on the file's times tell nothing.
func (u *undoing) meet(r record, st status) error {
	if st.kind() != unix.S_IFREG || u.theirs[st.id] || !u.since(r, st) {
		return nil
	}
	u.theirs[st.id] = true
	_, err := u.journal.add(record{Op: opBack, Of: r.N, To: []byte(u.report.ID), ID: st.id})
	return err
}

// removed takes back that something was made.
func (u *undoing) removed(r record, p place, st status, exists bool) error {
	unknown := r.ID == identity{} // the run was killed while it made it
	switch {
	case !exists, u.dropped[r.ID] && st.id != r.ID:
		return nil
	case !unknown && st.id != r.ID, st.kind() != r.Kind:
		return another
	case st.folder():
		err := u.tree.rmdir(p)
		if errors.Is(err, unix.ENOTEMPTY) {
			return notEmpty
		}
		return err
	case st.kind() == unix.S_IFREG && u.since(r, st):
		return isChanged
	}
	u.touched[st.id] = true
	return u.tree.unlink(p)
}

// restored takes back that a file was removed.
func (u *undoing) restored(r record, p place, st status, exists bool) error {
	if exists && st.id == r.ID {
		return u.meet(r, st) // it is back already, or has never gone
	}
	if exists {
		return isThere
	}
	return u.bringBack(r, p)
}

// bringBack moves what was kept back to its place.
func (u *undoing) bringBack(r record, p place) error {
	id, name := r.ID, object(r.N)
	if r.Op == opRename {
		id = r.Over
	}
	err := u.unseal(u.objects, u.sealed, r.N, id)
	if errors.Is(err, unix.ENOENT) {
		err = u.fromRelative(id, name)
	}
	if errors.Is(err, unix.ENOENT) {
		return notKept
	}
	if err != nil {
		return err
	}
	st, err := stat(u.objects, name)
	if err != nil {
		return err
	}
	return u.tree.create(p, record{Kind: st.kind(), Link: true}, func() error {
		return unix.Renameat2(u.objects, name, p.dir, p.name, unix.RENAME_NOREPLACE)
	})
}

// unseal makes sure that what was kept of a record is in a folder of objects. What was
// sealed is made anew, and is another file then.
func (u *undoing) unseal(objects int, sealed *pack, n int64, id identity) error {
	if _, err := stat(objects, object(n)); !errors.Is(err, unix.ENOENT) || !sealed.has(n) {
		return err
	}
	return sealed.unpack(objects, n, func(now identity) error {
		u.anew[id], u.touched[now] = now, true
		_, err := u.journal.add(record{Op: opNew, ID: id, Over: now})
		return err
	})
}

// fromRelative has a file that an undoing of an undoing keeps be here too.
func (u *undoing) fromRelative(id identity, name string) error {
	from, ok := u.kept[id]
	if !ok {
		return unix.ENOENT
	}
	dir := filepath.Join(u.store.dir, from.entry)
	objects, err := unix.Open(filepath.Join(dir, fileObjects), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	sealed, err := openPack(dir, fileMoved, u.store.aead)
	if err != nil {
		return err
	}
	defer sealed.close()
	if err := u.unseal(objects, sealed, from.n, id); err != nil {
		return err
	}
	return unix.Linkat(objects, object(from.n), u.objects, name, 0)
}

// folder takes back that a folder was removed.
func (u *undoing) folder(id identity, was state, p place, st status, exists bool) error {
	switch {
	case exists && st.folder():
		return nil
	case exists:
		return isThere
	}
	if err := u.tree.mkdir(p, 0o700); err != nil {
		return err
	}
	now, err := p.stat()
	if err != nil {
		return err
	}
	u.anew[id] = now.id
	if _, err := u.journal.add(record{Op: opNew, ID: id, Over: now.id}); err != nil {
		return err
	}
	return u.set(p, was)
}

// known is the identity that a file of the journal has now.
func (u *undoing) known(id identity) identity {
	for {
		now, ok := u.anew[id]
		if !ok {
			return id
		}
		id = now
	}
}

// set gives a place the mode and times that it had.
func (u *undoing) set(p place, was state) error {
	if was.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := u.tree.chmod(p, was.Mode&^unix.S_IFMT); err != nil {
			return err
		}
	}
	return u.tree.utimes(p, []unix.Timespec{unix.NsecToTimespec(was.Atime), unix.NsecToTimespec(was.Mtime)})
}

// moved takes back that something was renamed, and brings back what was at its
// new name. p is where it was.
func (u *undoing) moved(r record, p place, st status, exists bool) error {
	to, err := u.tree.at(string(r.To))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return noFolder
	}
	if err != nil {
		return err
	}
	defer to.close()
	now, err := to.stat()
	there := err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	switch {
	case exists && st.id == r.ID && (!there || now.id != r.ID):
		if err := u.meet(r, st); err != nil { // it is back already, or was never moved
			return err
		}
	case r.Swap:
		return u.swapped(r, p, to, exists, there, st, now)
	case there && now.id == r.ID && exists:
		return isThere
	case there && now.id == r.ID && now.kind() == unix.S_IFREG && u.since(r, now):
		return isChanged
	case there && now.id == r.ID:
		if err := u.tree.rename(to, p, unix.RENAME_NOREPLACE); err != nil {
			return err
		}
	case u.dropped[r.ID]:
	case there:
		return another
	default:
		return isGone
	}
	u.touched[r.Over] = true
	return u.overwritten(r, to)
}

// swapped takes back that two paths have changed places. What the run made and
// removed later is not there any longer.
func (u *undoing) swapped(r record, p, to place, exists, there bool, st, now status) error {
	here, other := exists && st.id == r.Over, there && now.id == r.ID
	var err error
	if here {
		err = u.meet(r, st)
	}
	if other {
		err = errors.Join(err, u.meet(r, now))
	}
	if err != nil {
		return err
	}
	u.touched[r.Over] = true
	switch {
	case here && other:
		return u.tree.rename(to, p, unix.RENAME_EXCHANGE)
	case other && !exists && u.dropped[r.Over]:
		return u.tree.rename(to, p, unix.RENAME_NOREPLACE)
	case here && !there && u.dropped[r.ID]:
		return u.tree.rename(p, to, unix.RENAME_NOREPLACE)
	case !exists && !there && u.dropped[r.ID] && u.dropped[r.Over]:
		return nil
	}
	return another
}

// overwritten brings back what a rename has overwritten.
func (u *undoing) overwritten(r record, to place) error {
	if !r.Kept && r.Was == nil {
		return nil
	}
	st, err := to.stat()
	exists := err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if r.Was != nil {
		return u.folder(r.Over, *r.Was, to, st, exists)
	}
	if exists {
		if st.id == r.Over {
			return nil // it is back already
		}
		if _, err := stat(u.objects, object(r.N)); err != nil && !u.sealed.has(r.N) {
			return nil // it is back already
		}
		return isThere
	}
	return u.bringBack(r, to)
}

// written gives a file the content that it had.
func (u *undoing) written(r record, p place, st status, exists bool) error {
	switch {
	case !exists:
		return isGone
	case st.id != r.ID:
		return another
	case u.since(r, st):
		return isChanged
	case !r.Kept:
		return notApart
	}
	if !u.saved.has(r.N) {
		return notKept
	}
	if err := u.saved.check(r.N); err != nil { // before anything is lost
		return err
	}
	if st.was.Mode&0o600 != 0o600 {
		if err := u.tree.chmod(p, r.Was.Mode&^unix.S_IFMT|0o600); err != nil {
			return err
		}
	}
	fd, err := u.tree.openForWriting(p, unix.O_WRONLY|unix.O_TRUNC, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(u.saved.copyTo(fd, r.N), unix.Close(fd)); err != nil {
		return err
	}
	return u.set(p, *r.Was)
}

// meta gives a file or folder the mode and times that it had. Folders change by
// what is in them, so that theirs are no sign of anybody else.
func (u *undoing) meta(r record, p place, st status, exists bool) error {
	switch {
	case exists && st.folder() && r.Kind == unix.S_IFDIR && st.id != r.ID:
		return isMoved
	case !exists, st.kind() != r.Kind, st.id != r.ID:
		return nil // what became of it is said of it elsewhere
	case st.kind() == unix.S_IFREG && u.since(r, st):
		return isChanged
	}
	return u.set(p, *r.Was)
}
