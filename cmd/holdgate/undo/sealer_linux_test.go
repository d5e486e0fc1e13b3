package undo

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// holding are the files of a folder that hold a text, and those that others may open.
func holding(t testing.TB, dir, text string) (found []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if info.Mode().Perm()&0o077 != 0 {
			found = append(found, "open to others: "+rel)
		}
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if bytes.Contains(b, []byte(text)) {
				found = append(found, rel)
			}
		}
		return nil
	}))
	return found
}

func TestWhatIsKeptIsSealed(t *testing.T) {
	const canary = "canary-4f1c99"
	s := newSetting(t)
	content := []byte("KEY=" + canary + "\n" + strings.Repeat("x", 3*chunk))
	for i, name := range []string{"overwritten", "removed", "replaced", "closed", "truncated", "emptied"} {
		must(t, os.WriteFile(filepath.Join(s.root, name), content[:len(content)>>(i%2*8)], 0o644))
	}
	must(t, os.WriteFile(filepath.Join(s.root, "both"), content, 0o640))
	must(t, os.Link(filepath.Join(s.root, "both"), filepath.Join(s.root, "names")))
	must(t, os.Chmod(filepath.Join(s.root, "closed"), 0))
	must(t, unix.Setxattr(filepath.Join(s.root, "removed"), "user.note", []byte("\x00mine"), 0))
	before := manifest(t, s.root)
	e := s.shell(t, "echo x > overwritten; rm removed; echo x > n; mv n replaced; rm -f closed; truncate -s 5 truncated; : > emptied; rm both; rm names")
	if found := holding(t, s.dir, canary); len(found) > 0 {
		t.Errorf("the canary, or what others may open: %v", found)
	}
	r := undone(t, s.store, e.id)
	same(t, before, manifest(t, s.root))
	note := make([]byte, 9)
	if n, err := unix.Getxattr(filepath.Join(s.root, "removed"), "user.note", note); err != nil || string(note[:max(n, 0)]) != "\x00mine" {
		t.Errorf("the attribute is %q, %v", note[:max(n, 0)], err)
	}
	undone(t, s.store, r.ID)
	if found := holding(t, s.dir, canary); len(found) > 0 {
		t.Errorf("after both undos: %v", found)
	}
}

func TestWhatAKilledRunLeftIsSealedByTheNext(t *testing.T) {
	const canary = "canary-4f1c99"
	root, dir := folders(t)
	must(t, os.WriteFile(filepath.Join(root, "a"), []byte(canary), 0o600))
	before := manifest(t, root)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	run, err := s.Begin(root, "test")
	must(t, err)
	at, err := run.tree.at("a")
	must(t, err)
	n, err := run.tree.intend(at, record{Op: opUnlink, Kept: true, Kind: unix.S_IFREG})
	must(t, err)
	must(t, unix.Renameat2(at.dir, "a", run.tree.objects, object(n), unix.RENAME_NOREPLACE))
	at.close()
	run.tree.sealer.dir = t.TempDir() // it does not come to seal anything
	must(t, run.Finish())
	if !slices.Contains(holding(t, dir, canary), run.ID+"/objects/"+object(n)) {
		t.Fatal("it was sealed already")
	}
	must(t, s.Expire(run.Began, 0))
	if found := holding(t, dir, canary); len(found) > 0 {
		t.Errorf("the canary, or what others may open: %v", found)
	}
	undone(t, s, run.ID)
	same(t, before, manifest(t, root))
}

