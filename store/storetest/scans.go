package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/store"
)

// wantPairs checks what a scan yields, as "key=value".
func wantPairs(t testing.TB, tx store.Tx, prefix, from string, want ...string) {
	t.Helper()
	var got []string
	for p, err := range tx.Scan(prefix, from) {
		if err != nil {
			t.Errorf("scanning: %v", err)
			return
		}
		got = append(got, p.Key+"="+string(p.Value))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("scan of %q from %q (-want +got):\n%s", prefix, from, d)
	}
}

// fill sets keys to values of their own name, but "b/3" and "c".
func (f fixture) fill() {
	f.t.Helper()
	f.update(func(tx store.Tx) (err error) {
		for _, key := range []string{"a", "b/2", "b", "b/1", "b/10", "b0", "d", "\xff", "\xff\xff"} {
			err = errors.Join(err, tx.Set(key, []byte(key)))
		}
		return err
	})
}

func testScans(t *testing.T, open Open) { each(t, open, scans) }

// scans are what must hold of reading a range of keys.
var scans = []one{
	{"pairs come in the order of their keys' bytes", func(t *testing.T, f fixture) {
		f.fill()
		f.view(func(tx store.Tx) error {
			wantPairs(t, tx, "", "", "a=a", "b=b", "b/1=b/1", "b/10=b/10", "b/2=b/2", "b0=b0", "d=d", "\xff=\xff", "\xff\xff=\xff\xff")
			wantPairs(t, tx, "b/", "", "b/1=b/1", "b/10=b/10", "b/2=b/2")
			wantPairs(t, tx, "b/", "b/10", "b/10=b/10", "b/2=b/2")
			wantPairs(t, tx, "b/", "b/11", "b/2=b/2")
			wantPairs(t, tx, "b/", "a", "b/1=b/1", "b/10=b/10", "b/2=b/2")
			wantPairs(t, tx, "b/", "c")
			wantPairs(t, tx, "c", "")
			wantPairs(t, tx, "\xff", "", "\xff=\xff", "\xff\xff=\xff\xff")
			return nil
		})
	}},
	{"a transaction's own writes stand in their place", func(t *testing.T, f fixture) {
		f.fill()
		f.update(func(tx store.Tx) error {
			err := errors.Join(tx.Set("b/0", []byte("new")), tx.Set("b/10", []byte("changed")), tx.Delete("b/1"),
				tx.Set("b/3", []byte("new")), tx.Set("b/4", nil), tx.Delete("b/4"), tx.Set("c", []byte("new")), tx.Delete("a"))
			wantPairs(t, tx, "b/", "", "b/0=new", "b/10=changed", "b/2=b/2", "b/3=new")
			wantPairs(t, tx, "b/", "b/10", "b/10=changed", "b/2=b/2", "b/3=new")
			wantPairs(t, tx, "", "b0", "b0=b0", "c=new", "d=d", "\xff=\xff", "\xff\xff=\xff\xff")
			wantPairs(t, tx, "a", "")
			return err
		})
		f.view(func(tx store.Tx) error {
			wantPairs(t, tx, "b/", "", "b/0=new", "b/10=changed", "b/2=b/2", "b/3=new")
			return nil
		})
	}},
	{"a scan may be left early, and begun again", func(t *testing.T, f fixture) {
		f.fill()
		f.update(func(tx store.Tx) error {
			for range 3 {
				for p, err := range tx.Scan("b", "") {
					if p.Key != "b" || err != nil {
						t.Errorf("the first is %q, %v", p.Key, err)
					}
					break
				}
			}
			return nil
		})
	}},
	{"what a scan yields may be deleted as it goes", func(t *testing.T, f fixture) {
		f.fill()
		f.update(func(tx store.Tx) error {
			var seen []string
			for p, err := range tx.Scan("b", "") {
				if err != nil {
					return err
				}
				seen = append(seen, p.Key)
				if err := tx.Delete(p.Key); err != nil {
					return err
				}
			}
			if want := []string{"b", "b/1", "b/10", "b/2", "b0"}; !slices.Equal(seen, want) {
				t.Errorf("saw %q, want %q", seen, want)
			}
			wantPairs(t, tx, "b", "")
			return nil
		})
	}},
	{"scans may be nested", func(t *testing.T, f fixture) {
		f.fill()
		f.update(func(tx store.Tx) error {
			n := 0
			for range tx.Scan("b/", "") {
				for range tx.Scan("b/", "") {
					n++
				}
			}
			if n != 9 {
				t.Errorf("%d pairs of pairs, want 9", n)
			}
			return nil
		})
	}},
}
