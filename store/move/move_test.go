package move_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
	"github.com/holdgate/holdgate/store/move"
)

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := badger.Open(filepath.Join(t.TempDir(), "db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// full is a store of more than one transaction, with a value of many pieces.
func full(t *testing.T) store.Store {
	t.Helper()
	s := open(t)
	for i := range 3 {
		err := s.Update(t.Context(), func(tx store.Tx) (err error) {
			for j := range 400 {
				err = errors.Join(err, tx.Set(fmt.Sprintf("k/%d/%03d", i, j), []byte(strings.Repeat("v", j))))
			}
			return errors.Join(err, tx.Set(fmt.Sprintf("large/%d", i), []byte(strings.Repeat("x", 3<<20))))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func pairs(t *testing.T, s store.Store) (list []string) {
	t.Helper()
	err := s.View(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			if !strings.HasPrefix(p.Key, "move/") {
				list = append(list, p.Key+"="+string(p.Value))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func check(t *testing.T, s store.Store) error { return s.View(t.Context(), move.Check) }

// A copy that was cut off anywhere goes on, and the target is not whole before.
func TestACopyGoesOnWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	from, to := full(t), open(t)
	rounds := 0
	for done := false; !done; rounds++ {
		ctx, cut := context.WithCancel(t.Context())
		n, err := move.Copy(ctx, from, to, "one", func(uint64) { cut() })
		if done = err == nil; done && n != 1203 {
			t.Errorf("%d pairs, want 1203", n)
		}
		if err := check(t, to); !errors.Is(err, move.ErrUnfinished) {
			t.Fatalf("the target can be opened: %v", err)
		}
		cut()
		if rounds > 100 {
			t.Fatal(err)
		}
	}
	if rounds < 4 {
		t.Errorf("it was cut off %d times, want 3 at least", rounds-1)
	}
	if err := move.Finish(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if err := check(t, to); err != nil {
		t.Error(err)
	}
	if want, got := strings.Join(pairs(t, from), "\n"), strings.Join(pairs(t, to), "\n"); got != want {
		t.Error("the target holds something else")
	}
	if n, err := move.Copy(t.Context(), from, to, "one", func(uint64) {}); err != nil || n != 1203 {
		t.Errorf("a move that has ended: %d pairs, %v", n, err)
	}
	if err := check(t, to); err != nil {
		t.Error("asked again, it is unfinished:", err)
	}
	if err := move.Cancel(t.Context(), to, "one"); err == nil || len(pairs(t, to)) != 1203 {
		t.Error("a move that has ended was cancelled:", err)
	}
}

func TestATargetThatHoldsSomethingElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	from, to := full(t), open(t)
	if err := to.Update(t.Context(), func(tx store.Tx) error { return tx.Set("a", []byte("1")) }); err != nil {
		t.Fatal(err)
	}
	if _, err := move.Copy(t.Context(), from, to, "one", func(uint64) {}); !errors.Is(err, move.ErrOccupied) {
		t.Errorf("got %v", err)
	}
	if err := move.Cancel(t.Context(), to, "one"); err != nil || len(pairs(t, to)) != 1 {
		t.Errorf("cancelling emptied it: %v", err)
	}
	begun := open(t)
	ctx, cut := context.WithCancel(t.Context())
	move.Copy(ctx, from, begun, "another", func(uint64) { cut() })
	if _, err := move.Copy(t.Context(), from, begun, "one", func(uint64) {}); !errors.Is(err, move.ErrOccupied) {
		t.Errorf("the target of another: got %v", err)
	}
	before := len(pairs(t, begun))
	if err := move.Cancel(t.Context(), begun, "one"); err != nil || len(pairs(t, begun)) != before {
		t.Errorf("another's copy was undone: %v", err)
	}
}

func TestWhatIsWrittenMeanwhileIsFound(t *testing.T) {
	t.Parallel()
	from, to := full(t), open(t)
	written := false
	_, err := move.Copy(t.Context(), from, to, "one", func(uint64) {
		if !written {
			written = true
			if err := to.Update(t.Context(), func(tx store.Tx) error { return tx.Set("k/0/000", []byte("mine")) }); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "does not hold what the source does") {
		t.Errorf("got %v", err)
	}
	if err := move.Cancel(t.Context(), to, "one"); err != nil {
		t.Fatal(err)
	}
	if left := pairs(t, to); len(left) > 0 {
		t.Errorf("%d pairs are left of a cancelled copy", len(left))
	}
	if err := check(t, to); err != nil {
		t.Error(err)
	}
}

// A target is told from another one where a copy of the same id has begun, before it has
// ended and afterwards.
func TestATargetIsToldFromOthers(t *testing.T) {
	t.Parallel()
	from, one, other := full(t), open(t), open(t)
	for _, to := range []store.Store{one, other} {
		if _, err := move.Copy(t.Context(), from, to, "id", func(uint64) {}); err != nil {
			t.Fatal(err)
		}
	}
	target, err := move.Target(t.Context(), one, "id")
	if again, err2 := move.Target(t.Context(), one, "id"); err != nil || err2 != nil || target == "" || again != target {
		t.Fatalf("%q and %q: %v, %v", target, again, err, err2)
	}
	for _, when := range []string{"before", "afterwards"} {
		if err := move.Is(t.Context(), one, "id", target); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		for _, to := range []store.Store{other, open(t)} {
			if err := move.Is(t.Context(), to, "id", target); !errors.Is(err, move.ErrElsewhere) {
				t.Errorf("%s, another: %v", when, err)
			}
		}
		if _, err := move.Copy(t.Context(), from, one, "id", func(uint64) {}); err != nil {
			t.Error(err)
		}
		if err := move.Finish(t.Context(), one); err != nil {
			t.Error(err)
		}
	}
	if _, err := move.Target(t.Context(), open(t), "id"); !errors.Is(err, move.ErrElsewhere) {
		t.Errorf("an empty one: %v", err)
	}
}
