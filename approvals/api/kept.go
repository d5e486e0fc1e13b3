package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
)

// Keys in the store.
const (
	prefixAnswer = "idempotent/"    // ID: the answer
	prefixKept   = "idempotent-at/" // TIME/ID: its size in bytes, oldest first
)

// maxSwept bounds how many answers one new one removes.
const maxSwept = 100

// storedReply is a reply as stored.
type storedReply struct {
	V           int             `json:"v"`
	Asked       holdgate.Digest `json:"asked"` // what was sent under the key
	At          time.Time       `json:"at"`
	Status      int             `json:"status"`
	ContentType string          `json:"content_type"`
	Body        []byte          `json:"body"`
}

const replyVersion = 1

// find returns the answer that is kept under the id.
func (i *idempotency) find(ctx context.Context, id holdgate.Digest) (a storedReply, found bool, err error) {
	err = i.st.View(ctx, func(tx store.Tx) (err error) {
		a, found, err = readReply(tx, id)
		return err
	})
	if err != nil {
		return storedReply{}, false, fmt.Errorf("looking an idempotency key up: %w", err)
	}
	return a, found && a.V == replyVersion && time.Since(a.At) < KeepAnswers, nil
}

// keep stores an answer, and removes what is too old or too much.
func (i *idempotency) keep(ctx context.Context, id, asked holdgate.Digest, p reply) error {
	i.keeping.Lock()
	defer i.keeping.Unlock()
	a := storedReply{V: replyVersion, Asked: asked, At: time.Now().UTC(), Status: p.status, ContentType: p.contentType, Body: p.body}
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	k := keeper{answers: i.answers, bytes: i.bytes}
	err = i.st.Update(ctx, func(tx store.Tx) error {
		k = keeper{tx: tx, answers: i.answers, bytes: i.bytes}
		if !i.counted {
			if err := k.count(); err != nil {
				return err
			}
		}
		if err := k.add(id, a.At, raw); err != nil {
			return err
		}
		return k.sweep(a.At, i.most, i.mostBytes)
	})
	if err != nil {
		return err
	}
	i.counted, i.answers, i.bytes = true, k.answers, k.bytes
	return nil
}

// A keeper changes what is kept, in one transaction.
type keeper struct {
	tx      store.Tx
	answers int
	bytes   int64
}

// count takes stock.
func (k *keeper) count() error {
	for p, err := range k.tx.Scan(prefixKept, "") {
		if err != nil {
			return err
		}
		k.answers++
		k.bytes += size(p)
	}
	return nil
}

// add stores an answer, in the place of one that was too old to be given.
func (k *keeper) add(id holdgate.Digest, at time.Time, raw []byte) error {
	old, found, err := readReply(k.tx, id)
	if err != nil {
		return err
	}
	if found {
		key := keptKey(old.At, id)
		n, err := k.tx.Get(key)
		if err != nil {
			return err
		}
		if err := k.remove(store.Pair{Key: key, Value: n}); err != nil {
			return err
		}
	}
	k.answers++
	k.bytes += int64(len(raw))
	return errors.Join(k.tx.Set(prefixAnswer+string(id), raw), k.tx.Set(keptKey(at, id), strconv.AppendInt(nil, int64(len(raw)), 10)))
}

// sweep removes the oldest answers while they are too old or too many.
func (k *keeper) sweep(now time.Time, most int, mostBytes int64) error {
	swept := 0
	for p, err := range k.tx.Scan(prefixKept, "") {
		if err != nil {
			return err
		}
		old := p.Key < keptKey(now.Add(-KeepAnswers), "")
		if swept++; swept > maxSwept || !old && k.answers <= most && k.bytes <= mostBytes {
			return nil
		}
		if err := k.remove(p); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the answer of an entry in the order of time.
func (k *keeper) remove(p store.Pair) error {
	k.answers--
	k.bytes -= size(p)
	_, id, _ := strings.Cut(strings.TrimPrefix(p.Key, prefixKept), "/")
	return errors.Join(k.tx.Delete(p.Key), k.tx.Delete(prefixAnswer+id))
}

func readReply(tx store.Tx, id holdgate.Digest) (a storedReply, found bool, err error) {
	raw, err := tx.Get(prefixAnswer + string(id))
	if errors.Is(err, store.ErrNotFound) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, false, fmt.Errorf("reading the answer to an idempotency key: %w", err)
	}
	return a, true, nil
}

// keptKey sorts by time.
func keptKey(at time.Time, id holdgate.Digest) string {
	return prefixKept + store.Seq(uint64(at.UnixNano())) + "/" + string(id)
}

// size is that of the answer of an entry in the order of time, in bytes.
func size(p store.Pair) int64 {
	n, err := strconv.ParseInt(string(p.Value), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
