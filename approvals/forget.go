package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// Retention is how long the queue keeps what is over. The audit log is the
// record of it, and keeps everything.
type Retention struct {
	Requests time.Duration // exchanges that are over, with their requests; DefaultRetention
	Events   time.Duration // events at least, and how long a consumer that takes nothing keeps them; a day
	Refused  time.Duration // refused calls, for their agents' later requests; a week
}

// DefaultRetention is how long requests of exchanges that are over are kept.
const DefaultRetention = 30 * 24 * time.Hour

const keepRefused = 7 * 24 * time.Hour

// MinRetention is the least that is kept: whoever has just decided something
// must find it, and an approval that covers a call at another door must be
// found to be used.
const MinRetention = time.Hour

func (r Retention) withDefaults() Retention {
	if r.Requests == 0 {
		r.Requests = DefaultRetention
	}
	if r.Events == 0 {
		r.Events = keepEvents
	}
	if r.Refused == 0 {
		r.Refused = keepRefused
	}
	r.Requests, r.Events, r.Refused = max(r.Requests, MinRetention), max(r.Events, MinRetention), max(r.Refused, MinRetention)
	return r
}

// forgetBatch is how many exchanges are forgotten in one transaction.
const forgetBatch = 32

// forget deletes exchanges that have been over for long enough, a few at a
// time, so that nobody waits for it.
func (q *Queue) forget(ctx context.Context) error {
	for ctx.Err() == nil {
		limit := record.Now().Add(-q.c.Retention.Requests)
		var keys []string
		err := q.c.Store.View(ctx, func(tx store.Tx) error {
			for p, err := range tx.Scan(record.PrefixDone, "") {
				if err != nil {
					return err
				}
				if p.Key >= record.DoneKey(limit, "") || len(keys) == forgetBatch {
					break
				}
				keys = append(keys, p.Key)
			}
			return nil
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = q.c.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
			for _, key := range keys {
				if err := forgetDone(tx, key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("forgetting exchanges that are over: %w", err)
		}
	}
	return nil
}

// forgetDone deletes an exchange that is over and all that belongs to it, the
// records of use with the exchange that they were in: without it there is
// nothing left that could be used.
func forgetDone(tx store.Tx, key string) error {
	_, id, _ := strings.Cut(strings.TrimPrefix(key, record.PrefixDone), "/")
	var x record.StoredExchange
	err := record.Read(tx, record.PrefixExchange+id, &x)
	if errors.Is(err, store.ErrNotFound) {
		return tx.Delete(key)
	}
	if err != nil {
		return err
	}
	if !x.State.Final() {
		return fmt.Errorf("forgetting exchange %s: it is %s, and not over", id, x.State)
	}
	for _, ref := range x.Requests {
		if ref.Borrowed {
			continue
		}
		if err := forgetRequest(tx, ref.ID); err != nil {
			return err
		}
	}
	return errors.Join(tx.Delete(record.PrefixExchange+id), tx.Delete(key))
}

func forgetRequest(tx store.Tx, id string) error {
	var r record.StoredRequest
	if err := record.Read(tx, record.PrefixRequest+id, &r); err != nil {
		return err
	}
	if err := grants.ForgetAnswers(tx, &r); err != nil {
		return err
	}
	keys := []string{record.PrefixRequest + id, record.AskedKey(&r), record.PendingKey(&r), record.PutOffKey(&r)}
	for p, err := range tx.Scan(record.UsedKey(id, ""), "") {
		if err != nil {
			return err
		}
		keys = append(keys, p.Key)
		var u storedUse
		if err := record.Decode(p.Key, p.Value, &u); err != nil {
			return err
		}
		for _, pass := range []string{u.Pass, u.HookPass} {
			if pass != "" {
				keys = append(keys, pass)
			}
		}
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return forgetDeliveries(tx, id)
}
