package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// Where members write at once, each batch sees the one before it: none runs again.
func TestMembersWriteInTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := []store.Store{open(t, dir), open(t, dir), open(t, dir)}
	var ran atomic.Int64
	took := appendAll(t, all, 8, 20, func(tx store.Tx) error { ran.Add(1); return appendOne(tx) })
	if int(ran.Load()) != len(took) {
		t.Errorf("%d functions ran %d times", len(took), ran.Load())
	}
	if n := number(t, all[0], "head"); n != len(took) {
		t.Errorf("the head is at %d, want %d", n, len(took))
	}
	for _, s := range all {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkMembers measures writes of several members to one server, each by 16 writers,
// that meet in one key, as all changes of state do in the head of the log.
func BenchmarkMembers(b *testing.B) {
	for _, members := range []int{1, 2, 3} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			dir := b.TempDir()
			pgtest.URL(b, dir)
			var all []store.Store
			for range members {
				all = append(all, open(b, dir))
			}
			defer func() {
				for _, s := range all {
					s.Close()
				}
			}()
			b.ResetTimer()
			began := time.Now()
			took := appendAll(b, all, 16, max(b.N/(16*members), 1), appendOne)
			rate := float64(len(took)) / time.Since(began).Seconds()
			slices.Sort(took)
			b.ReportMetric(rate, "writes/s")
			b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
			b.ReportMetric(float64(took[len(took)-1])/1e6, "longest-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// appendAll has writers of each store append to one row of entries, and returns how long
// each write took.
func appendAll(t testing.TB, stores []store.Store, writers, each int, fn func(store.Tx) error) (took []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range stores {
		for range writers {
			wg.Go(func() {
				for range each {
					began := time.Now()
					err := s.Update(context.Background(), fn)
					mu.Lock()
					if took = append(took, time.Since(began)); err != nil {
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	return took
}

// appendOne adds an entry behind the head.
func appendOne(tx store.Tx) error {
	head, err := tx.Get("head")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	n, _ := strconv.ParseUint(string(head), 10, 64)
	return errors.Join(tx.Set("entry/"+store.Seq(n+1), make([]byte, 500)), tx.Set("head", []byte(strconv.FormatUint(n+1, 10))))
}
