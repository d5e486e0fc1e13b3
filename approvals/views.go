package approvals

import (
	"context"
	"errors"
	"strings"

	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/quota"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/refusals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tools"
	"github.com/holdgate/holdgate/store"
)

// views are what of the store is in memory too, by the prefix of its keys, and what takes
// in keys that other members have changed. Own changes come again, and in any order.
func (q *Queue) views() map[string]func(store.Tx, []string) error {
	return map[string]func(store.Tx, []string) error{
		record.PrefixOpen:      q.seeOpen,
		record.PrefixRequest:   q.seeEnded,
		record.PrefixDue:       q.seeDue,
		quota.Prefix:           q.ledger.See,
		agents.Prefix:          q.Agents.See,
		sessions.Prefix:        q.Sessions.See,
		sessions.PrefixMessage: q.Sessions.SeeMail,
		tools.Prefix:           q.Tools.See,
		tools.PrefixServer:     q.Tools.See,
		refusals.Prefix:        q.Refusals.See,
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
			q.Agents.Know(x.Agent)
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
		if !q.index.awaited(id) && !q.silence.knows(id) {
			continue
		}
		var r record.StoredRequest
		switch err := record.Read(tx, key, &r); {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case err != nil, r.Status.Final():
			q.index.ended(id)
			q.silence.forget(id)
		}
	}
	return nil
}

// seeDue takes in when something is due that another member has put into the timer.
func (q *Queue) seeDue(_ store.Tx, keys []string) error {
	for _, key := range keys {
		if d, err := record.ParseDue(store.Pair{Key: key}); err == nil {
			q.timer.sooner(d.At)
		}
	}
	return nil
}
