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
	forebears, err := s.ancestors(e)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, release(forebears)) }()
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
	u := &undoing{
		store: s, of: of, tree: run.tree, journal: old, ended: ended, begun: map[int64]bool{}, undone: map[identity]int64{},
		anew: map[identity]identity{}, kept: map[identity]elsewhere{}, touched: map[identity]bool{},
		theirs: map[identity]bool{}, dropped: map[identity]bool{}, reversed: map[int64]bool{},
	}
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
	these := u.reversed
	if of.All() && len(u.report.Conflicts) == 0 {
		these = nil
	}
	if err := s.again(forebears, id, these); err != nil {
		return u.report, err
	}
	if len(u.report.Conflicts) == 0 && of.All() {
		err = os.WriteFile(filepath.Join(dir, fileUndone), nil, 0o600)
	} else {
		err = s.mark(id)
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
			switch {
			case r.Op == opUnlink:
				u.kept[r.ID] = elsewhere{e.ID, r.N}
			case r.Op == opRename && r.Kept:
				u.kept[r.Over] = elsewhere{e.ID, r.N}
			}
		}
	}
	return nil
}

// An undoing takes back the records of an entry.
type undoing struct {
	store    *Store
	of       Selection
	files    map[identity]int64 // when what is not selected changed them last
	tree     *tree              // in which to change: an entry of its own
	journal  *journal
	objects  int
	saved    *pack
	sealed   *pack
	ended    int64                  // when the run did
	begun    map[int64]bool         // taken back before, by one that was cut short
	half     int64                  // the last of those, of which it is not known
	undone   map[identity]int64     // when an undoing of the same run was done with a file
	anew     map[identity]identity  // what was made again
	kept     map[identity]elsewhere // by an undoing of an undoing
	touched  map[identity]bool      // by this undoing, which changes their ctime
	theirs   map[identity]bool      // somebody changed it after the run
	dropped  map[identity]bool      // made by the run, and removed by it
	reversed map[int64]bool
	report   Report
}

// An elsewhere is where a file is that an undoing has brought back, and another has removed again.
type elsewhere struct {
	entry string
	n     int64
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
	isMoved   conflict = "" // it has not come back to its place, which is said elsewhere
)

// all takes the records back.
func (u *undoing) all(all []record) error {
	for _, r := range all {
		switch r.Op {
		case opBack:
			u.half = r.Of
			u.begun[r.Of] = true
			if r.ID != (identity{}) {
				u.theirs[r.ID] = true
			}
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
	}
	for _, r := range list {
		if r.Op == opDrop {
			u.dropped[r.ID] = true
		}
		if r.Op == opRename && !r.Swap && !r.Kept && r.Was == nil && r.Over != (identity{}) {
			u.dropped[r.Over] = true // it made that, too
		}
	}
	delete(u.begun, u.half)
	steps := u.of.steps(remaining(list, u.begun))
	if !u.of.All() {
		u.files = changedLater(steps)
		u.lost(steps)
	}
	f := following{apart: !u.of.All()}
	for _, r := range slices.Backward(steps) {
		if err := f.next(r, u.next); err != nil {
			return err
		}
	}
	if u.of.All() && len(u.begun) > 0 {
		if err := u.folders(list); err != nil {
			return err
		}
	}
	_, err := u.journal.add(record{Op: opStay}) // the last one is known of now
	return err
}

// folders gives folders the modes and times of before the run once more: what was taken
// back before may have stood in between.
func (u *undoing) folders(list []record) error {
	names, done := naming{}, map[identity]bool{}
	for _, r := range list {
		at, _ := names.forward(r)
		if r.Op != opMeta || r.Kind != unix.S_IFDIR || done[r.ID] {
			continue
		}
		done[r.ID] = true
		r.Path, r.ID = []byte(at), u.known(r.ID)
		if err := refusal(u.one(r)); err != nil {
			if _, ok := errors.AsType[conflict](err); !ok {
				return err
			}
		}
	}
	return nil
}

// lost lists what was made before what is selected, and went in it without being kept.
func (u *undoing) lost(list []step) {
	made := map[identity]bool{}
	for _, r := range list {
		switch {
		case !r.taken:
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
func (u *undoing) next(r step) (back bool, err error) {
	folderTimes := r.follows() && !u.of.All() // they are those of before the run
	if !r.taken || r.Op == opDrop || folderTimes {
		return false, nil
	}
	if _, err := u.journal.add(record{Op: opBack, Of: r.N, To: []byte(u.report.ID)}); err != nil {
		return false, err
	}
	if u.conflict(r) {
		err = isLater
	} else {
		r.ID, r.Over = u.known(r.ID), u.known(r.Over)
		u.tree.journal.of = r.N
		err = refusal(u.one(r.record))
		u.tree.journal.of = 0
	}
	if why, ok := errors.AsType[conflict](err); ok {
		if why != isMoved {
			u.report.conflicts(string(r.Path), string(why))
		}
		_, err = u.journal.add(record{Op: opStay, Of: r.N})
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("taking back what was done to %s: %w", r.Path, err)
	}
	u.touched[r.ID] = true
	u.report.Reversed++
	u.reversed[r.N] = !r.follows() // times are of many changes
	return true, nil
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
