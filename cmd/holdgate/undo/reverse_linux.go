package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Undo takes back what a run has changed, or a part of that, from the last change to the
// first. What was changed since, by somebody else or by the run itself, stays, and is in
// the report. One that was cut short, or left something, can be called again.
func (s *Store) Undo(id string, of Selection) (_ Report, err error) {
	e, err := s.read(id)
	if err != nil {
		return Report{}, unknown(id, err)
	}
	if e.Undone {
		return Report{}, fmt.Errorf("run %s was taken back already", id)
	}
	dir := filepath.Join(s.dir, id)
	held, err := lockSoon(dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	ended, err := endedAt(dir)
	if err != nil {
		return Report{}, err
	}
	old, all, err := openJournal(filepath.Join(dir, fileJournal))
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, old.close()) }()
	unlimited := Store{dir: s.dir, aead: s.aead} // bringing back must not fail for what it keeps
	run, err := unlimited.begin(Entry{Root: e.Root, Agent: e.Agent, Undoes: id})
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, run.Finish()) }()
	run.tree.folded = true
	u := &undoing{of: of, tree: run.tree, journal: old, ended: ended, touched: map[identity]bool{}, dropped: map[identity]bool{}, begun: map[int64]bool{}, anew: map[identity]identity{}, undone: map[identity]int64{}}
	u.report.ID = run.ID
	if u.objects, err = unix.Open(filepath.Join(dir, fileObjects), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return u.report, err
	}
	defer unix.Close(u.objects)
	for name, p := range map[string]**pack{fileSaved: &u.saved, fileMoved: &u.sealed} {
		if *p, err = openPack(dir, name, s.aead); err != nil {
			return u.report, err
		}
		defer (*p).close()
	}
	if err := s.relatives(id, u); err != nil {
		return u.report, err
	}
	if err := u.all(all); err != nil {
		return u.report, err
	}
	if len(u.report.Conflicts) == 0 && of.All() {
		err = os.WriteFile(filepath.Join(dir, fileUndone), nil, 0o600)
	}
	if err == nil && e.Undoes != "" && of.All() {
		err = s.again(e)
	}
	return u.report, err
}

// relatives takes note of what undoings of a run, and of those, have changed: that is
// nobody else's doing.
func (s *Store) relatives(id string, u *undoing) error {
	list, err := s.Entries()
	if err != nil {
		return err
	}
	related := map[string]bool{id: true}
	for _, e := range slices.Backward(list) { // the first first
		if e.Running || !related[e.Undoes] {
			continue
		}
		related[e.ID] = true
		all, err := s.records(e.ID)
		if err != nil {
			return err
		}
		ended, err := endedAt(filepath.Join(s.dir, e.ID))
		if err != nil {
			return err
		}
		for _, r := range all {
			if r.Op == opNew {
				u.anew[r.ID] = r.Over
			}
			u.undone[r.ID], u.undone[r.Over] = ended, ended
		}
	}
	return nil
}

// again says of the run that an undoing was of that what it took back is there again.
func (s *Store) again(undoing Entry) error {
	dir := filepath.Join(s.dir, undoing.Undoes)
	held, err := lock(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was forgotten
	}
	if err != nil {
		return err
	}
	j, all, err := openJournal(filepath.Join(dir, fileJournal))
	if err == nil {
		err = errors.Join(j.again(all, undoing.ID), j.close())
	}
	return errors.Join(err, held.Close())
}

// An undoing takes back the records of an entry.
type undoing struct {
	of      Selection
	later   later // than what is selected
	tree    *tree // in which to change: an entry of its own
	journal *journal
	objects int
	saved   *pack
	sealed  *pack
	ended   int64                 // when the run did
	begun   map[int64]bool        // taken back before, by one that was cut short
	half    int64                 // the last of those, of which it is not known
	undone  map[identity]int64    // when an undoing of the same run was done with a file
	anew    map[identity]identity // folders that were made again
	touched map[identity]bool     // by this undoing, which changes their ctime
	dropped map[identity]bool     // made by the run, and removed by it
	report  Report
}

// A conflict is why something cannot be taken back.
type conflict string

func (c conflict) Error() string { return string(c) }

const (
	another   conflict = "another file has its place"
	isThere   conflict = "something has its name again"
	isGone    conflict = "it is gone"
	isChanged conflict = "it was changed after the run"
	notEmpty  conflict = "it holds files that the run did not make"
	noFolder  conflict = "its folder is gone"
	isLater   conflict = "the run changed it again later"
	notApart  conflict = "it was written before too, and it was not kept what it was in between"
	notKept   conflict = "what was kept of it is gone"
)

