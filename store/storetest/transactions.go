package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/store"
)

var errUndo = errors.New("undo")

func testTransactions(t *testing.T, open Open) { each(t, open, transactions) }

// transactions are what must hold of updates and views.
var transactions = []one{
	{"a write is seen by its own transaction and by later ones", func(t *testing.T, f fixture) {
		f.update(func(tx store.Tx) error {
			wantIn(t, tx, "a", "")
			if err := tx.Set("a", []byte("1")); err != nil {
				return err
			}
			wantIn(t, tx, "a", "1")
			return tx.Set("a", []byte("2"))
		})
		f.want("a", "2")
	}},
	{"a key is deleted, and one that is not there too", func(t *testing.T, f fixture) {
		f.set("a", "1")
		f.update(func(tx store.Tx) error {
			if err := errors.Join(tx.Delete("a"), tx.Delete("nothing")); err != nil {
				return err
			}
			wantIn(t, tx, "a", "")
			return nil
		})
		f.want("a", "")
		f.set("a", "2")
		f.want("a", "2")
	}},
	{"a function that fails leaves nothing", func(t *testing.T, f fixture) {
		f.set("a", "1")
		for _, update := range []func(context.Context, func(store.Tx) error) error{f.Update, f.UpdateSoon} {
			err := update(t.Context(), func(tx store.Tx) error {
				return errors.Join(tx.Set("a", []byte("2")), tx.Set("b", []byte("2")), errUndo)
			})
			if !errors.Is(err, errUndo) {
				t.Errorf("got %v, want the function's error", err)
			}
		}
		f.want("a", "1")
		f.want("b", "")
	}},
	{"a function that panics leaves nothing, and its caller panics", func(t *testing.T, f fixture) {
		func() {
			defer func() {
				if v := recover(); v != "oh" {
					t.Errorf("recovered %v, want the function's panic", v)
				}
			}()
			_ = f.Update(t.Context(), func(tx store.Tx) error {
				if err := tx.Set("a", []byte("1")); err != nil {
					return err
				}
				panic("oh")
			})
		}()
		f.want("a", "")
		f.set("a", "2")
		f.want("a", "2")
	}},
	{"writing in a View is an error", func(t *testing.T, f fixture) {
		f.set("a", "1")
		f.view(func(tx store.Tx) error {
			if tx.Set("a", []byte("2")) == nil || tx.Delete("a") == nil {
				t.Error("a View could write")
			}
			return nil
		})
		f.want("a", "1")
	}},
	{"a View sees one moment", func(t *testing.T, f fixture) {
		f.set("a", "1")
		f.view(func(tx store.Tx) error {
			for i := range 3 {
				f.update(func(tx store.Tx) error {
					return errors.Join(tx.Set("a", []byte("2")), tx.Set(fmt.Sprintf("b%d", i), []byte("2")))
				})
				wantIn(t, tx, "a", "1")
				wantPairs(t, tx, "", "", "a=1")
			}
			return nil
		})
		f.want("a", "2")
	}},
	{"slices that were returned are the caller's", func(t *testing.T, f fixture) {
		f.set("a", "1")
		f.update(func(tx store.Tx) error {
			for range 2 { // of the store, then of the transaction
				b, err := tx.Get("a")
				if err != nil {
					return err
				}
				b[0] = 'x'
				for p, err := range tx.Scan("a", "") {
					if err != nil {
						return err
					}
					p.Value[0] = 'y'
				}
				wantIn(t, tx, "a", "1")
				if err := tx.Set("a", []byte("1")); err != nil {
					return err
				}
			}
			return nil
		})
		f.want("a", "1")
	}},
	{"an empty value is not a missing one", func(t *testing.T, f fixture) {
		f.update(func(tx store.Tx) error { return errors.Join(tx.Set("a", nil), tx.Set("b", []byte{})) })
		f.view(func(tx store.Tx) error {
			for _, key := range []string{"a", "b"} {
				if b, err := tx.Get(key); err != nil || len(b) != 0 {
					t.Errorf("%s is %q, %v", key, b, err)
				}
			}
			return nil
		})
	}},
	{"a transaction that has ended is of no use", func(t *testing.T, f fixture) {
		var kept store.Tx
		f.update(func(tx store.Tx) error { kept = tx; return nil })
		if kept.Set("a", []byte("1")) == nil {
			t.Error("it took a write")
		}
		f.want("a", "")
	}},
	{"an ended context begins nothing", func(t *testing.T, f fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, begin := range []func(context.Context, func(store.Tx) error) error{f.View, f.Update, f.UpdateSoon} {
			if err := begin(ctx, func(store.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the context's error", err)
			}
		}
	}},
}

func testSizes(t *testing.T, open Open) {
	big := func(c string, n int) string { return strings.Repeat(c, n) }
	each(t, open, []one{
		{"values of every size come back", func(t *testing.T, f fixture) {
			sizes := []int{1, 255 << 10, 256 << 10, 256<<10 + 1, 512 << 10, 1 << 20, 3<<20 + 7, 10 << 20}
			for _, n := range sizes {
				f.set(fmt.Sprint(n), big("v", n))
			}
			f.view(func(tx store.Tx) error {
				for _, n := range sizes {
					b, err := tx.Get(fmt.Sprint(n))
					if err != nil || !bytes.Equal(b, []byte(big("v", n))) {
						t.Errorf("of %d bytes came %d, %v", n, len(b), err)
					}
				}
				return nil
			})
		}},
		{"a large value is overwritten, deleted and rolled back like a small one", func(t *testing.T, f fixture) {
			f.set("a", big("1", 3<<20))
			f.view(func(tx store.Tx) error {
				f.set("a", big("2", 1<<20))
				f.set("a", "3")
				b, err := tx.Get("a") // as of the View's moment
				if err != nil || string(b) != big("1", 3<<20) {
					t.Errorf("a View's large value has %d bytes, %v", len(b), err)
				}
				return nil
			})
			f.want("a", "3")
			f.set("a", big("4", 1<<20))
			err := f.Update(t.Context(), func(tx store.Tx) error {
				return errors.Join(tx.Set("a", []byte(big("5", 2<<20))), errUndo)
			})
			if !errors.Is(err, errUndo) {
				t.Error(err)
			}
			f.want("a", big("4", 1<<20))
			f.update(func(tx store.Tx) error { return tx.Delete("a") })
			f.want("a", "")
		}},
		{"a function that writes too much is told so, and harms no other", func(t *testing.T, f fixture) {
			for name, fn := range map[string]func(store.Tx) error{
				"bytes": func(tx store.Tx) (err error) {
					for i := range 100 {
						err = errors.Join(err, tx.Set(fmt.Sprint(i), make([]byte, 100<<10)))
					}
					return err
				},
				"keys": func(tx store.Tx) (err error) {
					for i := range 100_000 {
						err = errors.Join(err, tx.Set(fmt.Sprint(i), nil))
					}
					return err
				},
			} {
				if err := f.Update(t.Context(), fn); !errors.Is(err, store.ErrTooLarge) {
					t.Errorf("too many %s: got %v, want ErrTooLarge", name, err)
				}
			}
			f.want("0", "")
			f.set("a", "1")
			f.want("a", "1")
		}},
	})
}
