package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	if err := q.bury(ctx); err != nil {
		return err
	}
	q.goroutine.Go(func() { q.follow(q.life, q.c.Store.Watch(q.life, record.PrefixOpen), q.seeOpen) })
	q.goroutine.Go(func() { q.follow(q.life, q.c.Store.Watch(q.life, record.PrefixRequest), q.seeEnded) })
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
	var others []string
	if q.c.Others != nil {
		var err error
		if others, err = q.c.Others(ctx); err != nil {
			return fmt.Errorf("asking for the members that work: %w", err)
		}
	}
	return q.member.Bury(ctx, q.c.Store, func(name string) bool { return slices.Contains(others, name) },
		func(life string) error { return q.takeOver(ctx, life) })
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

// seeOpen takes exchanges of other members into the index, and out of it.
func (q *Queue) seeOpen(tx store.Tx, keys []string) error {
	for _, key := range keys {
		id := strings.TrimPrefix(key, record.PrefixOpen)
		var x record.StoredOpen
		switch err := record.Read(tx, key, &x); {
		case errors.Is(err, store.ErrNotFound):
			q.index.drop(id)
		case err != nil:
			return err
		case x.Member != q.member.ID(): // its own are there already
			q.index.add(id, callerKey{x.Agent, x.Proven, x.Session, x.Door}, x.Key)
		}
	}
	return nil
}

// know takes an exchange into the index that another member may just have begun.
func (q *Queue) know(ctx context.Context, id string) error {
	if q.member == nil {
		return nil
	}
	return q.c.Store.View(ctx, func(tx store.Tx) error { return q.seeOpen(tx, []string{record.PrefixOpen + id}) })
}

// seeEnded wakes who waits for requests that another member has ended.
func (q *Queue) seeEnded(tx store.Tx, keys []string) error {
	for _, key := range keys {
		id := strings.TrimPrefix(key, record.PrefixRequest)
		if !q.index.awaited(id) {
			continue
		}
		var r record.StoredRequest
		switch err := record.Read(tx, key, &r); {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case err != nil, r.Status.Final():
			q.index.ended(id)
		}
	}
	return nil
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
// not.
func (q *Queue) enter(ctx context.Context, id string) (turn uint64, err error) {
	err = q.transact(ctx, func(t *transition) error {
		turn = 0
		x, err := t.Exchange(id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		taken, err := t.elsewhere(x)
		if err != nil || taken {
			return err
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
	return turn, err
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
