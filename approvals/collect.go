package approvals

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	// collectEvery is how often old events are looked for.
	collectEvery = time.Hour
	// keepEvents is how long an event stays where the configuration does not
	// say: see [Retention].
	keepEvents = 24 * time.Hour
	// collectBatch is how many keys go in one transaction.
	collectBatch = 1000
)

// collect deletes old events that every consumer has taken, and forgets
// consumers that are long behind.
func (q *Queue) collect(ctx context.Context) error {
	for {
		var old []string
		err := q.c.Store.View(ctx, func(tx store.Tx) (err error) {
			old, err = collectable(tx, record.Now().Add(-q.c.Retention.Events))
			return err
		})
		if err != nil {
			return fmt.Errorf("looking for old events: %w", err)
		}
		if len(old) == 0 {
			return nil
		}
		err = q.c.Store.UpdateSoon(ctx, func(tx store.Tx) error {
			for _, key := range old {
				if err := tx.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("deleting old events: %w", err)
		}
	}
}

// collectable returns the keys of events and consumers from before limit that
// nobody needs, one batch of them.
func collectable(tx store.Tx, limit time.Time) ([]string, error) {
	var keys []string
	oldest := ^uint64(0) // the place of the consumer that is furthest behind
	idle := make(map[string]uint64)
	for p, err := range tx.Scan(record.PrefixConsumer, "") {
		if err != nil {
			return nil, err
		}
		var c storedConsumer
		if err := record.Decode(p.Key, p.Value, &c); err != nil {
			return nil, err
		}
		if c.At.Before(limit) {
			idle[p.Key] = c.Taken
		} else {
			oldest = min(oldest, c.Taken)
		}
	}
	var last uint64
	for p, err := range tx.Scan(record.PrefixOutbox, "") {
		if err != nil {
			return nil, err
		}
		var e record.StoredEvent
		if err := record.Decode(p.Key, p.Value, &e); err != nil {
			return nil, err
		}
		seq, err := store.ParseSeq(strings.TrimPrefix(p.Key, record.PrefixOutbox))
		if err != nil {
			return nil, err
		}
		if seq > oldest || !e.Time.Before(limit) || len(keys) == collectBatch {
			break
		}
		keys, last = append(keys, p.Key), seq
	}
	for key, taken := range idle {
		if taken < last {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
