package approvals

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	// maxSleep bounds how late the timer notices that the clock was set.
	maxSleep = time.Minute
	// retryAfter is how long the timer waits where the store did not take a
	// change.
	retryAfter = time.Second
	// dueBatch is how many entries are handled at a time, and dueParallel how
	// many at once, so that they share syncs.
	dueBatch    = 256
	dueParallel = 16
)

// A timer wakes the queue's goroutine when something is due sooner than it
// thought.
type timer struct {
	mu       sync.Mutex
	next     time.Time
	expected time.Time // when the goroutine comes round again
	wake     chan struct{}
}

func newTimer() *timer { return &timer{wake: make(chan struct{}, 1)} }

// learn takes in a change that is durable.
func (t *timer) learn(c *record.Change) {
	if !c.Next.IsZero() {
		t.sooner(c.Next)
	}
}

// sooner says that something is due at a time.
func (t *timer) sooner(at time.Time) {
	t.mu.Lock()
	earlier := at.Before(t.next)
	t.mu.Unlock()
	if earlier {
		t.poke()
	}
}

func (t *timer) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// wait sleeps until the time, a poke, or the context's end.
func (t *timer) wait(ctx context.Context, at time.Time) {
	d := min(time.Until(at), maxSleep)
	t.expect(max(d, 0))
	sleep := time.NewTimer(max(d, 0))
	defer sleep.Stop()
	select {
	case <-sleep.C:
	case <-t.wake:
	case <-ctx.Done():
	}
}

// set says until when the goroutine will sleep, before it looks at the store:
// what is scheduled after that look is either seen or pokes.
func (t *timer) set(at time.Time) {
	t.mu.Lock()
	t.next = at
	t.mu.Unlock()
}

// expect says that the goroutine comes round again in a time, or works from now on.
func (t *timer) expect(in time.Duration) {
	t.mu.Lock()
	t.expected = time.Now().Add(in)
	t.mu.Unlock()
}

// Overdue returns for how long the goroutine that does what is due has not come
// round: how long it works at one thing, or since when it should have woken. It is
// negative while it sleeps as it should.
func (q *Queue) Overdue() time.Duration {
	q.timer.mu.Lock()
	defer q.timer.mu.Unlock()
	return time.Since(q.timer.expected)
}

// Try changes nothing, in the way in which everything is changed: it returns once the
// changes before it have been made, and their error where none can be made.
func (q *Queue) Try(ctx context.Context) error {
	return q.transact(ctx, func(*transition) error { return nil })
}

// keepTime does what is due until ctx ends.
func (q *Queue) keepTime(ctx context.Context) {
	defer q.timer.expect(0)
	var collected time.Time
	for ctx.Err() == nil {
		q.timer.set(time.Now().Add(maxSleep))
		q.timer.expect(0)
		next, err := q.doDue(ctx)
		saved := q.Sessions.Save(ctx) // before those that nothing was heard of are forgotten
		if err == nil && time.Since(collected) >= collectEvery {
			collected = time.Now()
			for _, old := range []func(context.Context) error{q.collect, q.forget, q.Refusals.Forget, q.Sessions.Forget, q.Tasks.Forget} {
				q.timer.expect(0)
				err = errors.Join(err, old(ctx))
			}
		}
		err = errors.Join(err, saved)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			q.c.Logger.Error("doing what is due in the queue; trying again", "err", err)
			next = time.Now().Add(retryAfter)
		}
		q.timer.wait(ctx, next)
	}
}

// doDue settles orphans and everything whose time has come, and returns when
// to look again.
func (q *Queue) doDue(ctx context.Context) (time.Time, error) {
	orphans := q.index.takeOrphans()
	for i, id := range orphans {
		if err := q.settleOrphan(ctx, id, "the connection ended while the call was under way"); err != nil {
			for _, left := range orphans[i:] {
				q.index.putOrphan(left)
			}
			return time.Time{}, err
		}
	}
	left := q.index.takeLeft()
	for len(left) > 0 {
		some := left[:min(len(left), dueBatch)]
		var g errgroup.Group
		g.SetLimit(dueParallel)
		for _, l := range some {
			g.Go(func() error { return q.left(ctx, l.id, l.turn) })
		}
		if err := g.Wait(); err != nil {
			q.index.putLeft(left)
			return time.Time{}, fmt.Errorf("freeing exchanges for other members: %w", err)
		}
		left = left[len(some):]
	}
	deserted := q.index.takeDeserted()
	for i, d := range deserted {
		if err := q.desert(ctx, d); err != nil {
			q.index.putDeserted(deserted[i:])
			return time.Time{}, fmt.Errorf("noting that a run has ended: %w", err)
		}
	}
	for {
		dues, next, err := q.dues(ctx)
		if err != nil || len(dues) == 0 {
			return next, err
		}
		q.timer.expect(0)
		var g errgroup.Group
		g.SetLimit(dueParallel)
		for _, d := range dues {
			g.Go(func() error { return q.fire(ctx, d) })
		}
		if err := g.Wait(); err != nil {
			return time.Time{}, err
		}
	}
}

