package undo

import (
	"slices"

	"golang.org/x/sys/unix"
)

// A step is a record that was not taken back, and what is to become of it.
type step struct {
	record
	taken bool // it is part of what is selected
	later bool // what stays did something to the same path later
}

// steps says what of records is selected. A path selects what had that name at any
// time, so also what was done to it before its folder was renamed.
func (s Selection) steps(list []record) []step {
	all := make([]step, len(list))
	for i, r := range list {
		all[i] = step{record: r, taken: s.at(r) && (len(s.Paths) == 0 || s.named(string(r.Path), string(r.To)))}
	}
	if len(s.Paths) == 0 {
		return all
	}
	first, last := &naming{}, &naming{}
	for i, r := range list {
		all[i].taken = s.named(first.forward(r)) && s.at(r) || all[i].taken
	}
	for i, r := range slices.Backward(list) {
		p, to := last.paths(r)
		all[i].taken = s.named(p, to) && s.at(r) || all[i].taken
		last.backward(r, p, to, false)
	}
	return all
}

// A following goes through steps from the last to the first.
type following struct {
	now   naming
	apart bool // not all is taken
}

// next calls back with a step whose paths are those of now, and learns whether it was
// taken back.
func (f *following) next(r step, back func(step) (bool, error)) error {
	old, paths := r.record, []string{string(r.Path)}
	if r.Op == opRename {
		paths = append(paths, string(r.To))
	}
	for _, p := range paths {
		r.later = r.later || f.apart && f.now.at(p).changed(r.Op == opRename)
	}
	p, to := f.now.paths(old)
	r.Path, r.To = []byte(p), []byte(to)
	done, err := back(r)
	f.now.backward(old, p, to, done)
	for _, p := range paths {
		if f.apart && !done && !r.follows() && !(r.taken && r.Op == opDrop) {
			f.now.at(p).later = true
		}
	}
	return err
}

// follows reports whether a record is of times that change by what is done to others.
func (r record) follows() bool { return r.Op == opMeta && !r.Only }

// at reports whether a record is of the selected time.
func (s Selection) at(r record) bool {
	return (s.From.IsZero() || r.At >= s.From.UnixMilli()) && (s.To.IsZero() || r.At < s.To.UnixMilli())
}

// named reports whether one of two paths is selected; an empty one is none.
func (s Selection) named(a, b string) bool {
	return slices.ContainsFunc(s.Paths, func(p string) bool {
		return p == "." || a != "" && within(a, p) || b != "" && within(b, p)
	})
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

// remaining are the records that were not taken back. What was done to a file is nothing
// any more once its making was taken back, nor is a write once an earlier one was.
func remaining(list []record, back map[int64]bool) []record {
	unmade, rewritten := map[identity]bool{}, map[identity]int64{}
	for _, r := range list {
		switch {
		case !back[r.N]:
		case r.Op == opCreate && !r.Link:
			unmade[r.ID] = true
		case r.Op == opWrite && rewritten[r.ID] == 0:
			rewritten[r.ID] = r.N
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(r record) bool {
		switch r.Op {
		case opWrite:
			first := rewritten[r.ID]
			return back[r.N] || unmade[r.ID] || first > 0 && first < r.N
		case opDrop, opUnlink:
			return back[r.N] || unmade[r.ID]
		}
		return back[r.N]
	})
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

// changedLater says when what is not selected last changed a file.
func changedLater(all []step) map[identity]int64 {
	files := map[identity]int64{}
	for _, r := range all {
		if !r.taken && !r.follows() && r.Kind != unix.S_IFDIR && r.Op != opUnlink && r.Op != opDrop { // of a name of it that went the path says
			files[r.ID] = r.N
		}
	}
	delete(files, identity{})
	return files
}

// conflict reports whether what a step changed was changed later by what is not selected.
func (u *undoing) conflict(r step) bool {
	return u.files[r.ID] > r.N || !r.follows() && (r.later || u.files[r.Over] > r.N)
}
