package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holdgate/holdgate/store"
)

// wantNext checks which keys a watcher hands over next.
func wantNext(t testing.TB, w store.Watcher, want ...string) {
	t.Helper()
	got, err := w.Next(t.Context())
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("changed were %q, %v; want %q", got, err, want)
	}
}

func testWatches(t *testing.T, open Open) {
	each(t, open, []one{
		{"keys that changed come once, however often they changed", func(t *testing.T, f fixture) {
			w := f.Watch(t.Context(), "b/")
			for i := range 5 {
				f.set("b/1", fmt.Sprint(i))
				f.set("b/2", fmt.Sprint(i))
			}
			f.update(func(tx store.Tx) error { return errors.Join(tx.Delete("b/3"), tx.Set("a", nil), tx.Set("b", nil)) })
			wantNext(t, w, "b/1", "b/2", "b/3")
			f.set("b/1", "again")
			wantNext(t, w, "b/1")
		}},
		{"writes that fail or came before are not seen", func(t *testing.T, f fixture) {
			f.set("before", "1")
			w := f.Watch(t.Context(), "")
			_ = f.Update(t.Context(), func(tx store.Tx) error { return errors.Join(tx.Set("failed", nil), errUndo) })
			if err := f.UpdateSoon(t.Context(), put("after", "1")); err != nil {
				t.Error(err)
			}
			wantNext(t, w, "after")
		}},
		{"who is told of a key finds it changed", func(t *testing.T, f fixture) {
			w := f.Watch(t.Context(), "k")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 100 {
					f.set(fmt.Sprintf("k%02d", i), "there")
				}
			}()
			for seen := 0; seen < 100; {
				keys, err := w.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range keys {
					f.want(key, "there")
				}
				seen += len(keys)
			}
			<-done
		}},
		{"waiting ends with either context", func(t *testing.T, f fixture) {
			watching, stop := context.WithCancel(t.Context())
			w := f.Watch(watching, "")
			waiting, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := w.Next(waiting); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the end of the call's context", err)
			}
			stop()
			if _, err := w.Next(t.Context()); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the end of the watch's context", err)
			}
			f.set("a", "1")
		}},
		{"waiting ends when the store is closed", func(t *testing.T, f fixture) {
			w := f.Watch(t.Context(), "")
			ended := make(chan error)
			go func() {
				_, err := w.Next(t.Context())
				ended <- err
			}()
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, store.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
			if _, err := f.Watch(t.Context(), "").Next(t.Context()); !errors.Is(err, store.ErrClosed) {
				t.Errorf("a watch of a closed store: got %v, want ErrClosed", err)
			}
		}},
	})
}
