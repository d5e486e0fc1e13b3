package badger

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate/store/wal"
)

// What Update wrote is synced when it returns; what UpdateSoon wrote, within
// 100 ms.
func TestWritesAreSyncedInTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := openTest(t, dir)
		for range 3 {
			if err := d.UpdateSoon(t.Context(), set("soon", nil)); err != nil {
				t.Fatal(err)
			}
			if !d.journal.dirty.Load() {
				t.Error("UpdateSoon waited for a sync")
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if d.journal.dirty.Load() {
				t.Error("what UpdateSoon wrote is not synced after 100 ms")
			}
			if err := d.UpdateSoon(t.Context(), set("soon", nil)); err != nil {
				t.Fatal(err)
			}
			if err := d.Update(t.Context(), set("durable", nil)); err != nil {
				t.Fatal(err)
			}
			if d.journal.dirty.Load() {
				t.Error("what Update wrote is not synced")
			}
		}
	})
}

// That the keeper never finds nothing to do is no reason to sync later.
func TestWritesAreSyncedInTimeWhileMoreCome(t *testing.T) {
	dir, left := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := openTest(t, dir)
		next := func() *item {
			i := &item{record: appendPayload(wal.Begin(nil), 1, pairs("k", 1)), committed: make(chan error, 1)}
			d.journal.add(i)
			return i
		}
		i := next()
		for range 5 {
			synctest.Wait() // the keeper waits for Badger
			time.Sleep(20 * time.Millisecond)
			following := next()
			i.committed <- nil
			i = following
		}
		synctest.Wait()
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		i.committed <- nil
		synctest.Wait()
	})
	log, err := wal.Open(left)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var last wal.Record
	for r, err := range log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if last.Number < 5 || last.Synced == 0 {
		t.Errorf("after %d writes in 100 ms nothing was synced", last.Number)
	}
}

// Once the store was idle, damage to what was written last is no unfinished
// write either.
func TestDamageToTheLastWriteIsKnownFromTheMark(t *testing.T) {
	dir, left := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := openTest(t, dir)
		if err := d.Update(t.Context(), set("a", []byte("the last"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	})
	names, err := filepath.Glob(filepath.Join(left, "*.wal"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	b[bytes.Index(b, []byte("the last"))] ^= 1
	if err := os.WriteFile(names[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(left, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}

// Each sync is told of that had something to do, and no other.
func TestSyncsAreToldOf(t *testing.T) {
	var syncs atomic.Int64
	st, err := Open(t.TempDir(), slog.New(slog.DiscardHandler), OnSync(func(took time.Duration, err error) {
		if syncs.Add(1); took <= 0 || err != nil {
			t.Errorf("a sync took %v: %v", took, err)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := st.Update(t.Context(), set("durable", nil)); err != nil {
			t.Fatal(err)
		}
		if n := syncs.Load(); n != int64(i+1) {
			t.Errorf("after %d updates, %d syncs", i+1, n)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if n := syncs.Load(); n != 3 {
		t.Errorf("%d syncs in the end", n)
	}
}
