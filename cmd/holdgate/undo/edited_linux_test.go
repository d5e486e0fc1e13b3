package undo

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// edit is what somebody writes after the run.
func edit(t *testing.T, root, name string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(root, name), []byte("user"), 0o644))
}

// planted is a worker in a folder with files.
func planted(t *testing.T, names ...string) (*Store, *worker) {
	t.Helper()
	root, dir := folders(t)
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(root, name), []byte("first"), 0o644))
	}
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	return s, newWorker(t, s, root)
}

// undoes takes back a part, and wants these paths to stay.
func undoes(t *testing.T, s *Store, id string, of Selection, stay ...string) Report {
	t.Helper()
	r, err := s.Undo(id, of)
	must(t, err)
	if len(r.Conflicts) != len(stay) {
		t.Errorf("conflicts: %v, want %v", r.Conflicts, stay)
	}
	for i := range min(len(stay), len(r.Conflicts)) {
		if r.Conflicts[i].Path != stay[i] {
			t.Errorf("conflicts: %v, want %v", r.Conflicts, stay)
		}
	}
	return r
}

// plans wants these to be what is left to be taken back.
func plans(t *testing.T, s *Store, id string, want ...string) {
	t.Helper()
	list, err := s.Plan(id, Selection{})
	must(t, err)
	if len(list) != len(want) {
		t.Errorf("to be taken back are %v, want %v", list, want)
	}
	for i := range min(len(list), len(want)) {
		if list[i].Path != want[i] {
			t.Errorf("to be taken back are %v, want %v", list, want)
		}
	}
}

func TestAnEditAfterTheRunStaysHoweverOftenItIsUndone(t *testing.T) {
	for name, c := range map[string]struct {
		second func(w *worker)
		first  bool // the second call is taken back before the edit
		edit   func(t *testing.T, root string)
	}{
		"moved, and moved back": {
			second: func(w *worker) { must(w.t, w.run.tree.rename(w.at("f"), w.at("g"), 0)) },
			edit: func(t *testing.T, root string) {
				must(t, os.Rename(filepath.Join(root, "g"), filepath.Join(root, "f")))
				edit(t, root, "f")
			},
		},
		"exchanged": {
			second: func(w *worker) { must(w.t, w.run.tree.rename(w.at("f"), w.at("x"), unix.RENAME_EXCHANGE)) },
			edit:   func(t *testing.T, root string) { edit(t, root, "x") },
		},
		"between two undos": {
			second: func(w *worker) { must(w.t, w.run.tree.chmod(w.at("f"), 0o600)) },
			first:  true,
			edit:   func(t *testing.T, root string) { edit(t, root, "f") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := planted(t, "f", "x")
			w.call(func() { w.write("f", "agent") })
			two := w.call(func() { c.second(w) })
			must(t, w.run.Finish())
			if c.first {
				undoes(t, s, w.run.ID, two)
			}
			c.edit(t, w.root)
			if !c.first {
				undoes(t, s, w.run.ID, two)
			}
			for range 3 {
				undoes(t, s, w.run.ID, Selection{}, "f")
				holds(t, w.root, "f", "user")
			}
		})
	}
}

func TestAConflictLeavesNothingElseToBeTakenBack(t *testing.T) {
	s, w := planted(t, "f", "g")
	w.call(func() { w.write("f", "second"); w.write("made", "x") })
	w.call(func() { w.write("f", "third"); w.write("made", "y") })
	w.call(func() { must(w.t, w.run.tree.unlink(w.at("made"))); w.write("g", "after") })
	must(t, w.run.Finish())
	edit(t, w.root, "g")
	undoes(t, s, w.run.ID, Selection{}, "g")
	plans(t, s, w.run.ID, "g")
	undoes(t, s, w.run.ID, Selection{Paths: []string{"f", "made"}})
	undoes(t, s, w.run.ID, Selection{}, "g")
	for name, want := range map[string]string{"f": "first", "made": "none", "g": "user"} {
		holds(t, w.root, name, want)
	}
}

func TestWhatAnUndoOfAnUndoLeavesIsNotThereAgain(t *testing.T) {
	s, w := planted(t, "f", "g")
	w.call(func() { w.write("f", "second"); w.write("g", "second"); w.write("made", "x") })
	w.call(func() { w.write("f", "third") })
	must(t, w.run.Finish())
	first := undone(t, s, w.run.ID)
	edit(t, w.root, "g")
	edit(t, w.root, "made")
	undoes(t, s, first.ID, Selection{}, "g", "made")
	holds(t, w.root, "f", "third")
	plans(t, s, w.run.ID, "f")
	undoes(t, s, w.run.ID, Selection{})
	for name, want := range map[string]string{"f": "first", "g": "user", "made": "user"} {
		holds(t, w.root, name, want)
	}
}

func TestAllWritesOfAPathAreThereAgain(t *testing.T) {
	s, w := planted(t, "f")
	w.call(func() { w.write("f", "second"); w.write("made", "x") })
	w.call(func() { w.write("f", "third"); w.write("made", "y") })
	must(t, w.run.Finish())
	paths := Selection{Paths: []string{"f", "made"}}
	undoes(t, s, undoes(t, s, w.run.ID, paths).ID, paths)
	holds(t, w.root, "f", "third")
	holds(t, w.root, "made", "y")
	plans(t, s, w.run.ID, "f", "made")
	undone(t, s, w.run.ID)
	holds(t, w.root, "f", "first")
	holds(t, w.root, "made", "none")
}
