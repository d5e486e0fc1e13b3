package audit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

func TestAGapIsFoundBehindAndStopsTheLog(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"an entry":          "audit/" + store.Seq(301),
		"the first entry":   "audit/" + store.Seq(1),
		"hashes of entries": "audit-tile/0/" + store.Seq(1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			st := openStore(t, dir)
			l := openLog(t, st)
			write(t, l, 600)
			if err := l.CheckBehind(t.Context()); err != nil {
				t.Fatalf("a whole log: %v", err)
			}
			var was []byte
			err := st.Update(t.Context(), func(tx store.Tx) (err error) {
				was, err = tx.Get(key)
				return errors.Join(err, tx.Delete(key))
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := errors.AsType[*audit.Fault](l.CheckBehind(t.Context())); !ok {
				t.Error("the gap is not found")
			}
			if _, err := l.Write(t.Context(), entry(1), true); !errors.Is(err, store.ErrFailed) || !strings.Contains(err.Error(), key) {
				t.Errorf("appended: %v, want %v with the key", err, store.ErrFailed)
			}
			if _, err := audit.Open(t.Context(), st, testKey); err == nil {
				t.Error("the log with a gap is opened again")
			}
			if err := st.Update(t.Context(), func(tx store.Tx) error { return tx.Set(key, was) }); err != nil {
				t.Fatal(err)
			}
			if _, err := openLog(t, st).Write(t.Context(), entry(1), true); err != nil {
				t.Errorf("appended once it is back: %v", err)
			}
		})
	}
}

func TestWhatRetentionDropsIsNoGap(t *testing.T) {
	t.Parallel()
	l := openLog(t, openStore(t, t.TempDir()))
	write(t, l, 1100)
	if n, err := l.Drop(t.Context(), audit.Keep{For: time.Nanosecond}); err != nil || n != 768 {
		t.Fatal(n, err)
	}
	if err := l.CheckBehind(t.Context()); err != nil {
		t.Error(err)
	}
}
