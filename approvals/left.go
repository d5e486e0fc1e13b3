package approvals

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// runHasEnded is why silence does not approve what a run has asked that ended.
const runHasEnded = "the run that asked has ended"

// RunEnded says that the run of an agent has ended. Silence approves nothing any more that
// it has asked, and nobody waits for it: where a connection has outlived the run, nobody
// does once it has ended too. An answer still counts for an agent that makes the same call
// again. What people have approved for a task of the run ends.
func (q *Queue) RunEnded(ctx context.Context, agent string) error {
	ending := q.Grants.EndTasks(ctx, agent)
	list, err := q.List(ctx, Filter{Status: holdgate.StatusPending, Agent: agent})
	err = errors.Join(ending, err)
	now := time.Now()
	for _, r := range list {
		err = errors.Join(err, q.leave(ctx, r.ID, now, q.index.outlives(r.Exchange, now)))
	}
	return err
}

// desert says of the requests of an exchange that its run has ended, for its last
// connection has too, unless there is another.
func (q *Queue) desert(ctx context.Context, d desertion) error {
	if q.index.waits(d.id) {
		return nil
	}
	var x record.StoredExchange
	err := q.c.Store.View(ctx, func(tx store.Tx) error { return record.Read(tx, record.PrefixExchange+d.id, &x) })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	for _, ref := range x.Requests {
		err = errors.Join(err, q.leave(ctx, ref.ID, d.at, false))
	}
	return err
}

// leave says of a request of a run that the run ended then, unless that is known or
// somebody waits all the same. Silence does not approve it from now on.
func (q *Queue) leave(ctx context.Context, id string, at time.Time, waits bool) error {
	var left string
	err := q.transact(ctx, func(t *transition) error {
		r, err := t.Request(id)
		if err != nil || r.Status.Final() || r.Confinement == "" {
			return ignoreGone(err)
		}
		taken, err := q.takenElsewhere(t.Tx, r.Exchange)
		if err != nil {
			return err
		}
		switch {
		case !waits && !taken && r.RunEnded == nil:
			left = r.Exchange
			return errors.Join(t.notSilent(r, runHasEnded), t.Leave(r, &at))
		case r.OnTimeout == holdgate.TimeoutApprove:
			return t.unheard(r, runHasEnded)
		}
		return nil
	})
	if err == nil && left != "" && q.index.leave(left, true) {
		return q.attend(ctx, left) // a connection has come meanwhile
	}
	return err
}

// takenElsewhere reports whether a connection of another member takes part in an exchange.
func (q *Queue) takenElsewhere(tx store.Tx, exchange string) (bool, error) {
	if q.member == nil {
		return false, nil
	}
	var x record.StoredExchange
	if err := record.Read(tx, record.PrefixExchange+exchange, &x); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	return q.member.Other(tx, x.Member)
}

// attend says that somebody waits again for the requests of an exchange.
func (q *Queue) attend(ctx context.Context, exchange string) error {
	err := q.transact(ctx, func(t *transition) error {
		var x record.StoredExchange
		if err := record.Read(t.Tx, record.PrefixExchange+exchange, &x); err != nil {
			return err
		}
		for _, ref := range x.Requests {
			r, err := t.Request(ref.ID)
			if err != nil || r.Status.Final() || r.RunEnded == nil {
				if ignoreGone(err) != nil {
					return err
				}
				continue
			}
			if err := t.Leave(r, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		q.index.leave(exchange, false)
	}
	return err
}

// RunsEnded says of all that runs have asked that they have ended: it is for a sidecar that
// starts, before agents come. Runs of other members go on: what their connections take part
// in stays as it is. So do those of the agents that goOn names: this process serves them
// where another one did. Where a process was killed, nobody has written down when; the
// last entry of the log is the latest that is known of it.
func (q *Queue) RunsEnded(ctx context.Context, goOn ...string) error {
	if q.member == nil { // else nobody knows whose run a grant is of
		if err := q.Grants.EndTasksOfRuns(ctx, goOn); err != nil {
			return err
		}
	}
	list, err := q.List(ctx, Filter{Status: holdgate.StatusPending})
	if err != nil {
		return err
	}
	var last time.Time
	for _, r := range list {
		switch {
		case r.Agent.Confinement == "", r.RunEnded == nil && slices.Contains(goOn, r.Agent.ID):
			continue
		case r.RunEnded != nil:
			q.index.leave(r.Exchange, true)
			if r.OnTimeout != holdgate.TimeoutApprove.String() {
				continue
			}
		case last.IsZero():
			if last, err = q.lastLogged(ctx); err != nil {
				return err
			}
		}
		var taken bool
		err := q.c.Store.View(ctx, func(tx store.Tx) (err error) {
			taken, err = q.takenElsewhere(tx, r.Exchange)
			return err
		})
		if err == nil && !taken {
			err = q.leave(ctx, r.ID, last, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lastLogged is when the newest entry of the log was written; now where there is none.
func (q *Queue) lastLogged(ctx context.Context) (time.Time, error) {
	head, err := q.c.Log.Head(ctx)
	if err != nil {
		return time.Time{}, err
	}
	entries, err := q.c.Log.Query(ctx, audit.Query{From: head.Seq, Limit: 1})
	if err != nil || len(entries) == 0 {
		return time.Now(), err
	}
	return entries[0].Time, nil
}

// ignoreGone is the error, but none for a request that is not there any more.
func ignoreGone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
