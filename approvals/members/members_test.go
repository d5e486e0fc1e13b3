package members_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/holdgate/holdgate/approvals/members"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, st store.Store, name string) *members.Life {
	t.Helper()
	l, err := members.Begin(t.Context(), st, name)
	must(t, err)
	return l
}

func goes(t *testing.T, st store.Store, l *members.Life) error {
	t.Helper()
	return st.View(t.Context(), l.Goes)
}

// A member that the others take for gone changes nothing more, and neither does an
// earlier life of one that has come back. What each held is settled once, before its life
// is forgotten.
func TestWhoIsGoneChangesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		there   []string
		settled []string // members, in order
		works   []string // of first, second and third
	}{
		{"all are there", []string{"first", "second", "third"}, nil, []string{"first", "second", "third"}},
		{"one is gone", []string{"first", "second"}, []string{"third"}, []string{"first", "second"}},
		{"all others are", []string{"first"}, []string{"second", "third"}, []string{"first"}},
		{"nobody knows of any", nil, []string{"second", "third"}, []string{"first"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := recordtest.Store(t)
			lives := map[string]*members.Life{}
			for _, name := range []string{"first", "second", "third"} {
				lives[name] = begin(t, st, name)
			}
			for range 2 { // a second time there is nobody left
				var settled []string
				must(t, lives["first"].Bury(t.Context(), st, func(name string) (bool, error) { return slices.Contains(tt.there, name), nil }, func(life string) error {
					settled = append(settled, members.NameOf(life))
					if err := goes(t, st, lives[members.NameOf(life)]); !errors.Is(err, members.ErrGone) {
						t.Errorf("%s works on while what it held is settled: %v", life, err)
					}
					return nil
				}))
				slices.Sort(settled)
				if !slices.Equal(settled, tt.settled) {
					t.Errorf("settled are %v, want %v", settled, tt.settled)
				}
				tt.settled = nil
			}
			for name, l := range lives {
				if err := goes(t, st, l); (err == nil) != slices.Contains(tt.works, name) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestAnEarlierLifeOfAMemberIsGone(t *testing.T) {
	t.Parallel()
	st := recordtest.Store(t)
	before := begin(t, st, "first")
	now := begin(t, st, "first")
	must(t, now.Bury(t.Context(), st, func(string) (bool, error) { return true, nil }, func(string) error { return nil }))
	if err := goes(t, st, before); !errors.Is(err, members.ErrGone) {
		t.Errorf("the earlier life: %v", err)
	}
	must(t, goes(t, st, now))
	if err := before.Bury(t.Context(), st, func(string) (bool, error) { return false, nil }, func(string) error { return nil }); !errors.Is(err, members.ErrGone) {
		t.Errorf("who is gone takes another for gone: %v", err)
	}
	must(t, goes(t, st, now))
}

// What could not be settled is settled later: the life is kept as one that is gone.
func TestALifeIsKeptUntilItIsSettled(t *testing.T) {
	t.Parallel()
	st := recordtest.Store(t)
	first, second := begin(t, st, "first"), begin(t, st, "second")
	nobody, no, n := func(string) (bool, error) { return false, nil }, errors.New("no"), 0
	if err := first.Bury(t.Context(), st, nobody, func(string) error { return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	if err := goes(t, st, second); !errors.Is(err, members.ErrGone) {
		t.Errorf("meanwhile: %v", err)
	}
	must(t, first.Bury(t.Context(), st, nobody, func(life string) error {
		if n++; life != second.ID() {
			t.Errorf("settled is %s", life)
		}
		return nil
	}))
	if n != 1 {
		t.Errorf("it was settled %d times", n)
	}
}

func TestWhoIsAnother(t *testing.T) {
	t.Parallel()
	st := recordtest.Store(t)
	first, second := begin(t, st, "first"), begin(t, st, "second")
	for life, want := range map[string]bool{second.ID(): true, first.ID(): false, "": false, "third/x": false} {
		must(t, st.View(t.Context(), func(tx store.Tx) error {
			got, err := first.Other(tx, life)
			if got != want {
				t.Errorf("%q is another that works: %t, want %t", life, got, want)
			}
			return err
		}))
	}
}
