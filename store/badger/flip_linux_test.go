package badger

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// A bit that flips in any file, wherever in it, either keeps the store from being opened,
// with the file named or not, or changes nothing that was acknowledged.
func TestABitThatFlipsInAnyFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	d := openTest(t, dir)
	acknowledged := map[string][]byte{}
	for n := range 300 { // more than a memtable, so that there are tables, one being filled, and the log
		key, value := fmt.Sprintf("k/%03d", n), bytes.Repeat([]byte{byte(n)}, 100<<10)
		if err := d.Update(t.Context(), set(key, value)); err != nil {
			t.Fatal(err)
		}
		acknowledged[key] = value
	}
	left := filepath.Join(t.TempDir(), "left") // as a process leaves it that is killed
	copySparse(t, left, dir)
	entries, err := os.ReadDir(left)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(left, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		written := len(bytes.TrimRight(content, "\x00")) // files are allocated ahead
		for _, at := range []int{0, written / 2, written - 1} {
			if at < 0 || at >= written {
				continue
			}
			t.Run(fmt.Sprintf("%s at %d of %d", e.Name(), at, written), func(t *testing.T) {
				damaged := filepath.Join(t.TempDir(), "db")
				copySparse(t, damaged, left)
				flipBit(t, filepath.Join(damaged, e.Name()), int64(at))
				d, err := open(damaged, slog.New(slog.DiscardHandler))
				if err != nil {
					kinds[filepath.Ext(e.Name())+" refused"]++
					return
				}
				defer d.Close()
				kinds[filepath.Ext(e.Name())+" whole"]++
				view(t, d, func(tx store.Tx) error {
					for key, want := range acknowledged {
						if got, err := tx.Get(key); err != nil || !bytes.Equal(got, want) {
							t.Fatalf("%s is gone or changed, and nothing was said: %d bytes, %v", key, len(got), err)
						}
					}
					return nil
				})
			})
		}
	}
	t.Log(kinds)
	for _, ext := range []string{".sst", ".mem", ".wal"} {
		if kinds[ext+" refused"]+kinds[ext+" whole"] == 0 {
			t.Errorf("no %s file was there to be damaged: %v", ext, kinds)
		}
	}
}

// flipBit changes one bit of a file.
func flipBit(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}
