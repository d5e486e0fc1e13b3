package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// count adds one to a number, which the store must not let two do at once.
func count(tx store.Tx, key string) (n int, err error) {
	b, err := tx.Get(key)
	if err == nil {
		n, err = strconv.Atoi(string(b))
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	n++
	return n, tx.Set(key, []byte(strconv.Itoa(n)))
}

func testConcurrency(t *testing.T, open Open) {
	each(t, open, []one{
		{"no two transactions build on the same state", func(t *testing.T, f fixture) {
			const writers, times = 32, 50
			var wg sync.WaitGroup
			for g := range writers {
				wg.Go(func() {
					update := f.Update
					if g%2 == 0 {
						update = f.UpdateSoon
					}
					for i := range times {
						err := update(t.Context(), func(tx store.Tx) error {
							if _, err := count(tx, "n"); err != nil {
								return err
							}
							if i%5 == 4 {
								return errUndo
							}
							return nil
						})
						if err != nil && !errors.Is(err, errUndo) {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			f.want("n", strconv.Itoa(writers*times*4/5))
		}},
		{"pairs that are written together are seen together", func(t *testing.T, f fixture) {
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer stop()
			for range 4 {
				wg.Go(func() {
					for ctx.Err() == nil {
						f.view(func(tx store.Tx) error {
							a, errA := tx.Get("a")
							b, errB := tx.Get("b")
							if string(a) != string(b) || !errors.Is(errA, errB) {
								t.Errorf("a is %q, b is %q", a, b)
							}
							return nil
						})
					}
				})
			}
			for i := range 500 {
				v := []byte(strconv.Itoa(i))
				err := f.UpdateSoon(t.Context(), func(tx store.Tx) error { return errors.Join(tx.Set("a", v), tx.Set("b", v)) })
				if err != nil {
					t.Error(err)
				}
			}
		}},
		{"whoever was answered finds it written, at once", func(t *testing.T, f fixture) {
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 50 {
						key := fmt.Sprintf("%d/%d", g, i)
						if err := f.UpdateSoon(t.Context(), put(key, "1")); err != nil {
							t.Error(err)
						}
						f.want(key, "1")
					}
				})
			}
			wg.Wait()
		}},
		{"a function whose context ends while it waits never runs", testCancelled},
	})
}

func testCancelled(t *testing.T, f fixture) {
	busy, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		var once sync.Once
		err := f.Update(t.Context(), func(tx store.Tx) error {
			once.Do(func() { close(busy); <-release })
			return tx.Set("first", []byte("1"))
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	wg.Go(func() { answer <- f.Update(ctx, func(store.Tx) error { t.Error("it ran"); return nil }) })
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	close(release)
	f.set("last", "1")
	f.want("first", "1")
}

func testClosing(t *testing.T, open Open) {
	t.Run("what was written is there when the store is opened again", func(t *testing.T) {
		dir := t.TempDir()
		for round := range 3 {
			f := fixture{open(t, dir), t}
			for i := range round {
				f.want(fmt.Sprint("soon", i), "1")
				f.want(fmt.Sprint("durable", i), "1")
				f.want(fmt.Sprint("gone", i), "")
			}
			if err := f.UpdateSoon(t.Context(), put(fmt.Sprint("soon", round), "1")); err != nil {
				t.Error(err)
			}
			f.set(fmt.Sprint("durable", round), "1")
			f.set(fmt.Sprint("gone", round), "1")
			if err := f.UpdateSoon(t.Context(), func(tx store.Tx) error { return tx.Delete(fmt.Sprint("gone", round)) }); err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	each(t, open, []one{
		{"a closed store does nothing, and says so", func(t *testing.T, f fixture) {
			for range 2 {
				if err := f.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			}
			for _, begin := range []func(context.Context, func(store.Tx) error) error{f.View, f.Update, f.UpdateSoon} {
				if err := begin(t.Context(), func(store.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, store.ErrClosed) {
					t.Errorf("got %v, want ErrClosed", err)
				}
			}
		}},
		{"closing answers all who wait", func(t *testing.T, f fixture) {
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					err := f.Update(t.Context(), put(fmt.Sprint(i), "1"))
					if err != nil && !errors.Is(err, store.ErrClosed) {
						t.Error(err)
					}
				})
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
		}},
	})
}
