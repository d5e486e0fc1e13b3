package undo

import (
	"bytes"
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
