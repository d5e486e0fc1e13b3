package undo

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A worker makes changes at times of a test's choice.
type worker struct {
	t    *testing.T
	root string
	run  *Run
	now  time.Time
}

func newWorker(t *testing.T, s *Store, root string) *worker {
	t.Helper()
	run, err := s.Begin(root, "test")
	must(t, err)
	w := &worker{t, root, run, time.UnixMilli(1_000_000)}
	run.tree.journal.now = func() time.Time { return w.now }
	return w
}

func (w *worker) at(name string) place {
	w.t.Helper()
	p, err := w.run.tree.at(name)
	must(w.t, err)
	w.t.Cleanup(p.close)
	return p
}

func (w *worker) write(name, text string) {
	w.t.Helper()
	fd, err := w.run.tree.openForWriting(w.at(name), unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o644)
	must(w.t, err)
	_, err = unix.Write(fd, []byte(text))
	must(w.t, err)
	must(w.t, unix.Close(fd))
}

// call is what happens in the next ten seconds.
func (w *worker) call(do func()) Selection {
	from := w.now
	do()
	w.now = w.now.Add(10 * time.Second)
	return Selection{From: from, To: w.now}
}

func holds(t *testing.T, root, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		got = []byte("none")
	}
	if string(got) != want {
		t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

func TestOneCallIsTakenBack(t *testing.T) {
	root, dir := folders(t)
	for _, name := range []string{"old", "other", "gone"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte("first"), 0o644))
	}
	before := manifest(t, root)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	w := newWorker(t, s, root)
	one := w.call(func() {
		w.write("old", "second")
		w.write("made", "by the first call")
		w.write("scratch", "x")
		must(t, w.run.tree.unlink(w.at("scratch")))
	})
	two := w.call(func() {
		w.write("old", "third")
		must(t, w.run.tree.unlink(w.at("made")))
		must(t, w.run.tree.mkdir(w.at("folder"), 0o755))
		must(t, w.run.tree.rename(w.at("gone"), w.at("folder/gone"), 0))
	})
	three := w.call(func() {
		must(t, w.run.tree.chmod(w.at("other"), 0o600))
		w.write("late", "x")
	})
	must(t, w.run.Finish())
	after := manifest(t, root)

	list, err := s.Plan(w.run.ID, two)
	must(t, err)
	if len(list) != 4 {
		t.Errorf("the second call changed %v", list)
	}
	r, err := s.Undo(w.run.ID, two)
	must(t, err)
	if len(r.Conflicts) > 0 {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	for name, want := range map[string]string{"old": "second", "made": "by the first call", "gone": "first", "folder/gone": "none", "late": "x", "other": "first"} {
		holds(t, root, name, want)
	}
	if list, err = s.Plan(w.run.ID, two); err != nil || len(list) > 0 {
		t.Errorf("what was taken back is still to be: %v, %v", list, err)
	}
	_, err = s.Undo(r.ID, Selection{}) // the second call's changes are there again
	must(t, err)
	same(t, after, manifest(t, root))
	if list, err = s.Plan(w.run.ID, two); err != nil || len(list) != 4 {
		t.Errorf("what is there again is not to be taken back: %v, %v", list, err)
	}
	if r, err = s.Undo(w.run.ID, one); err != nil || len(r.Conflicts) != 2 {
		t.Errorf("the first call's were changed by the second: %v, %v", r.Conflicts, err)
	}
	holds(t, root, "old", "third")
	if _, err = s.Undo(w.run.ID, three); err != nil {
		t.Error(err)
	}
	undone(t, s, w.run.ID)
	same(t, before, manifest(t, root))
}

