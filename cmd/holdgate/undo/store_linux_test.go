package undo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// finished is a run that has made one file.
func finished(t *testing.T, s *Store, root, name string) string {
	t.Helper()
	w := newWorker(t, s, root)
	w.write(name, "x")
	must(t, w.run.Finish())
	return w.run.ID
}

func TestADamagedEntryIsInNobodysWay(t *testing.T) {
	root, dir := folders(t)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	for name, text := range map[string]string{"empty": "", "torn": `{"id":"20`, "another's": `{"id":"elsewhere","root":"/"}`} {
		t.Run(name, func(t *testing.T) {
			bad, good := finished(t, s, root, "bad"), finished(t, s, root, "good")
			must(t, os.WriteFile(filepath.Join(dir, bad, fileEntry), []byte(text), 0o600))
			list, err := s.Entries()
			must(t, err)
			i := slices.IndexFunc(list, func(e Entry) bool { return e.ID == bad })
			if i < 0 || list[i].Damaged == "" || list[i].Began.IsZero() || list[i].Bytes == 0 {
				t.Fatalf("the damaged entry is listed as %+v", list)
			}
			if _, err := s.Undo(bad, Selection{}); err == nil {
				t.Error("a damaged entry was taken back")
			}
			if _, err := s.Plan(bad, Selection{}); err == nil {
				t.Error("a damaged entry has a plan")
			}
			undone(t, s, good)
			must(t, s.Expire(time.Time{}, 0))
			if _, err := os.Stat(filepath.Join(dir, bad)); err != nil {
				t.Errorf("it went before its time: %v", err)
			}
			must(t, s.Expire(time.Now().Add(time.Hour), 0))
			if _, err := os.Stat(filepath.Join(dir, bad)); err == nil {
				t.Error("it stays for ever")
			}
		})
	}
}

func TestWhatAnEntryIsOfIsWrittenAsAWhole(t *testing.T) {
	root, dir := folders(t)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	id := finished(t, s, root, "a")
	before, err := stat(unix.AT_FDCWD, filepath.Join(dir, id, fileEntry))
	must(t, err)
	old, err := os.Open(filepath.Join(dir, id, fileEntry))
	must(t, err)
	defer old.Close()
	must(t, writeWhole(filepath.Join(dir, id, fileEntry), []byte("{}")))
	after, err := stat(unix.AT_FDCWD, filepath.Join(dir, id, fileEntry))
	must(t, err)
	if now, _ := stat(int(old.Fd()), ""); after.id == before.id || now.size == 2 {
		t.Error("it was written where it was")
	}
}

func TestLookingAtAnEntryKeepsNobodyFromIt(t *testing.T) {
	root, dir := folders(t)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	id := finished(t, s, root, "a")
	looking, err := os.Open(filepath.Join(dir, id))
	must(t, err)
	defer looking.Close()
	must(t, unix.Flock(int(looking.Fd()), unix.LOCK_SH)) // as another command that lists does
	list, err := s.Entries()
	must(t, err)
	if len(list) != 1 || list[0].Running {
		t.Errorf("a run that somebody looks at counts as running: %+v", list)
	}
}

func TestAnEntrySaysWhenItsRunEnded(t *testing.T) {
	root, dir := folders(t)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	began := time.Now()
	id := finished(t, s, root, "a")
	e, err := s.read(id)
	must(t, err)
	if e.Ended.Before(began.Add(-time.Second)) || e.Ended.After(time.Now().Add(time.Second)) {
		t.Errorf("it ended at %v", e.Ended)
	}
	w := newWorker(t, s, root)
	w.write("b", "x")
	if e, err = s.read(w.run.ID); err != nil || !e.Ended.IsZero() || !e.Running {
		t.Errorf("a run that goes on: %+v, %v", e, err)
	}
	must(t, w.run.Finish())
}
