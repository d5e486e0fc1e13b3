package undo

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// takes reports whether a record is of what is selected.
func (s Selection) takes(r record) bool {
	if !s.From.IsZero() && r.At < s.From.UnixMilli() || !s.To.IsZero() && r.At >= s.To.UnixMilli() {
		return false
	}
	if len(s.Paths) == 0 {
		return true
	}
	in := func(path []byte) bool {
		return len(path) > 0 && slices.ContainsFunc(s.Paths, func(p string) bool { return p == "." || within(string(path), p) })
	}
	return in(r.Path) || r.Op == opRename && in(r.To)
}

// takenBack are the numbers of the records that were taken back, and are not there
// again.
func takenBack(all []record) map[int64]bool {
	back := map[int64]bool{}
	for _, r := range all {
		switch r.Op {
		case opBack:
			back[r.Of] = true
		case opStay:
			delete(back, r.Of)
		}
	}
	return back
}

// still are the effective records that were not taken back.
func still(all []record) []record {
	back := takenBack(all)
	return slices.DeleteFunc(effective(all), func(r record) bool { return back[r.N] })
}

// folded leaves out of records what is there only so that calls can be told apart:
// what was kept of files that the run made, and what was kept of others more than once.
func folded(all, list []record) []record {
	made, kept := map[identity]bool{}, map[identity]bool{}
	linked := map[int64]bool{}
	for _, r := range all {
		switch r.Op {
		case opCreate:
			linked[r.N] = r.Link
		case opDid:
			made[r.ID] = made[r.ID] || !linked[r.Of]
		}
	}
	var out []record
	for _, r := range list {
		switch {
		case r.Op == opUnlink && made[r.ID]:
			r.Op, r.Kept = opDrop, false
		case r.Op == opRename && r.Kept && made[r.Over]:
			r.Kept = false
		case r.Op == opWrite && (made[r.ID] || kept[r.ID] || !r.Kept):
			continue
		case r.Op == opWrite:
			kept[r.ID] = true
		}
		out = append(out, r)
	}
	return out
}

// A later says what was changed after what is selected.
type later struct {
	paths map[string]int64
	files map[identity]int64
}

// after finds out what was changed by records that are not selected.
func (s Selection) after(list []record) later {
	l := later{map[string]int64{}, map[identity]int64{}}
	for _, r := range list {
		if s.takes(r) || r.Op == opMeta && !r.Only {
			continue
		}
		l.paths[string(r.Path)] = r.N
		if r.Op == opRename {
			l.paths[string(r.To)] = r.N
		}
		if r.Kind != unix.S_IFDIR && r.Op != opUnlink && r.Op != opDrop { // of a name of it that went the path says
			l.files[r.ID] = r.N
		}
	}
	delete(l.files, identity{})
	return l
}

// conflict reports whether what a record changed was changed later.
func (l later) conflict(r record) bool {
	if r.Op == opMeta && !r.Only {
		return l.files[r.ID] > r.N
	}
	return l.paths[string(r.Path)] > r.N || r.Op == opRename && l.paths[string(r.To)] > r.N || l.files[r.ID] > r.N || l.files[r.Over] > r.N
}

// again makes what an undoing has taken back part of the run it was of once more, now
// that the undoing was taken back.
func (j *journal) again(all []record, by string) error {
	back := map[int64]bool{}
	for _, r := range all {
		switch {
		case r.Op == opBack && string(r.To) == by:
			back[r.Of] = true
		case r.Op == opBack || r.Op == opStay:
			delete(back, r.Of)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(back)) {
		if _, err := j.add(record{Op: opStay, Of: n}); err != nil {
			return err
		}
	}
	return nil
}
