package badger

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate/store"
)

// smallDisk mounts a disk of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=200m"); err != nil {
		t.Skipf("THE DISK IS NOT TESTED: mounting one of its own takes rights that this user does not have: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp leaves so many bytes free; what free returns takes it back.
func fillUp(t *testing.T, disk string, leave int64) (free func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	has, err := freeBytes(disk)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, has-leave); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
}

// A write to a mapping that meets a full disk ends the process: this one, where room is
// not looked at first.
func TestADiskThatIsFullAtTheEndOrTheBeginning(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	disk := smallDisk(t)
	dir := filepath.Join(disk, "db")
	d, err := open(dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 { // more than what is free below
		if err := d.Update(t.Context(), set(fmt.Sprint(n), make([]byte, 200<<10))); err != nil {
			t.Fatal(err)
		}
	}
	room := fillUp(t, disk, 0)
	if err := d.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	room()

	left := filepath.Join(disk, "left") // as a process leaves it that has ended then
	copySparse(t, left, dir)
	for _, leave := range []int64{0, 300 << 10, 5 << 20} {
		room := fillUp(t, disk, leave)
		if d, err := open(left, quiet); !errors.Is(err, store.ErrNoRoom) {
			t.Errorf("with %d bytes free: opened %v, %v", leave, d != nil, err)
		}
		room()
	}
	d = openTest(t, left)
	view(t, d, func(tx store.Tx) error {
		if v, err := tx.Get("39"); len(v) != 200<<10 || err != nil {
			t.Errorf("the last value has %d bytes, %v", len(v), err)
		}
		return nil
	})
	defer fillUp(t, disk, reserve/2)()
	if err := d.Reclaim(); !errors.Is(err, store.ErrNoRoom) {
		t.Errorf("merging tables that the disk cannot hold a second time: %v", err)
	}
}

// copySparse copies a folder without what was never written.
func copySparse(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		in, err := os.Open(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(filepath.Join(to, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 64<<10)
		for size := int64(0); ; {
			n, err := io.ReadFull(in, b)
			for _, c := range b[:n] {
				if c != 0 {
					_, _ = out.WriteAt(b[:n], size)
					break
				}
			}
			if size += int64(n); err != nil {
				_ = out.Truncate(size)
				break
			}
		}
		_, _ = in.Close(), out.Close()
	}
}
