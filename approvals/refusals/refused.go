package refusals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	Prefix          = "refused/" // begins the keys of records
	prefixRefusedAt = "refused-at/"
)

// Bounds of what is remembered of one caller's refused calls on one account.
// What is over them is not an error: the oldest is forgotten.
const (
	MaxRecords  = 200       // records
	MaxBytes    = 4 << 20   // of all records
	MaxRefusal  = 512 << 10 // bytes of one record; a longer one is not kept
	KeepRefused = 7 * 24 * time.Hour
)

// A Keeper has the calls of a store that were refused. It is safe for concurrent use.
// In memory there is nothing but whether there is one.
type Keeper struct {
	b          *record.Book
	keep       time.Duration
	checkSpace func(bytes int64) error
	any        atomic.Bool // there may be one
}

// New returns those of a book, each kept for so long. checkSpace says why so many bytes
// cannot be stored.
func New(b *record.Book, keep time.Duration, checkSpace func(bytes int64) error) *Keeper {
	return &Keeper{b: b, keep: keep, checkSpace: checkSpace}
}

// TakeUp looks whether there is one.
func (k *Keeper) TakeUp(tx store.Tx) error {
	for _, err := range tx.Scan(Prefix, "") {
		k.any.Store(err == nil)
		return err
	}
	return nil
}

// See takes in that there may be one: others may have kept it.
func (k *Keeper) See(store.Tx, []string) error {
	k.any.Store(true)
	return nil
}

// Keep keeps records of calls that were refused, for the caller's later
// requests ([Keeper.Of]) to the same account: what names the upstream
// and on whose account it is asked, for a caller's name is its own word and a
// record has what one upstream alone has seen. What is in a record is the
// caller's business; it is sealed on the disk. A record that is there already
// is not kept twice.
// The records survive the death of this process.
func (k *Keeper) Keep(ctx context.Context, who record.Caller, account holdgate.Digest, records [][]byte) error {
	size := int64(0)
	for _, r := range records {
		size += int64(len(r))
	}
	if err := k.checkSpace(size); err != nil {
		return err
	}
	of := k.of(who, account)
	err := k.b.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
		kept, err := k.unseal(tx, of)
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
			one := refusal{of: of, at: at, record: r}
			if err := errors.Join(tx.Set(one.key(), k.b.Seal.SealAt(r, one.place())), tx.Set(one.timeKey(), nil)); err != nil {
				return err
			}
			kept = append(kept, one)
		}
		return dropOldest(tx, kept)
	})
	if err != nil {
		return fmt.Errorf("remembering refused calls: %w", err)
	}
	k.any.Store(true)
	return nil
}

// Of returns the records that [Keeper.Keep] has kept of the caller
// on the account, oldest first.
func (k *Keeper) Of(ctx context.Context, who record.Caller, account holdgate.Digest) ([][]byte, error) {
	if !k.any.Load() {
		return nil, nil
	}
	var kept []refusal
	err := k.b.Store.View(ctx, func(tx store.Tx) (err error) {
		kept, err = k.unseal(tx, k.of(who, account))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading refused calls: %w", err)
	}
	var records [][]byte
	for _, one := range kept {
		if record.Now().Sub(one.at) < k.keep {
			records = append(records, one.record)
		}
	}
	return records, nil
}

// of names a caller on an account in keys.
func (k *Keeper) of(who record.Caller, account holdgate.Digest) holdgate.Digest {
	return k.b.Digester.Fields("refused", who.Agent.ID, fmt.Sprint(who.Agent.Proven), who.Session.ID, who.Door, string(account))
}

// A refusal is a record with its place.
type refusal struct {
	of     holdgate.Digest
	at     time.Time // of one caller and account, no two at the same
	record []byte
}

func (r refusal) key() string { return Prefix + string(r.of) + "/" + seqOf(r.at) }

// timeKey sorts the records of all callers by time.
func (r refusal) timeKey() string { return prefixRefusedAt + seqOf(r.at) + "/" + string(r.of) }

// place is what a sealed record is bound to.
func (r refusal) place() []byte { return []byte("holdgate refused v1/" + r.key()) }

func seqOf(at time.Time) string { return store.Seq(uint64(at.UnixNano())) }

func (k *Keeper) unseal(tx store.Tx, of holdgate.Digest) ([]refusal, error) {
	var kept []refusal
	prefix := Prefix + string(of) + "/"
	for p, err := range tx.Scan(prefix, "") {
		if err != nil {
			return nil, err
		}
		n, err := store.ParseSeq(strings.TrimPrefix(p.Key, prefix))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", p.Key, err)
		}
		r := refusal{of: of, at: time.Unix(0, int64(n))}
		if r.record, err = k.b.Seal.OpenAt(p.Value, r.place()); err != nil {
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
	for ; len(kept) > MaxRecords || size > MaxBytes; kept = kept[1:] {
		if err := errors.Join(tx.Delete(kept[0].key()), tx.Delete(kept[0].timeKey())); err != nil {
			return err
		}
		size -= len(kept[0].record)
	}
	return nil
}

// Forget deletes the records whose time is over, a few at a time.
func (k *Keeper) Forget(ctx context.Context) error {
	const batch = 320
	limit := prefixRefusedAt + seqOf(record.Now().Add(-k.keep))
	for n := batch; n == batch && ctx.Err() == nil; {
		var old []string
		err := k.b.Store.View(ctx, func(tx store.Tx) error {
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
		err = k.b.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
			for _, key := range old {
				seq, of, _ := strings.Cut(strings.TrimPrefix(key, prefixRefusedAt), "/")
				if err := errors.Join(tx.Delete(Prefix+of+"/"+seq), tx.Delete(key)); err != nil {
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
