package revisions_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/rego/revisions"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
)

func open(t *testing.T, dir string) store.Store {
	t.Helper()
	st, err := badger.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func update(t *testing.T, st store.Store, fn func(store.Tx) error) {
	t.Helper()
	if err := st.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func revision(n int) revisions.Revision {
	return revisions.Revision{
		Name: fmt.Sprintf("v%d", n), By: "ada", At: time.Date(2026, 11, 20, 12, n, 0, 0, time.UTC), Revision: "abc",
		Files: map[string]string{"a.rego": fmt.Sprintf("package a%d\n", n)},
	}
}

func TestRevisionsSurviveAndAreTakenUpAgain(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	update(t, st, func(tx store.Tx) error {
		if u, err := revisions.InUse(tx); err != nil || u.ID != revisions.Pack {
			t.Errorf("at first: got %+v, %v", u, err)
		}
		for n := 1; n <= 2; n++ {
			if id, err := revisions.Put(tx, revision(n)); err != nil || id != uint64(n) {
				t.Errorf("got id %d, %v, want %d", id, err, n)
			}
		}
		return nil
	})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, dir)
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	update(t, st, func(tx store.Tx) error {
		u, err := revisions.InUse(tx)
		if err != nil || u.ID != 2 || u.Before != 1 {
			t.Errorf("got %+v, %v, want 2 and 1 before", u, err)
		}
		want := revision(1)
		want.ID = 1
		got, err := revisions.Get(tx, 1)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("revision (-want +got):\n%s", diff)
		}
		return revisions.Use(tx, 1)
	})
	update(t, st, func(tx store.Tx) error {
		if u, err := revisions.InUse(tx); err != nil || u.ID != 1 || u.Before != 2 {
			t.Errorf("got %+v, %v, want 1 and 2 before", u, err)
		}
		if err := revisions.Use(tx, 9); !errors.Is(err, revisions.ErrNotFound) {
			t.Errorf("an id that nobody gave: got %v", err)
		}
		if id, err := revisions.Put(tx, revision(3)); err != nil || id != 3 {
			t.Errorf("got id %d, %v, want an id that was never given", id, err)
		}
		return revisions.Use(tx, revisions.Pack)
	})
	update(t, st, func(tx store.Tx) error {
		all, err := revisions.All(tx)
		if err != nil || len(all) != 3 || all[2].Name != "v3" {
			t.Errorf("got %+v, %v, want all three", all, err)
		}
		return nil
	})
}

func TestOldRevisionsAreDropped(t *testing.T) {
	st := open(t, t.TempDir())
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	update(t, st, func(tx store.Tx) error {
		for n := 1; n <= revisions.Keep; n++ {
			if _, err := revisions.Put(tx, revision(n)); err != nil {
				return err
			}
		}
		if err := revisions.Use(tx, 1); err != nil {
			return err
		}
		for n := range 3 {
			if _, err := revisions.Put(tx, revision(100+n)); err != nil {
				return err
			}
			if err := revisions.Use(tx, 1); err != nil {
				return err
			}
		}
		all, err := revisions.All(tx)
		if err != nil {
			return err
		}
		if len(all) != revisions.Keep+1 || all[0].ID != 1 || all[1].ID != 4 {
			t.Errorf("got %d revisions from %d and %d, want the newest %d and the one in use", len(all), all[0].ID, all[1].ID, revisions.Keep)
		}
		return nil
	})
}
