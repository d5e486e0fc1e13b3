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
	e, err := s.entry(id)
	if err != nil {
		return Report{}, err
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
