package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/teststore"
)

// newKept returns an idempotency on disk.
func newKept(t *testing.T) *idempotency {
	t.Helper()
	st := teststore.Open(t, t.TempDir())
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	digester, err := holdgate.NewDigester([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return newIdempotency(st, digester)
}

// age makes all answers older by d.
func age(t *testing.T, i *idempotency, d time.Duration) {
	t.Helper()
	err := i.st.Update(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan(prefixKept, "") {
			if err != nil {
				return err
			}
			_, id, _ := strings.Cut(strings.TrimPrefix(p.Key, prefixKept), "/")
			a, _, err := readReply(tx, holdgate.Digest(id))
			if err != nil {
				return err
			}
			a.At = a.At.Add(-d)
			raw, err := json.Marshal(a)
			if err != nil {
				return err
			}
			if err := errors.Join(tx.Delete(p.Key), tx.Set(keptKey(a.At, holdgate.Digest(id)), p.Value), tx.Set(prefixAnswer+id, raw)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keep keeps an answer of n bytes under an id made of k.
func keep(t *testing.T, i *idempotency, k, n int) {
	t.Helper()
	if err := i.keep(t.Context(), keyID(k), "asked", reply{200, "application/json", make([]byte, n)}); err != nil {
		t.Fatal(err)
	}
}

func keyID(k int) holdgate.Digest { return holdgate.Digest(fmt.Sprintf("%064d", k)) }

func found(t *testing.T, i *idempotency, k int) bool {
	t.Helper()
	_, ok, err := i.find(t.Context(), keyID(k))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// stored counts the keys in the store.
func stored(t *testing.T, i *idempotency) (n int) {
	t.Helper()
	err := i.st.View(t.Context(), func(tx store.Tx) error {
		for _, prefix := range []string{prefixAnswer, prefixKept} {
			for _, err := range tx.Scan(prefix, "") {
				if err != nil {
					return err
				}
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnswersAreKeptForADay(t *testing.T) {
	i := newKept(t)
	keep(t, i, 1, 1)
	age(t, i, KeepAnswers-time.Hour)
	if !found(t, i, 1) {
		t.Error("gone before a day has passed")
	}
	age(t, i, time.Hour)
	if found(t, i, 1) {
		t.Error("still given after a day")
	}
	keep(t, i, 1, 1)
	if n := stored(t, i); n != 2 || !found(t, i, 1) {
		t.Errorf("%d keys in the store, want those of the new answer under the old key", n)
	}
	age(t, i, KeepAnswers)
	keep(t, i, 2, 1)
	if n := stored(t, i); n != 2 || found(t, i, 1) || !found(t, i, 2) {
		t.Errorf("%d keys in the store, want those of the newest answer alone", n)
	}
}

func TestTheOldestAnswersGoFirst(t *testing.T) {
	i := newKept(t)
	i.most = 3
	for k := range 5 {
		keep(t, i, k, 1)
	}
	for k, want := range []bool{false, false, true, true, true} {
		if got := found(t, i, k); got != want {
			t.Errorf("answer %d is there: %v, want %v", k, got, want)
		}
	}
	again := newIdempotency(i.st, i.digester) // as after a restart
	again.mostBytes = 5000
	keep(t, again, 6, 3600) // with its base64 nearly all of it
	if n := stored(t, again); n != 2 || !found(t, again, 6) {
		t.Errorf("%d keys in the store, want those of the large answer alone", n)
	}
}
