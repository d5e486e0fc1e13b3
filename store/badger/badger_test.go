package badger

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdgate/holdgate/store"
)

// openTest opens a store in dir that the test closes.
func openTest(t testing.TB, dir string) *db {
	t.Helper()
	d, err := open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return d
}

func set(key string, value []byte) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Set(key, value) }
}

func TestASecondOpenNamesTheProcess(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir)
	_, err := Open(dir, slog.New(slog.DiscardHandler))
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v, want ErrInUse", err)
	}
	if want := fmt.Sprintf("process %d", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not name %q", err, want)
	}
}

// A child that is just being started holds every lock of its parent until its
// exec, the one on a folder that the parent has closed included.
func TestAnOpenWaitsForALockThatIsGoingAway(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	release := time.AfterFunc(3*lockPoll, func() { f.Close() })
	defer release.Stop()
	openTest(t, dir)
}

// That a commit may begin a memtable is known before it, so that all before it
// can be synced: where the memtable's arena fills first, and where its file
// does, as it does with one small write a commit.
func TestABeginningMemtableIsForeseen(t *testing.T) {
	for name, c := range map[string]struct{ prefilled, writers, writes, size int }{
		"many writers, the arena fills first": {0, 16, 3000, 900},
		"one writer, the file fills first":    {75, 1, 20_000, 30},
	} {
		t.Run(name, func(t *testing.T) {
			d := openTest(t, t.TempDir())
			first := d.mem.fid
			write := func(key string, size int) {
				if err := d.UpdateSoon(t.Context(), set(key, make([]byte, size))); err != nil {
					t.Error(err)
				}
			}
			for i := range c.prefilled {
				write(fmt.Sprint("large/", i), 200<<10)
			}
			var wg sync.WaitGroup
			for g := range c.writers {
				wg.Go(func() {
					for i := range c.writes {
						write(fmt.Sprintf("k/%d/%d", g, i), c.size/4+i%(c.size*3/4))
					}
				})
			}
			wg.Wait()
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if d.mem.fid == first {
				t.Error("no new memtable began")
			}
		})
	}
}

// A Badger that begins memtables elsewhere would have the log forget too early.
func TestAMemtableThatWasNotForeseenFailsTheStore(t *testing.T) {
	d := openTest(t, t.TempDir())
	if err := d.Update(t.Context(), set("a", nil)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.mem.path(d.mem.fid+1), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.mem.fill = fill{arena: memTableSize - lookAhead}
	if err := d.Update(t.Context(), set("a", nil)); !errors.Is(err, errUnforeseen) {
		t.Fatalf("got %v", err)
	}
	if err := d.Update(t.Context(), set("a", nil)); !errors.Is(err, store.ErrFailed) {
		t.Errorf("got %v, want that the store has failed", err)
	}
}

func TestANearlyFullDiskRefusesUntilThereIsRoom(t *testing.T) {
	d := openTest(t, t.TempDir())
	d.mem.free.dir = filepath.Join(t.TempDir(), "gone")
	if err := d.Update(t.Context(), set("a", nil)); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v, want an error about the disk", err)
	}
	d.mem.free.dir = d.mem.dir
	if err := d.Update(t.Context(), set("a", nil)); err != nil {
		t.Errorf("after there is room: %v", err)
	}
}

func TestAFunctionThatEndsTheWriterFailsTheStore(t *testing.T) {
	d := openTest(t, t.TempDir())
	err := d.Update(t.Context(), func(store.Tx) error { runtime.Goexit(); return nil })
	if err == nil || !strings.Contains(err.Error(), "ended its goroutine") {
		t.Errorf("got %v", err)
	}
	if err := d.Update(t.Context(), set("a", nil)); err == nil {
		t.Error("a later update succeeded")
	}
}

// Pieces that a crash left without their pair are removed when the store is
// opened, and those of pairs are not.
func TestPiecesWithoutAPairAreRemoved(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	big := bytes.Repeat([]byte("x"), 3<<20)
	if err := d.Update(t.Context(), set("kept", big)); err != nil {
		t.Fatal(err)
	}
	// The writer waits, so the test may commit in its place.
	if _, err := d.writeAhead("orphan", big); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openTest(t, dir)
	if got, want := countPieces(d), 12; got != want {
		t.Errorf("%d pieces are left, want the %d of the pair", got, want)
	}
	view(t, d, func(tx store.Tx) error {
		if v, err := tx.Get("kept"); err != nil || !bytes.Equal(v, big) {
			t.Errorf("the pair's value has %d bytes, %v", len(v), err)
		}
		return nil
	})
	if err := d.Update(t.Context(), func(tx store.Tx) error { return tx.Delete("kept") }); err != nil {
		t.Fatal(err)
	}
	if got := countPieces(d); got != 0 {
		t.Errorf("%d pieces are left of a deleted pair", got)
	}
}

// Deleting a value deletes its pieces, which count: what Badger does not take
// in one transaction must neither fail the store nor get into the log.
func TestPiecesThatAreDeletedCount(t *testing.T) {
	d := openTest(t, t.TempDir())
	if err := d.Update(t.Context(), set("small", nil)); err != nil {
		t.Fatal(err)
	}
	// The writer waits, so the test may say what it knows.
	d.large["huge"] = ref{id: 1 << 40, count: 30_000}
	for i := range 4 {
		d.large[fmt.Sprint("large/", i)] = ref{id: 1<<40 + uint64(i) + 1, count: 15_000}
	}
	remove := func(key string) error {
		return d.Update(t.Context(), func(tx store.Tx) error { return tx.Delete(key) })
	}
	if err := remove("huge"); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	var wg sync.WaitGroup
	d.Update(t.Context(), func(store.Tx) error { // they wait together behind this one
		for i := range 4 {
			wg.Go(func() {
				if err := remove(fmt.Sprint("large/", i)); err != nil {
					t.Error(err)
				}
			})
		}
		for n := 0; n < 4; runtime.Gosched() {
			n = d.queue.Len()
		}
		return nil
	})
	wg.Wait()
}

func view(t testing.TB, d *db, fn func(store.Tx) error) {
	t.Helper()
	if err := d.View(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func countPieces(d *db) (n int) {
	r := newReader(d.badger, d.version)
	defer r.close()
	for id := range d.version + 1 {
		for f := (ref{id: id}); ; f.count++ {
			if _, err := r.txn.Get(f.pieceKey(f.count)); err != nil {
				break
			}
			n++
		}
	}
	return n
}
