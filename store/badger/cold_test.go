package badger

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// tableOf writes keys below a prefix into a table of their own, and returns its path.
func tableOf(t *testing.T, dir, prefix string) string {
	t.Helper()
	before, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	d := openCold(t, dir)
	err = d.Update(t.Context(), func(tx store.Tx) (err error) {
		for n := range 1000 {
			err = errors.Join(err, tx.Set(fmt.Sprintf("%s%06d", prefix, n), fmt.Appendf(nil, "%032d", n*n)))
		}
		return err
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	after, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(after) != len(before)+1 {
		t.Fatalf("tables %v, %v; want one more than %v", after, err, before)
	}
	return after[len(after)-1]
}

func openCold(t *testing.T, dir string) *db {
	t.Helper()
	d, err := open(dir, slog.New(slog.DiscardHandler), Cold("cold/"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// inTheMidst changes a byte of a table where no more than one block has it.
func inTheMidst(b []byte) { b[len(b)/3] ^= 1 }

// What is damaged of a cold table is missing, and no more than a block of it.
func TestAColdTableIsNotReadWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spoil(t, tableOf(t, dir, "cold/"), inTheMidst)
	d := openCold(t, dir)
	if n := len(held(t, d)); n == 0 || n == 1000 {
		t.Errorf("%d pairs of 1000 are there, want some", n)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrDamaged) {
		t.Errorf("opened without cold keys: %v, want %v", err, ErrDamaged)
	}
}

func TestTablesThatAreNotColdAreCheckedFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tableOf(t, dir, "cold/")
	spoil(t, tableOf(t, dir, "colder/"), inTheMidst)
	if _, err := open(dir, slog.New(slog.DiscardHandler), Cold("cold/")); !errors.Is(err, ErrDamaged) {
		t.Errorf("opened: %v, want %v", err, ErrDamaged)
	}
}
