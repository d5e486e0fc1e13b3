package approvals_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
)

// newLimited is a bench whose queue is configured by edit.
func newLimited(t *testing.T, edit func(*approvals.Config), wrap ...func(store.Store) store.Store) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), edit: edit}
	if len(wrap) > 0 {
		b.wrap = wrap[0]
	}
	b.open()
	t.Cleanup(b.close)
	return b
}

// asked asks about a call in an exchange of its own.
func (b *bench) asked(who approvals.Caller, k string, c holdgate.Call) (*approvals.Exchange, approvals.Request, error) {
	b.t.Helper()
	x, err := b.queue.Enter(b.t.Context(), who, named(k))
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := x.RequestApproval(b.t.Context(), approvals.HeldCall{Call: c, Decision: hold()})
	return x, r, err
}

func wantQuota(t *testing.T, err error, limit string) {
	t.Helper()
	q, ok := errors.AsType[*approvals.QuotaError](err)
	if !ok || q.Limit != limit {
		t.Fatalf("got %v, want %s to be exceeded", err, limit)
	}
	if !strings.Contains(q.Error(), limit) || !strings.Contains(q.Error(), fmt.Sprint(q.Max)) {
		t.Errorf("%q does not name the limit and how much it is", q)
	}
}

func TestAnAgentHasOnlySoManyRequestsPending(t *testing.T) {
	t.Parallel()
	b := newLimited(t, func(c *approvals.Config) { c.Limits.Pending = 3 })
	other := caller
	other.Agent.ID = "codex"
	var rs []approvals.Request
	var xs []*approvals.Exchange
	for i := range 3 {
		who := caller
		who.Session.ID = fmt.Sprint("s", i) // what an agent says of its session is not what counts
		x, r, err := b.asked(who, fmt.Sprint("k", i), bash(0, "rm"))
		if err != nil {
			t.Fatal(err)
		}
		xs, rs = append(xs, x), append(rs, r)
	}
	_, _, err := b.asked(caller, "k4", bash(0, "rm"))
	wantQuota(t, err, "limits.pending")
	if _, _, err := b.asked(other, "k4", bash(0, "rm")); err != nil {
		t.Errorf("another agent: %v", err)
	}
	if n := b.queue.Pending(); n != 4 {
		t.Errorf("%d are pending, want 4", n)
	}
	// A retry finds its request, and is not counted.
	xs[0].Leave()
	who := caller
	who.Session.ID = "s0"
	if _, r, err := b.asked(who, "k0", bash(0, "rm")); err != nil || r.ID != rs[0].ID {
		t.Errorf("the retry got %s, %v; want %s", r.ID, err, rs[0].ID)
	}
	// The count survives a restart, and what has ended makes room.
	b.reopen()
	_, _, err = b.asked(caller, "k5", bash(0, "rm"))
	wantQuota(t, err, "limits.pending")
	b.decide(rs[1], deny("ana"))
	if _, _, err := b.asked(caller, "k6", bash(0, "rm")); err != nil {
		t.Errorf("after one was decided: %v", err)
	}
}

func TestCallersOfWhomNothingIsProvenShareOneAccount(t *testing.T) {
	t.Parallel()
	b := newLimited(t, func(c *approvals.Config) { c.Limits.Pending = 2 })
	for i := range 3 {
		who := caller
		who.Agent = holdgate.Agent{ID: fmt.Sprint("a", i)}
		_, _, err := b.asked(who, "k", bash(0, "rm"))
		if i < 2 && err != nil {
			t.Fatal(err)
		}
	}
	who := caller
	who.Agent = holdgate.Agent{ID: "a0"}
	if _, _, err := b.asked(who, "another", bash(0, "rm")); err == nil {
		t.Error("a session had more than its share of a full account")
	} else {
		wantQuota(t, err, "limits.pending")
	}
}

// A session that has all of the shared account waiting leaves others a share, of
// its own agent too. Many sessions together end at a bound.
func TestOneSessionDoesNotStarveAnother(t *testing.T) {
	t.Parallel()
	const limit = 8
	b := newLimited(t, func(c *approvals.Config) { c.Limits.Pending = limit })
	calls := 0
	held := func(session string, n int) (held int) {
		t.Helper()
		who := approvals.Caller{Agent: holdgate.Agent{ID: "default"}, Session: holdgate.Session{ID: session}, Door: "anthropic"}
		for range n {
			calls++
			if _, _, err := b.asked(who, fmt.Sprint("call ", calls), bash(0, "rm")); err == nil {
				held++
			} else {
				wantQuota(t, err, "limits.pending")
			}
		}
		return held
	}
	if n := held("flood", 20); n != limit {
		t.Errorf("the first has %d waiting, want %d", n, limit)
	}
	if n := held("other", 20); n != limit/4 {
		t.Errorf("the second has %d waiting, want %d", n, limit/4)
	}
	b.reopen()
	if n := held("other", 5); n != 0 {
		t.Errorf("after a restart the second has %d more", n)
	}
	all := b.queue.Pending()
	for i := range 30 {
		all += held(fmt.Sprint("of many ", i), 3)
	}
	if all != 4*limit || b.queue.Pending() != all {
		t.Errorf("%d wait, and the queue says %d; want %d", all, b.queue.Pending(), 4*limit)
	}
}

