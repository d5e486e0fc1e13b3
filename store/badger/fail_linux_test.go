package badger

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate/store"
)

// becomes makes every open file of this process whose path matches the pattern
// a device.
func becomes(t *testing.T, pattern, device string) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := false
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		path, err := os.Readlink(link)
		if err != nil {
			continue // the descriptor that read the folder
		}
		if ok, _ := filepath.Match(pattern, path); !ok {
			continue
		}
		fd, err := strconv.Atoi(filepath.Base(link))
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Dup3(int(f.Fd()), fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		found = true
	}
	if !found {
		t.Fatalf("no open file matches %s", pattern)
	}
}

// A log that cannot be written or synced turns the store off for writers and
// not for readers.
func TestAFailedLogRefusesAllLaterWrites(t *testing.T) {
	for name, c := range map[string]struct {
		device string
		want   error
	}{
		"the disk is full": {"/dev/full", unix.ENOSPC},
		"a sync fails":     {"/dev/null", unix.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := openTest(t, dir)
			if err := d.Update(t.Context(), set("a", []byte("1"))); err != nil {
				t.Fatal(err)
			}
			becomes(t, filepath.Join(dir, "*.wal"), c.device)
			err := d.Update(t.Context(), set("a", []byte("2")))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want the cause, %v", err, c.want)
			}
			if !errors.Is(err, store.ErrUnknown) {
				t.Errorf("got %v, which should say that nobody knows whether it is kept", err)
			}
			again := d.UpdateSoon(t.Context(), set("a", []byte("3")))
			if !errors.Is(again, c.want) || !errors.Is(again, store.ErrFailed) || errors.Is(again, store.ErrUnknown) {
				t.Errorf("got %v, want the cause, %v, and that it is not kept", again, c.want)
			}
			view(t, d, func(tx store.Tx) error {
				if v, err := tx.Get("a"); string(v) != "1" || err != nil {
					t.Errorf("got %q, %v; want the value that was synced", v, err)
				}
				return nil
			})
		})
	}
}
