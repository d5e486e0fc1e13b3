package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
)

var errCut = errors.New("the disk is gone")

// A cutting store takes a number of updates and then none.
type cutting struct {
	store.Store
	left atomic.Int64
}

func (c *cutting) Update(ctx context.Context, fn func(store.Tx) error) error {
	if c.left.Add(-1) < 0 {
		return errCut
	}
	return c.Store.Update(ctx, fn)
}

func (c *cutting) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	if c.left.Add(-1) < 0 {
		return errCut
	}
	return c.Store.UpdateSoon(ctx, fn)
}

// acknowledged is what the queue said had happened.
type acknowledged struct {
	asked, approved []approvals.Request
	kept, used      bool
	done            bool
}

// life takes one exchange from its first call to its end, as far as the store
// allows.
func (b *bench) life() (a acknowledged, err error) {
	ctx := context.WithoutCancel(b.t.Context())
	x, err := b.queue.Enter(ctx, caller, named("k"))
	if err != nil {
		return a, err
	}
	for i := range 2 {
		c, d := bash(i, fmt.Sprint("step ", i)), hold()
		r, err := x.RequestApproval(ctx, approvals.HeldCall{Call: c, Decision: d})
		if err != nil {
			return a, err
		}
		a.asked = append(a.asked, r)
	}
	if err := x.Keep(ctx, approvals.Answer{Status: 200, Body: make([]byte, 500_000)}); err != nil {
		return a, err
	}
	a.kept = true
	for _, r := range a.asked {
		if _, err := b.queue.Decide(ctx, r.ID, approve(r, "ana")); err != nil {
			return a, err
		}
		a.approved = append(a.approved, r)
	}
	if err := x.Use(ctx, use(a.asked...)); err != nil {
		return a, err
	}
	a.used = true
	if err := x.Done(ctx, true, ""); err != nil {
		return a, err
	}
	a.done = true
	return a, nil
}

// Cut off at every transaction, the queue still knows all it acknowledged, and
// uses nothing twice.
func TestACrashAtEveryTransaction(t *testing.T) {
	t.Parallel()
	for n := int64(0); ; n++ {
		var cut *cutting
		b := newBench(t, func(s store.Store) store.Store {
			cut = &cutting{Store: s}
			cut.left.Store(1 << 40)
			return cut
		})
		cut.left.Store(n)
		a, err := b.life()
		if err != nil && !errors.Is(err, errCut) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		b.reopen()
		b.survived(n, a)
		b.close()
		if err == nil {
			if n < 8 {
				t.Fatalf("a whole life took only %d transactions", n)
			}
			return
		}
	}
}

func (b *bench) survived(n int64, a acknowledged) {
	t := b.t
	t.Helper()
	for _, r := range a.asked {
		got := b.request(r.ID)
		approved := slices.ContainsFunc(a.approved, func(o approvals.Request) bool { return o.ID == r.ID })
		if want := map[bool]holdgate.Status{true: holdgate.StatusApproved, false: holdgate.StatusPending}[approved]; got.Status != want {
			t.Errorf("cut at %d: request %s is %s, want %s", n, r.ID, got.Status, want)
		}
	}
	x := b.enter("k")
	defer x.Leave()
	_, whole, err := x.Kept(t.Context())
	if err != nil || whole != (a.kept && !a.used) {
		t.Errorf("cut at %d: the answer is there: %v (%v), want %v", n, whole, err, a.kept && !a.used)
	}
	for i, r := range a.asked {
		again := b.ask(x, bash(i, fmt.Sprint("step ", i)), hold())
		if same := again.ID == r.ID; same == a.used {
			t.Errorf("cut at %d: same request %v after used %v", n, same, a.used)
		}
	}
	err = x.Use(t.Context(), use(a.asked...))
	if may := len(a.approved) == 2 && !a.used; len(a.asked) > 0 && (err == nil) != may {
		t.Errorf("cut at %d: using gives %v, approved %d, used %v", n, err, len(a.approved), a.used)
	}
	if a.used {
		for _, r := range a.asked {
			notes := b.audited(r.ID)
			want := "result: unknown: the sidecar ended while the call was under way"
			if a.done {
				want = "result: spent"
			}
			if got := notes[len(notes)-1]; got != want {
				t.Errorf("cut at %d: %q, want %q", n, got, want)
			}
		}
		if left := b.count("exchange-body/"); left != 0 {
			t.Errorf("cut at %d: %d chunks are left", n, left)
		}
	}
}
