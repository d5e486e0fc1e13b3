package undo

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk is a file system of few bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// free is how many bytes there is room for.
func free(t *testing.T, f *os.File) int64 {
	t.Helper()
	var st unix.Statfs_t
	must(t, unix.Fstatfs(int(f.Fd()), &st))
	return int64(st.Bavail) * st.Bsize
}

func TestOnAFullDiskNothingChangesUnrecorded(t *testing.T) {
	smallDisk(t, "1m") // or all is skipped
	var filled atomic.Int64
	for seed := range uint64(12) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			disk := smallDisk(t, "1m")
			root := filepath.Join(disk, "work")
			must(t, os.Mkdir(root, 0o755))
			plant(t, rand.New(rand.NewPCG(seed, 2)), root)
			before := manifest(t, root)
			s, err := Open(filepath.Join(disk, "undo"), Options{Key: testKey})
			must(t, err)
			run, err := s.Begin(root, "test")
			must(t, err)
			ballast, err := os.Create(filepath.Join(disk, "ballast"))
			must(t, err)
			for room := int64(seed%6) * 4096; free(t, ballast) > room; {
				if _, err := ballast.Write(make([]byte, 4096)); err != nil {
					break
				}
			}
			p := &player{rnd: rand.New(rand.NewPCG(seed, 1)), tree: run.tree}
			full := false
			for range 200 {
				err := p.step()
				full = full || errors.Is(err, unix.ENOSPC)
				if _, refused := errors.AsType[unix.Errno](err); err != nil && !refused && !errors.Is(err, errNative) {
					t.Fatal(err)
				}
			}
			for _, fd := range p.files {
				must(t, unix.Close(fd))
			}
			if full {
				filled.Add(1)
			}
			must(t, os.Remove(ballast.Name()))
			must(t, ballast.Close())
			must(t, run.Finish())
			if run.Changed() {
				undone(t, s, run.ID)
			}
			same(t, before, manifest(t, root))
		})
	}
	if filled.Load() < 3 {
		t.Errorf("the disk was full %d times", filled.Load())
	}
}

func TestTheReserveOfTheDiskStaysFree(t *testing.T) {
	root, dir := folders(t)
	must(t, os.WriteFile(filepath.Join(root, "a"), []byte("before"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "b"), []byte("before"), 0o644))
	s, err := Open(dir, Options{Key: testKey, Reserve: 1 << 60})
	must(t, err)
	w := newWorker(t, s, root)
	for _, name := range []string{"a", "new"} {
		fd, err := w.run.tree.openForWriting(w.at(name), unix.O_WRONLY|unix.O_CREAT, 0o644)
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("opening %s: %d, %v", name, fd, err)
		}
	}
	must(t, w.run.tree.rename(w.at("a"), w.at("c"), 0))
	must(t, w.run.tree.unlink(w.at("b")))
	must(t, w.run.Finish())
	undone(t, s, w.run.ID)
	holds(t, root, "a", "before")
	holds(t, root, "b", "before")
}
