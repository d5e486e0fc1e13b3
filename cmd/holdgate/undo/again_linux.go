package undo

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// An ancestor is a run of which an undoing, or an undoing of that, is taken back.
type ancestor struct {
	Entry
	dir  string
	held *os.File
}

// ancestors are those of a run, the next one first, as far as they are kept. They are
// taken for this process, so that what they say can follow in any case.
func (s *Store) ancestors(e Entry) (list []ancestor, err error) {
	for id := e.Undoes; id != ""; id = list[len(list)-1].Undoes {
		a := ancestor{dir: filepath.Join(s.dir, id)}
		a.Entry, err = s.read(id)
		if errors.Is(err, os.ErrNotExist) || err == nil && a.Damaged != "" {
			return list, nil
		}
		if err == nil {
			a.held, err = lockSoon(a.dir)
		}
		if err != nil {
			return nil, errors.Join(err, release(list))
		}
		list = append(list, a)
	}
	return list, nil
}

func release(list []ancestor) (err error) {
	for _, a := range list {
		err = errors.Join(err, a.held.Close())
	}
	return err
}

// again says of the run that an undoing was of that what it took back is there again,
// now that records of the undoing were taken back: all, or these. Where that run was an
// undoing too, what it has taken back is taken back once more, and so on.
func (s *Store) again(list []ancestor, by string, these map[int64]bool) error {
	there := true
	for _, a := range list {
		var of map[int64]bool
		if these != nil {
			all, err := s.records(by)
			if err != nil {
				return err
			}
			of = map[int64]bool{}
			for _, r := range all {
				if these[r.N] {
					of[r.Of] = true
				}
			}
		}
		j, all, err := openJournal(filepath.Join(a.dir, fileJournal))
		if err != nil {
			return err
		}
		these, err = j.again(all, by, of, there)
		if err = errors.Join(err, j.close()); err == nil {
			err = s.mark(a.ID)
		}
		if err != nil {
			return err
		}
		by, there = a.ID, !there
	}
	return nil
}

// again says of records that an undoing has taken back that they are there again, or
// that they are not any more. It returns which those are.
func (j *journal) again(all []record, by string, of map[int64]bool, there bool) (map[int64]bool, error) {
	back := map[int64]bool{}
	for _, r := range all {
		switch own := string(r.To) == by; {
		case r.Op == opBack && own:
			back[r.Of] = true
		case r.Op == opStay && own:
			back[r.Of] = false
		case r.Op == opBack || r.Op == opStay: // another's, or it could not be taken back
			delete(back, r.Of)
		}
	}
	these := map[int64]bool{}
	for _, n := range slices.Sorted(maps.Keys(back)) {
		if back[n] != there || of != nil && !of[n] {
			continue
		}
		these[n] = true
		what := opBack
		if there {
			what = opStay
		}
		if _, err := j.add(record{Op: what, Of: n, To: []byte(by)}); err != nil {
			return nil, err
		}
	}
	_, err := j.add(record{Op: opStay}) // the last one is known of
	return these, err
}

// mark notes whether all of a run was taken back.
func (s *Store) mark(id string) error {
	all, err := s.records(id)
	if err != nil {
		return err
	}
	back := takenBack(all)
	name := filepath.Join(s.dir, id, fileUndone)
	if slices.ContainsFunc(folded(all, effective(all)), func(r record) bool { return r.Op != opDrop && !back[r.N] }) {
		err = os.Remove(name)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	return os.WriteFile(name, nil, 0o600)
}
