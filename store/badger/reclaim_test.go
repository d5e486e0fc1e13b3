package badger

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// tables is how many bytes the database's tables have.
func tables(t *testing.T, dir string) (size int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

func TestReclaimGivesBackWhatWasDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := open(dir, slog.New(slog.DiscardHandler), WithoutCompaction(), func(o *opening) { o.NumLevelZeroTables = 1 })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	random := rand.New(rand.NewPCG(1, 2))
	fill := func(prefix string) {
		for n := range 300 {
			value := make([]byte, 100<<10)
			for i := range value {
				value[i] = byte(random.Uint32())
			}
			if err := d.UpdateSoon(t.Context(), set(fmt.Sprintf("%s%06d", prefix, n), value)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill("old/")
	err = d.Update(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("old/", "") {
			if err != nil {
				return err
			}
			if err := tx.Delete(p.Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	deleted := d.snaps.oldest()
	fill("new/") // more than a memtable, so that the deletions are in a table
	for d.log.Oldest() <= deleted {
		if err := d.Update(t.Context(), set("new/000000", nil)); err != nil {
			t.Fatal(err)
		}
	}
	before := tables(t, dir)
	if err := d.Reclaim(); err != nil {
		t.Fatal(err)
	}
	if after := tables(t, dir); after > before/2+(8<<20) {
		t.Errorf("the tables have %d MiB, and had %d", after>>20, before>>20)
	}
	if n := len(held(t, d)); n != 300 {
		t.Errorf("%d pairs are left, want 300", n)
	}
}
