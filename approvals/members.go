package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/members"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// lookEvery is how often a queue looks whether another member has gone.
const lookEvery = time.Second

// join begins the life of this queue among the members of its store, settles what
// those left that are gone, and follows the others from then on.
func (q *Queue) joinMembers(ctx context.Context) error {
	if q.c.Member == "" {
		return nil
	}
	life, err := members.Begin(ctx, q.c.Store, q.c.Member)
	if err != nil {
		return err
	}
	q.member, q.book.Goes, q.index.shared = life, life.Goes, true
	q.silence.shared = true
	if err := q.c.Store.Update(ctx, q.ledger.Share); err != nil {
		return fmt.Errorf("counting what waits: %w", err)
	}
	q.book.Asking = append(q.book.Asking, q.askOnly)
	q.book.Ended = append(q.book.Ended, func(c *record.Change, r *record.StoredRequest) error {
		if r.OnTimeout != holdgate.TimeoutApprove {
			return nil
		}
		return q.askedNoMore(c, r)
	})
	if err := q.bury(ctx); err != nil {
		return err
	}
	for prefix, see := range q.views() {
		w := q.c.Store.Watch(q.life, prefix)
		q.goroutine.Go(func() { q.follow(q.life, w, see) })
	}
	if q.c.Others != nil {
		q.goroutine.Go(func() { q.lookForGone(q.life) })
	}
	return nil
}

// lookForGone takes up what members that have gone held, until ctx ends.
func (q *Queue) lookForGone(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		if err := q.bury(ctx); err != nil && ctx.Err() == nil {
			q.c.Logger.Error("taking up what members that are gone held; trying again", "err", err)
		}
	}
}

// bury settles what members held that are gone.
func (q *Queue) bury(ctx context.Context) error {
	// Who works is asked once the lives are read: one that has just begun is there by then.
	others := sync.OnceValues(func() ([]Other, error) { return q.others(ctx) })
	return q.member.Bury(ctx, q.c.Store, func(name string) (bool, error) {
		list, err := others()
		return slices.ContainsFunc(list, func(o Other) bool { return o.Name == name }), err
	}, func(life string) error { return q.takeOver(ctx, life) })
}

// An Other is another member that works.
type Other struct {
	Name string
	Ago  time.Duration // since it was heard of
}

func (q *Queue) others(ctx context.Context) ([]Other, error) {
	if q.c.Others == nil {
		return nil, nil
	}
	list, err := q.c.Others(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for the members that work: %w", err)
	}
	return list, nil
}

// takeOver frees the exchanges in which the connections of a life took part that is
// over. What was being delivered is unknown.
func (q *Queue) takeOver(ctx context.Context, life string) error {
	var held []string
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		return record.EachOpen(tx, func(id string, x record.StoredOpen) error {
			if x.Member == life {
				held = append(held, id)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, id := range held {
		err := q.transact(ctx, func(t *transition) error {
			x, err := t.Exchange(id)
			if err != nil || x.Member != life || x.State.Final() {
				return err
			}
			return t.abandon(x)
		})
		if err != nil {
			return fmt.Errorf("settling exchange %s: %w", id, err)
		}
	}
	return nil
}

// abandon frees an exchange whose member is gone.
func (t *transition) abandon(x *record.StoredExchange) error {
	note := members.NameOf(x.Member) + " ended while the call was under way"
	x.Member = ""
	return t.Orphan(x, note)
}

// follow hands over keys that changed until ctx ends, each until it has been seen.
func (q *Queue) follow(ctx context.Context, w store.Watcher, see func(store.Tx, []string) error) {
	for {
		keys, err := w.Next(ctx)
		if err != nil {
			return
		}
		for q.c.Store.View(ctx, func(tx store.Tx) error { return see(tx, keys) }) != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryAfter):
			}
		}
	}
}

// elsewhere reports whether a connection of another member takes part in an
// exchange.
func (t *transition) elsewhere(x *record.StoredExchange) (bool, error) {
	if t.q.member == nil {
		return false, nil
	}
	return t.q.member.Other(t.Tx, x.Member)
}

// own returns ErrOver where this member has no part in the exchange: none of its
// connections may ask, use or end anything in it.
func (t *transition) own(x *record.StoredExchange) error {
	if t.q.member != nil && x.Member != t.q.member.ID() {
		return fmt.Errorf("%w here: another member has taken it up", ErrOver)
	}
	return nil
}

// enter has a connection of this member take part in an exchange that waits, if
// none of another does. It returns how often the exchange was entered, 0: it was
// not, and the member of the one that does.
func (q *Queue) enter(ctx context.Context, id string) (turn uint64, holder string, err error) {
	err = q.transact(ctx, func(t *transition) error {
		turn, holder = 0, ""
		x, err := t.Exchange(id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		taken, err := t.elsewhere(x)
		if err != nil {
			return err
		}
		if taken {
			if waits(x) {
				holder = members.NameOf(x.Member)
			}
			return nil
		}
		if x.Member != "" && x.Member != q.member.ID() {
			if err := t.abandon(x); err != nil {
				return err
			}
		}
		if !waits(x) {
			return nil
		}
		x.Member = q.member.ID()
		x.Turn++
		turn = x.Turn
		return nil
	})
	return turn, holder, err
}

// awaitOthers waits for an exchange in which connections of other members take part as far
// as the store says. One whose member has died comes free once that is known. One whose
// member is heard of after the caller has come really goes on there.
func (q *Queue) awaitOthers(ctx context.Context, x *Exchange) error {
	came := time.Now()
	for {
		others, err := q.others(ctx)
		if err != nil {
			return err
		}
		joined, holders, err := q.join(ctx, x, "")
		if err != nil || joined {
			return err
		}
		dead := slices.ContainsFunc(holders, func(name string) bool {
			i := slices.IndexFunc(others, func(o Other) bool { return o.Name == name })
			return i < 0 || others[i].Ago >= time.Since(came)
		})
		if !dead {
			return nil
		}
		select {
		case <-time.After(besideWait):
		case <-ctx.Done():
			return ctx.Err()
		case <-q.life.Done():
			return store.ErrClosed
		}
	}
}

// left says in the store that no connection of this member takes part in an
// exchange any more, unless one has entered it again.
func (q *Queue) left(ctx context.Context, id string, turn uint64) error {
	return q.transact(ctx, func(t *transition) error {
		x, err := t.Exchange(id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || x.State.Final() || x.Member != q.member.ID() || x.Turn != turn {
			return err
		}
		x.Member = ""
		return nil
	})
}