// Calls asked about at the same moment share a batch of the store, and see
// each other there.
func TestTheLimitHoldsForCallsOfTheSameMoment(t *testing.T) {
	t.Parallel()
	const limit, calls = 5, 40
	b := newLimited(t, func(c *approvals.Config) { c.Limits.Pending = limit })
	var wg sync.WaitGroup
	var mu sync.Mutex
	held := 0
	for i := range calls {
		wg.Go(func() {
			if _, _, err := b.asked(caller, fmt.Sprint("k", i), bash(0, "rm")); err == nil {
				mu.Lock()
				held++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if held != limit || b.queue.Pending() != limit {
		t.Errorf("%d were held and %d are pending, want %d", held, b.queue.Pending(), limit)
	}
}

func TestAnAgentHasOnlySoManyBytesHeld(t *testing.T) {
	t.Parallel()
	b := newLimited(t, func(c *approvals.Config) { c.Limits.HeldBytes = 1 << 20 })
	x, r, err := b.asked(caller, "k1", bash(0, strings.Repeat("x", 300<<10)))
	if err != nil {
		t.Fatal(err)
	}
	keep := func(x *approvals.Exchange, n int) error {
		return x.Keep(b.t.Context(), approvals.Answer{Status: 200, Body: make([]byte, n)})
	}
	wantQuota(t, keep(x, 900<<10), "limits.held_bytes")
	if err := keep(x, 500<<10); err != nil {
		t.Fatal(err)
	}
	if err := keep(x, 600<<10); err != nil {
		t.Errorf("in place of the answer that was there: %v", err)
	}
	_, _, err = b.asked(caller, "k2", bash(0, strings.Repeat("x", 300<<10)))
	wantQuota(t, err, "limits.held_bytes")
	b.reopen()
	_, _, err = b.asked(caller, "k2", bash(0, strings.Repeat("x", 300<<10)))
	wantQuota(t, err, "limits.held_bytes")
	// Once the exchange is over its bytes are free.
	b.decide(r, deny("ana"))
	if x, err = b.queue.Enter(t.Context(), caller, named("k1")); err != nil {
		t.Fatal(err)
	}
	if err := x.Done(t.Context(), true, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err = b.asked(caller, "k3", bash(0, strings.Repeat("x", 1000<<10))); err != nil {
		t.Errorf("after the exchange was over: %v", err)
	}
}

// A smallDisk is a store with as much room as the test says.
type smallDisk struct {
	store.Store

	mu   sync.Mutex
	free int64
}

func (d *smallDisk) Free() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free, nil
}

func (d *smallDisk) set(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = n
}

func TestTheReserveOfTheDiskIsForPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testReserve)
}

func testReserve(t *testing.T) {
	disk := &smallDisk{free: 10 << 20}
	b := newLimited(t, func(c *approvals.Config) { c.Reserve = 4 << 20 }, func(s store.Store) store.Store {
		disk.Store = s
		return disk
	})
	x, r, err := b.asked(caller, "k1", bash(0, "rm"))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Keep(t.Context(), approvals.Answer{Body: make([]byte, 7<<20)}); !errors.Is(err, approvals.ErrDiskFull) {
		t.Errorf("keeping an answer that takes the reserve: %v", err)
	}
	disk.set(3 << 20)
	if _, _, err := b.asked(caller, "k2", bash(0, "rm")); !errors.Is(err, approvals.ErrDiskFull) || !strings.Contains(err.Error(), "limits.disk_reserve") {
		t.Errorf("asking: %v", err)
	}
	if err := b.queue.Strained(); err != nil {
		t.Errorf("with most of the reserve left: %v", err)
	}
	disk.set(1 << 20)
	time.Sleep(time.Second) // it does not look at the disk each time
	if err := b.queue.Strained(); !errors.Is(err, approvals.ErrDiskFull) {
		t.Errorf("with half the reserve gone: %v", err)
	}
	if got := b.decide(r, approve(r, "ana")); got.Status != holdgate.StatusApproved {
		t.Errorf("the vote left it %s", got.Status)
	}
	disk.set(10 << 20)
	if _, _, err := b.asked(caller, "k2", bash(0, "rm")); err != nil {
		t.Errorf("after there is room again: %v", err)
	}
	if n := b.queue.Pending(); n != 1 {
		t.Errorf("%d are pending, want 1", n)
	}
}