func TestAnotherKeyOpensNothing(t *testing.T) {
	root, dir := folders(t)
	must(t, os.WriteFile(filepath.Join(root, "a"), []byte("before"), 0o600))
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	run, err := s.Begin(root, "test")
	must(t, err)
	at, err := run.tree.at("a")
	must(t, err)
	defer at.close()
	fd, err := run.tree.openForWriting(at, unix.O_WRONLY|unix.O_TRUNC, 0)
	must(t, err)
	must(t, unix.Close(fd))
	must(t, run.Finish())
	other, err := Open(dir, Options{Key: bytes.Repeat([]byte("o"), 32)})
	must(t, err)
	r, err := other.Undo(run.ID, Selection{})
	must(t, err)
	if len(r.Conflicts) != 1 || r.Conflicts[0].Why != string(errDamaged) {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	undone(t, s, run.ID)
	if got, _ := os.ReadFile(filepath.Join(root, "a")); string(got) != "before" {
		t.Errorf("it holds %q", got)
	}
}

func TestAFileWithSeveralNamesIsBroughtBackByAnyOfThem(t *testing.T) {
	root, dir := folders(t)
	must(t, os.WriteFile(filepath.Join(root, "a"), []byte("before"), 0o600))
	for _, name := range []string{"b", "c"} {
		must(t, os.Link(filepath.Join(root, "a"), filepath.Join(root, name)))
	}
	before := manifest(t, root)
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	w := newWorker(t, s, root)
	for _, name := range []string{"a", "b", "c"} {
		must(t, w.run.tree.unlink(w.at(name)))
	}
	must(t, w.run.Finish())
	if found := holding(t, dir, "before"); len(found) > 0 {
		t.Fatalf("not sealed: %v", found)
	}
	for _, name := range []string{"a", "b"} {
		r, err := s.Undo(w.run.ID, Selection{Paths: []string{name}})
		must(t, err)
		if len(r.Conflicts) > 0 {
			t.Errorf("conflicts: %v", r.Conflicts)
		}
		holds(t, root, name, "before")
		holds(t, root, "c", "none")
	}
	undone(t, s, w.run.ID)
	same(t, before, manifest(t, root))
}

// removed is a run that removed a small and a large file, which wait to be sealed.
func removed(t *testing.T, root, dir string) (*Store, *Run) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(root, "small"), []byte("canary of the small"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "large"), bytes.Repeat([]byte("canary of the large "), 8<<20/20), 0o600))
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	run, err := s.Begin(root, "test")
	must(t, err)
	for _, name := range []string{"large", "small"} {
		at, err := run.tree.at(name)
		must(t, err)
		must(t, run.tree.unlink(at))
		at.close()
	}
	return s, run
}

func TestWhatHasNoRoomIsNotSealed(t *testing.T) {
	for name, close := range map[string]func(run *Run, free int64) error{
		"the reserve": func(run *Run, free int64) error {
			run.tree.sealer.reserve = free - 900<<10
			return run.Finish()
		},
		"the largest file": func(run *Run, _ int64) error {
			var was unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
				return err
			}
			// The log of what the tests open is a file of this process, too.
			if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 6 << 20, Max: was.Max}); err != nil {
				return err
			}
			return errors.Join(run.Finish(), unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t, "32m")
			root, dir := filepath.Join(disk, "work"), filepath.Join(disk, "undo")
			must(t, os.Mkdir(root, 0o755))
			s, run := removed(t, root, dir)
			if err := close(run, free(t, run.tree.journal.f)); err != nil {
				t.Fatalf("the run's end: %v", err)
			}
			if found := holding(t, dir, "canary of the large"); len(found) != 1 {
				t.Errorf("the large file has no room, and is in %v", found)
			}
			if found := holding(t, dir, "canary of the small"); len(found) > 0 {
				t.Errorf("the small file has room, and is in the open: %v", found)
			}
			must(t, s.Expire(run.Began, 0)) // now there is room
			if found := holding(t, dir, "canary"); len(found) > 0 {
				t.Errorf("the next run left in the open: %v", found)
			}
			undone(t, s, run.ID)
			holds(t, root, "small", "canary of the small")
		})
	}
}

func TestAFileIsNotEmptiedForWhatCannotBeRead(t *testing.T) {
	content := bytes.Repeat([]byte("before "), 3*chunk/7)
	root, dir := folders(t)
	must(t, os.WriteFile(filepath.Join(root, "a"), content, 0o644))
	s, err := Open(dir, Options{Key: testKey})
	must(t, err)
	w := newWorker(t, s, root)
	w.write("a", "after")
	must(t, w.run.Finish())
	saved, err := os.OpenFile(filepath.Join(dir, w.run.ID, fileSaved), os.O_RDWR, 0)
	must(t, err)
	defer saved.Close()
	info, err := saved.Stat()
	must(t, err)
	last := make([]byte, 1)
	_, err = saved.ReadAt(last, info.Size()-1)
	must(t, err)
	for _, b := range []byte{last[0] ^ 1, last[0]} {
		_, err = saved.WriteAt([]byte{b}, info.Size()-1)
		must(t, err)
		r, err := s.Undo(w.run.ID, Selection{})
		must(t, err)
		if damaged := b != last[0]; damaged {
			if len(r.Conflicts) != 1 || r.Conflicts[0].Why != string(errDamaged) {
				t.Errorf("conflicts: %v", r.Conflicts)
			}
			holds(t, root, "a", "after")
		} else if len(r.Conflicts) > 0 {
			t.Errorf("conflicts: %v", r.Conflicts)
		}
	}
	holds(t, root, "a", string(content))
}
