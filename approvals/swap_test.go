package approvals_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// The swap: between the look and the approval the request is withdrawn,
// another one takes its place, and a second person edits what the first one
// approves. In full it takes 10,000 rounds.
func TestAnApprovalNeverReachesWhatWasNotShown(t *testing.T) {
	t.Parallel()
	rounds := 10_000
	if testing.Short() {
		rounds = 200
	}
	b := newBench(t)
	var g errgroup.Group
	g.SetLimit(32)
	for i := range rounds {
		g.Go(func() error {
			if err := b.swap(fmt.Sprint(i)); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// swap is one round, in an exchange of its own. It says what went wrong.
func (b *bench) swap(key string) error {
	ctx := b.t.Context()
	x, err := b.queue.Enter(ctx, caller, named(key))
	if err != nil {
		return err
	}
	defer x.Leave()
	shown, err := x.RequestApproval(ctx, approvals.HeldCall{Call: bash(0, "ls"), Decision: hold(editing)})
	if err != nil {
		return err
	}
	var swapped approvals.Request
	var failed, approving, edits error
	var wg sync.WaitGroup
	wg.Go(func() {
		if failed = x.Settle(ctx, nil); failed == nil {
			swapped, failed = x.RequestApproval(ctx, approvals.HeldCall{Call: bash(0, "rm -rf /"), Decision: hold(editing)})
		}
	})
	wg.Go(func() { _, approving = b.queue.Decide(ctx, shown.ID, approve(shown, "ana")) })
	wg.Go(func() { _, edits = b.queue.Decide(ctx, shown.ID, edit(shown, "ben", `{"command":"ls -l"}`)) })
	wg.Wait()
	if failed != nil {
		return failed
	}
	if late := decided(approving) + decided(edits); late < 1 {
		return fmt.Errorf("two outcomes: %v, %v", approving, edits)
	}
	return errors.Join(b.untouched(swapped, shown), b.releases(x, shown, swapped, approving == nil, edits == nil))
}

// decided counts an error that says that the request had ended.
func decided(err error) int {
	if _, ok := errors.AsType[*approvals.EndedError](err); ok {
		return 1
	}
	return 0
}

// untouched checks that votes on one request did nothing to another.
func (b *bench) untouched(r, voted approvals.Request) error {
	ctx := b.t.Context()
	if now, err := b.queue.Request(ctx, r.ID); err != nil || now.Status != holdgate.StatusPending {
		return fmt.Errorf("what was never shown is %s: %v", now.Status, err)
	}
	for _, v := range []approvals.Vote{approve(voted, "ana"), edit(voted, "ana", `{"command":"ls"}`)} {
		if _, err := b.queue.Decide(ctx, r.ID, v); !errors.Is(err, approvals.ErrDigest) {
			return fmt.Errorf("%s with the digest of another call: %v", v.Decision, err)
		}
	}
	return nil
}

// releases checks that of all calls only the very one that was approved, or
// what it was edited to, may go on.
func (b *bench) releases(x *approvals.Exchange, shown, swapped approvals.Request, approved, edited bool) error {
	_, digest := b.editedTo(x, bash(0, "ls"), []byte(`{"command":"ls -l"}`))
	for _, c := range []struct {
		id     string
		digest holdgate.Digest
		may    bool
	}{
		{swapped.ID, swapped.Call.Digest, false},
		{swapped.ID, shown.Call.Digest, false},
		{shown.ID, swapped.Call.Digest, false},
		{shown.ID, shown.Call.Digest, approved},
		{shown.ID, digest, edited},
	} {
		err := x.Use(b.t.Context(), []approvals.Use{{RequestID: c.id, Digest: c.digest}})
		if (err == nil) != c.may {
			return fmt.Errorf("approved %v, edited %v: using %s: %v", approved, edited, c.id, err)
		}
	}
	return nil
}
