package badger

import (
	"testing"
	"testing/synctest"
	"time"
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