// dues returns what is due, and when the next entry will be.
func (q *Queue) dues(ctx context.Context) ([]record.Due, time.Time, error) {
	var dues []record.Due
	now := time.Now()
	next := now.Add(maxSleep)
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		for p, err := range tx.Scan(record.PrefixDue, "") {
			if err != nil {
				return err
			}
			d, err := record.ParseDue(p)
			if err != nil {
				return err
			}
			if d.At.After(now) {
				if d.At.Before(next) {
					next = d.At
				}
				return nil
			}
			if leaves, err := q.leaves(tx, d); err != nil {
				return err
			} else if leaves {
				next = now.Add(lookEvery)
				continue
			}
			if dues = append(dues, d); len(dues) == dueBatch {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading what is due: %w", err)
	}
	return dues, next, nil
}

func (q *Queue) fire(ctx context.Context, d record.Due) error {
	var err error
	switch d.What {
	case record.DueRequest, record.DueSilence:
		err = q.expire(ctx, d)
	case record.DueClaim:
		err = q.lapse(ctx, d)
	case record.DueEscalate:
		err = q.escalate(ctx, d)
	case record.DueExchange:
		err = q.giveUp(ctx, d)
	case record.DueGrant:
		err = q.Grants.Sweep(ctx, d)
	default:
		err = errors.New("nobody knows what that is")
	}
	if err != nil {
		return fmt.Errorf("doing what was due at %s for %s %s: %w", d.At.Format(time.RFC3339), d.What, d.ID, err)
	}
	return nil
}

// expire ends a request that nobody answered in time.
func (q *Queue) expire(ctx context.Context, d record.Due) error {
	again := false
	err := q.transact(ctx, func(t *transition) error {
		again = false
		r, err := t.Request(d.ID)
		if errors.Is(err, ErrNotFound) || err == nil && (r.Status.Final() || !r.Expires.Equal(d.At)) {
			return t.Tx.Delete(d.Key)
		}
		if err != nil {
			return err
		}
		o := holdgate.Outcome{Decision: holdgate.AnswerTimeout, By: people.ByPolicy}
		if r.OnTimeout != holdgate.TimeoutApprove {
			return t.EndRequest(r, holdgate.StatusExpired, o, r.SilenceDenied)
		}
		switch {
		case r.RunEnded != nil:
			return t.unheard(r, runHasEnded)
		case !r.Told:
			return t.unheard(r, "no channel has told anybody")
		}
		s, err := t.q.Agents.StatusIn(t.Change, r.Agent, r.Session)
		if err != nil {
			return err
		}
		if leaves, err := q.leaves(t.Tx, d); leaves || err != nil {
			return err
		}
		// Whoever has paused the agent has not been silent.
		if !s.Running() || !q.counts(r) || !q.silence.over(r.ID, r.Timeout) {
			again, err = t.keeps(r)
			return err
		}
		return t.EndRequest(r, holdgate.StatusApproved, o, "")
	})
	if err != nil || !again {
		return err
	}
	return q.restartSilence(ctx, d)
}

// giveUp ends an exchange whose outcome nobody came back for. One in which a
// connection takes part gets its time again.
func (q *Queue) giveUp(ctx context.Context, d record.Due) error {
	mine := q.index.shut(d.ID)
	err := q.transact(ctx, func(t *transition) error {
		x, err := t.Exchange(d.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && (x.State != record.StateReady || !x.Due.Equal(d.At)) {
			return t.Tx.Delete(d.Key)
		}
		if err != nil {
			return err
		}
		taken, err := t.elsewhere(x)
		if err != nil {
			return err
		}
		if !mine || taken {
			return t.Enter(x, record.StateReady)
		}
		return t.Conclude(x, record.StateSpent, "the same call did not come again in time")
	})
	if mine {
		q.index.reopen(d.ID)
	}
	return err
}

// whySilenceDenies says why silence denies a request whose rule would let it approve, or
// "" where silence may.
func whySilenceDenies(a holdgate.Agent, d holdgate.Decision) string {
	switch {
	case d.Hold.OnTimeout != holdgate.TimeoutApprove:
		return ""
	case d.Hold.Required:
		return "silence does not approve: a person is required"
	case d.Risk == holdgate.RiskHigh, d.Risk == holdgate.RiskCritical:
		return fmt.Sprintf("silence does not approve: the risk is %s", d.Risk)
	case !confined(a):
		return "silence does not approve: the agent is not known to be confined"
	case d.Hold.Kind == holdgate.RequestChoice:
		return "silence does not approve: it chooses nothing"
	}
	return ""
}

// confined reports whether the kernel keeps the agent from going around
// Holdgate. Of one that `holdgate run` has not started nobody knows.
func confined(a holdgate.Agent) bool { return a.Confinement == "strong" || a.Confinement == "weak" }