// all takes the records back.
func (u *undoing) all(all []record) error {
	for _, r := range all {
		switch r.Op {
		case opBack:
			u.half = r.Of
			u.begun[r.Of] = true
		case opNew:
			u.anew[r.ID] = r.Over
		case opStay:
			u.half = 0
			delete(u.begun, r.Of)
		}
	}
	list := effective(all)
	if u.of.All() {
		list = folded(all, list)
	} else {
		u.later = u.of.after(still(all))
		u.lost(list)
	}
	for _, r := range list {
		if r.Op == opDrop {
			u.dropped[r.ID] = true
		}
		if r.Op == opRename && !r.Swap && !r.Kept && r.Was == nil && r.Over != (identity{}) {
			u.dropped[r.Over] = true // it made that, too
		}
		if u.begun[r.N] {
			u.touched[u.known(r.ID)], u.touched[u.known(r.Over)] = true, true
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		folderTimes := r.Op == opMeta && !r.Only && !u.of.All() // they are those of before the run
		if r.Op != opDrop && !folderTimes && u.of.takes(r) && (!u.begun[r.N] || r.N == u.half) {
			if err := u.next(r); err != nil {
				return err
			}
		}
	}
	_, err := u.journal.add(record{Op: opStay}) // the last one is known of now
	return err
}

// lost lists what was made before what is selected, and went in it without being kept.
func (u *undoing) lost(list []record) {
	made := map[identity]bool{}
	for _, r := range list {
		switch {
		case !u.of.takes(r) || u.begun[r.N]:
		case r.Op == opCreate:
			made[r.ID] = true
		case r.Op == opDrop && r.Kind != unix.S_IFDIR && !made[r.ID]:
			u.report.conflicts(string(r.Path), string(notKept))
		case r.Op == opRename && !r.Swap && !r.Kept && r.Was == nil && r.Over != (identity{}) && !made[r.Over]:
			u.report.conflicts(string(r.To), string(notKept))
		}
	}
}

// next takes a record back, or lists why not.
func (u *undoing) next(r record) error {
	if _, err := u.journal.add(record{Op: opBack, Of: r.N, To: []byte(u.report.ID)}); err != nil {
		return err
	}
	var err error
	if u.later.conflict(r) {
		err = isLater
	} else {
		r.ID, r.Over = u.known(r.ID), u.known(r.Over)
		err = refusal(u.one(r))
	}
	if why, ok := errors.AsType[conflict](err); ok {
		u.report.conflicts(string(r.Path), string(why))
		_, err = u.journal.add(record{Op: opStay, Of: r.N})
		return err
	}
	if err != nil {
		return fmt.Errorf("taking back what was done to %s: %w", r.Path, err)
	}
	u.touched[r.ID] = true
	u.report.Reversed++
	return nil
}

// refusal makes a conflict of what the kernel refuses of one path alone: of the others
// it may be let.
func refusal(err error) error {
	e, ok := errors.AsType[unix.Errno](err)
	if ok && slices.Contains([]unix.Errno{
		unix.EACCES, unix.EPERM, unix.EBUSY, unix.ETXTBSY, unix.EISDIR, unix.ENOTDIR, unix.ENOTEMPTY, unix.EEXIST, unix.ELOOP, unix.EAGAIN, unix.EROFS, unix.EXDEV, unix.EMLINK,
	}, e) {
		return conflict(e.Error())
	}
	return err
}

// conflicts lists a path, once.
func (r *Report) conflicts(path, why string) {
	for _, c := range r.Conflicts {
		if c.Path == path {
			return
		}
	}
	r.Conflicts = append(r.Conflicts, Conflict{Path: path, Why: why})
}

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
	if u.touched[st.id] || u.half == r.N {
		return false
	}
	ended := max(u.ended, u.undone[st.id])
	return st.was.Mtime >= ended || st.ctime >= ended
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
		return nil // it is back already, or has never gone
	}
	if exists {
		return isThere
	}
	return u.bringBack(r, p)
}

// bringBack moves what was kept back to its place.
func (u *undoing) bringBack(r record, p place) error {
	name := object(r.N)
	st, err := stat(u.objects, name)
	if errors.Is(err, unix.ENOENT) && u.sealed.has(r.N) {
		if err := u.unseal(r); err != nil {
			return err
		}
		st, err = stat(u.objects, name)
	}
	if errors.Is(err, unix.ENOENT) {
		return notKept
	}
	if err != nil {
		return err
	}
	return u.tree.create(p, record{Kind: st.kind(), Link: true}, func() error {
		return unix.Renameat2(u.objects, name, p.dir, p.name, unix.RENAME_NOREPLACE)
	})
}

// unseal makes what was kept of a record anew. It is another file then.
func (u *undoing) unseal(r record) error {
	id := r.ID
	if r.Op == opRename {
		id = r.Over
	}
	return u.sealed.unpack(u.objects, r.N, func(now identity) error {
		u.anew[id], u.touched[now] = now, true
		_, err := u.journal.add(record{Op: opNew, ID: id, Over: now})
		return err
	})
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
		// It is back already, or was never moved.
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
	if _, err := u.saved.head(r.N); err != nil {
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
	case !exists, st.kind() != r.Kind, !st.folder() && st.id != r.ID:
		return nil // what became of it is said of it elsewhere
	case st.kind() == unix.S_IFREG && u.since(r, st):
		return isChanged
	}
	return u.set(p, *r.Was)
}
