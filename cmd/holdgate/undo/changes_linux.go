package undo

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Plan says what a run has changed, all in all, by path, and what of that was not taken
// back yet.
func (s *Store) Plan(id string, of Selection) ([]Change, error) {
	list, err := s.records(id)
	if err != nil {
		return nil, err
	}
	var part []record
	f := following{}
	for _, r := range slices.Backward(of.steps(remaining(effective(list), takenBack(list)))) {
		_ = f.next(r, func(r step) (bool, error) {
			if r.taken {
				part = append(part, r.record)
			}
			return r.taken, nil
		})
	}
	slices.Reverse(part)
	return sum(part), nil
}

func (s *Store) records(id string) ([]record, error) {
	if _, err := s.entry(id); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(s.dir, id, fileJournal))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, _, err := readRecords(f)
	return list, err
}

// A node is a path that was touched, as far as the journal was followed.
type node struct {
	from string // where it was at first; empty: it was made
	what string // Changed, Mode or empty
}

// A summing follows a journal.
type summing struct {
	now  map[string]*node // by the path of now
	gone map[string]bool  // by the path of before
}

// sum is the difference that a journal makes.
func sum(list []record) []Change {
	s := summing{now: map[string]*node{}, gone: map[string]bool{}}
	for _, r := range list {
		s.follow(r)
	}
	var all []Change
	add := func(path, what, from string) { all = append(all, Change{Path: path, What: what, From: from}) }
	for at, n := range s.now {
		switch {
		case n.from == at && n.what != "":
			add(at, n.what, "")
		case n.from == at:
		case s.gone[at]:
			add(at, Replaced, n.from)
			delete(s.gone, at)
		case n.from == "":
			add(at, Created, "")
		default:
			add(at, Moved, n.from)
		}
	}
	for at := range s.gone {
		add(at, Deleted, "")
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.What, b.What)) })
	return all
}

// at is the node of a path.
func (s *summing) at(path string) *node {
	n := s.now[path]
	if n == nil {
		n = &node{from: path}
		s.now[path] = n
	}
	return n
}

func (s *summing) follow(r record) {
	path, to := string(r.Path), string(r.To)
	switch r.Op {
	case opCreate:
		s.now[path] = &node{}
	case opUnlink, opRmdir, opDrop:
		s.remove(path)
	case opWrite:
		s.at(path).what = Changed
	case opMeta:
		if n := s.at(path); r.Only && n.what == "" {
			n.what = Mode
		}
	case opRename:
		if r.Swap {
			other := s.extract(to, r.Kind)
			s.put(to, s.extract(path, r.Kind))
			s.put(path, other)
			return
		}
		moved := s.extract(path, r.Kind)
		if r.Kept || r.Was != nil || s.now[to] != nil {
			s.remove(to)
		}
		s.put(to, moved)
	}
}

func (s *summing) remove(path string) {
	if n := s.at(path); n.from != "" {
		s.gone[n.from] = true
	}
	delete(s.now, path)
}

// extract takes a path and what lies below it out; the names are what follows it.
func (s *summing) extract(path string, kind uint32) map[string]*node {
	taken := map[string]*node{"": s.at(path)}
	delete(s.now, path)
	if kind != unix.S_IFDIR {
		return taken
	}
	for at, n := range s.now {
		if rest, below := strings.CutPrefix(at, path+"/"); below {
			taken["/"+rest] = n
			delete(s.now, at)
		}
	}
	return taken
}

func (s *summing) put(path string, nodes map[string]*node) {
	for rest, n := range nodes {
		s.now[path+rest] = n
	}
}
