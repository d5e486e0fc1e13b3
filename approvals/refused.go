package approvals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	prefixRefused   = "refused/"
	prefixRefusedAt = "refused-at/"
)

// Bounds of what is remembered of one caller's refused calls on one account.
// What is over them is not an error: the oldest is forgotten.
const (
	MaxRefused      = 200       // records
	MaxRefusedBytes = 4 << 20   // of all records
	MaxRefusal      = 512 << 10 // bytes of one record; a longer one is not kept
	KeepRefused     = 7 * 24 * time.Hour
)

// Remember keeps records of calls that were refused, for the caller's later
// requests ([Queue.Remembered]) to the same account: what names the upstream
// and on whose account it is asked, for a caller's name is its own word and a
// record has what one upstream alone has seen. What is in a record is the
// caller's business; it is sealed on the disk. A record that is there already
// is not kept twice.
// The records survive the death of this process.
func (q *Queue) Remember(ctx context.Context, who Caller, account holdgate.Digest, records [][]byte) error {
	size := int64(0)
	for _, r := range records {
		size += int64(len(r))
	}
	if err := q.room(size); err != nil {
		return err
	}
	of := q.refusedOf(who, account)
	err := q.c.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
		kept, err := q.openRefused(tx, of)
		if err != nil {
			return err
		}
		for _, r := range records {
			if len(r) > MaxRefusal || holds(kept, r) {
				continue
			}
			at := record.Now()
			if n := len(kept); n > 0 && !at.After(kept[n-1].at) {
				at = kept[n-1].at.Add(1)
			}
			k := refusal{of: of, at: at, record: r}
			if err := errors.Join(tx.Set(k.key(), q.book.Seal.SealAt(r, k.place())), tx.Set(k.timeKey(), nil)); err != nil {
				return err
			}
			kept = append(kept, k)
		}
		return dropOldest(tx, kept)
	})
	if err != nil {
		return fmt.Errorf("remembering refused calls: %w", err)
	}
	q.refused.Store(true)
	return nil
}

// Remembered returns the records that [Queue.Remember] has kept of the caller
// on the account, oldest first.
func (q *Queue) Remembered(ctx context.Context, who Caller, account holdgate.Digest) ([][]byte, error) {
	if !q.refused.Load() {
		return nil, nil
	}
	var kept []refusal
	err := q.c.Store.View(ctx, func(tx store.Tx) (err error) {
		kept, err = q.openRefused(tx, q.refusedOf(who, account))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading refused calls: %w", err)
	}
	var records [][]byte
	for _, k := range kept {
		if record.Now().Sub(k.at) < q.c.Retention.Refused {
			records = append(records, k.record)
		}
	}
	return records, nil
}

// refusedOf names a caller on an account in keys.
func (q *Queue) refusedOf(who Caller, account holdgate.Digest) holdgate.Digest {
	return q.c.Digester.Fields("refused", who.Agent.ID, fmt.Sprint(who.Agent.Proven), who.Session.ID, who.Door, string(account))
}

// A refusal is a record with its place.
type refusal struct {
	of     holdgate.Digest
	at     time.Time // of one caller and account, no two at the same
	record []byte
}

func (r refusal) key() string { return prefixRefused + string(r.of) + "/" + seqOf(r.at) }

// timeKey sorts the records of all callers by time.
func (r refusal) timeKey() string { return prefixRefusedAt + seqOf(r.at) + "/" + string(r.of) }

// place is what a sealed record is bound to.
func (r refusal) place() []byte { return []byte("holdgate refused v1/" + r.key()) }

func seqOf(at time.Time) string { return store.Seq(uint64(at.UnixNano())) }

func (q *Queue) openRefused(tx store.Tx, of holdgate.Digest) ([]refusal, error) {
	var kept []refusal
	prefix := prefixRefused + string(of) + "/"
	for p, err := range tx.Scan(prefix, "") {
		if err != nil {
			return nil, err
		}
		n, err := store.ParseSeq(strings.TrimPrefix(p.Key, prefix))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", p.Key, err)
		}
		r := refusal{of: of, at: time.Unix(0, int64(n))}
		if r.record, err = q.book.Seal.OpenAt(p.Value, r.place()); err != nil {
			return nil, fmt.Errorf("opening %s: %w", p.Key, err)
		}
		kept = append(kept, r)
	}
	return kept, nil
}

func holds(kept []refusal, record []byte) bool {
	for _, k := range kept {
		if bytes.Equal(k.record, record) {
			return true
		}
	}
	return false
}

func dropOldest(tx store.Tx, kept []refusal) error {
	size := 0
	for _, k := range kept {
		size += len(k.record)
	}
	for ; len(kept) > MaxRefused || size > MaxRefusedBytes; kept = kept[1:] {
		if err := errors.Join(tx.Delete(kept[0].key()), tx.Delete(kept[0].timeKey())); err != nil {
			return err
		}
		size -= len(kept[0].record)
	}
	return nil
}

// forgetRefused deletes the records whose time is over, a few at a time.
func (q *Queue) forgetRefused(ctx context.Context) error {
	const batch = 10 * forgetBatch
	limit := prefixRefusedAt + seqOf(record.Now().Add(-q.c.Retention.Refused))
	for n := batch; n == batch && ctx.Err() == nil; {
		var old []string
		err := q.c.Store.View(ctx, func(tx store.Tx) error {
			for p, err := range tx.Scan(prefixRefusedAt, "") {
				if err != nil {
					return err
				}
				if p.Key >= limit || len(old) == batch {
					break
				}
				old = append(old, p.Key)
			}
			return nil
		})
		if n = len(old); err != nil || n == 0 {
			return err
		}
		err = q.c.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
			for _, key := range old {
				seq, of, _ := strings.Cut(strings.TrimPrefix(key, prefixRefusedAt), "/")
				if err := errors.Join(tx.Delete(prefixRefused+of+"/"+seq), tx.Delete(key)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("forgetting refused calls: %w", err)
		}
	}
	return nil
}