func TestAPathIsTakenBack(t *testing.T) {
	root, dir := folders(t)
	must(t, os.MkdirAll(filepath.Join(root, ".git/hooks"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "main.go"), []byte("before"), 0o644))
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	w := newWorker(t, s, root)
	w.write(".git/hooks/pre-commit", "#!/bin/sh\nattack")
	w.write("main.go", "after")
	must(t, w.run.Finish())
	r, err := s.Undo(w.run.ID, Selection{Paths: []string{".git/hooks"}})
	must(t, err)
	holds(t, root, ".git/hooks/pre-commit", "none")
	holds(t, root, "main.go", "after")
	if len(r.Conflicts) > 0 {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	undone(t, s, w.run.ID)
	holds(t, root, "main.go", "before")
}

func TestALargeFileIsKeptOnceARun(t *testing.T) {
	root, dir := folders(t)
	must(t, os.WriteFile(filepath.Join(root, "big"), make([]byte, apartKept+1), 0o644))
	before := manifest(t, root)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	w := newWorker(t, s, root)
	touch := func() {
		fd, err := w.run.tree.openForWriting(w.at("big"), unix.O_WRONLY, 0)
		must(t, err)
		_, err = unix.Pwrite(fd, []byte(w.now.String()), 0)
		must(t, err)
		must(t, unix.Close(fd))
	}
	w.call(touch)
	two := w.call(touch)
	must(t, w.run.Finish())
	r, err := s.Undo(w.run.ID, two)
	must(t, err)
	if len(r.Conflicts) != 1 || r.Conflicts[0].Why != string(notApart) {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	undone(t, s, w.run.ID)
	same(t, before, manifest(t, root))
}

func TestAPathIsTakenBackAfterItsFolderWasRenamed(t *testing.T) {
	for name, c := range map[string]struct {
		path string            // selected
		plan string            // what of it changed
		want map[string]string // what there is then
	}{
		"by the path of now":            {"lib/old", "changed", map[string]string{"lib/old": "before", "lib/made": "x", "src/old": "another", "lib/gone": "none"}},
		"by the path of then":           {"src/old", "", map[string]string{"lib/old": "before", "lib/made": "x", "src/old": "none"}},
		"what was made":                 {"lib/made", "created", map[string]string{"lib/old": "after", "lib/made": "none", "src/old": "another"}},
		"what was removed":              {"lib/gone", "deleted", map[string]string{"lib/old": "after", "lib/gone": "before"}},
		"the folder":                    {"lib", "", map[string]string{"src/old": "before", "lib/old": "none"}},
		"a file that was renamed there": {"lib/moved", "moved", map[string]string{"lib/first": "before", "lib/moved": "none", "lib/old": "after"}},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := folders(t)
			must(t, os.Mkdir(filepath.Join(root, "src"), 0o755))
			for _, name := range []string{"old", "gone", "first"} {
				must(t, os.WriteFile(filepath.Join(root, "src", name), []byte("before"), 0o644))
			}
			before := manifest(t, root)
			s, err := Open(dir, Options{Key: testKey})
			must(t, err)
			w := newWorker(t, s, root)
			w.write("src/old", "after")
			w.write("src/made", "x")
			must(t, w.run.tree.unlink(w.at("src/gone")))
			must(t, w.run.tree.rename(w.at("src/first"), w.at("src/moved"), 0))
			must(t, w.run.tree.rename(w.at("src"), w.at("lib"), 0))
			if c.path != "lib" {
				must(t, w.run.tree.mkdir(w.at("src"), 0o755))
				w.write("src/old", "another")
			}
			must(t, w.run.Finish())
			list, err := s.Plan(w.run.ID, Selection{Paths: []string{c.path}})
			must(t, err)
			if c.plan != "" && (len(list) != 1 || list[0].Path != c.path || list[0].What != c.plan) {
				t.Errorf("the plan is %v", list)
			}
			r, err := s.Undo(w.run.ID, Selection{Paths: []string{c.path}})
			must(t, err)
			if len(r.Conflicts) > 0 {
				t.Errorf("conflicts: %v", r.Conflicts)
			}
			for name, want := range c.want {
				holds(t, root, name, want)
			}
			undone(t, s, w.run.ID)
			same(t, before, manifest(t, root))
		})
	}
}

func TestAnUndoThatIsUndoneCanBeDoneAgain(t *testing.T) {
	root, dir := folders(t)
	for _, name := range []string{"a", "b", "link"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte("before"), 0o644))
	}
	must(t, os.Link(filepath.Join(root, "link"), filepath.Join(root, "name")))
	before := manifest(t, root)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	w := newWorker(t, s, root)
	w.write("a", "after")
	must(t, w.run.tree.unlink(w.at("b")))
	must(t, w.run.tree.unlink(w.at("link")))
	must(t, w.run.Finish())
	after := manifest(t, root)
	is := func(id string, back bool) {
		t.Helper()
		e, err := s.entry(id)
		must(t, err)
		if e.Undone != back {
			t.Errorf("run %s is taken back: %v, want %v", id, e.Undone, back)
		}
	}

	// All of it.
	first := undone(t, s, w.run.ID)
	is(w.run.ID, true)
	second := undone(t, s, first.ID)
	same(t, after, manifest(t, root))
	is(w.run.ID, false)
	third := undone(t, s, second.ID)
	same(t, before, manifest(t, root))
	is(w.run.ID, true)
	is(first.ID, false)
	undone(t, s, third.ID)
	is(w.run.ID, false)
	fifth := undone(t, s, w.run.ID)
	same(t, before, manifest(t, root))
	is(w.run.ID, true)

	// A part of it.
	_, err = s.Undo(fifth.ID, Selection{Paths: []string{"a"}})
	must(t, err)
	holds(t, root, "a", "after")
	holds(t, root, "b", "before")
	is(w.run.ID, false)
	is(fifth.ID, false)
	list, err := s.Plan(w.run.ID, Selection{})
	must(t, err)
	if len(list) != 1 || list[0].Path != "a" {
		t.Errorf("to be taken back are %v", list)
	}
	undone(t, s, w.run.ID)
	is(w.run.ID, true)
	same(t, before, manifest(t, root))
}

func TestAnUndoIsUndoneWhileSomebodyLooks(t *testing.T) {
	root, dir := folders(t)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	id := finished(t, s, root, "a")
	r := undone(t, s, id)
	looking, err := flock(filepath.Join(dir, id), unix.LOCK_SH)
	must(t, err)
	time.AfterFunc(30*time.Millisecond, func() { _ = looking.Close() })
	undone(t, s, r.ID)
	if e, err := s.entry(id); err != nil || e.Undone {
		t.Errorf("it still counts as taken back: %+v, %v", e, err)
	}
}
