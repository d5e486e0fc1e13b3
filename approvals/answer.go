package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// chunkSize is how many bytes of an answer are sealed and stored together.
const chunkSize = 240 << 10

// An Answer is an upstream answer, whole.
type Answer struct {
	Status   int
	Header   http.Header
	Body     []byte // after content decoding
	Streamed bool
}

// storedHead is the first chunk of an answer; its body follows.
type storedHead struct {
	Status   int         `json:"status"`
	Header   http.Header `json:"header"`
	Streamed bool        `json:"streamed"`
}

// Kept returns the upstream answer that an earlier connection read to its end.
// It waits for a detached connection that is still reading.
func (x *Exchange) Kept(ctx context.Context) (Answer, bool, error) {
	if x.after != nil {
		select {
		case <-x.after.left:
		case <-ctx.Done():
			return Answer{}, false, ctx.Err()
		case <-x.q.life.Done():
			return Answer{}, false, store.ErrClosed
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.slot == nil {
		return Answer{}, false, nil
	}
	a, ok, err := x.kept(ctx)
	if err != nil {
		return Answer{}, false, fmt.Errorf("reading the answer of exchange %s: %w", x.id, err)
	}
	return a, ok, nil
}

func (x *Exchange) kept(ctx context.Context) (a Answer, ok bool, err error) {
	err = x.q.c.Store.View(ctx, func(tx store.Tx) error {
		var ex record.StoredExchange
		if err := record.Read(tx, record.PrefixExchange+x.id, &ex); err != nil {
			return err
		}
		if ex.Body == nil || !ex.Body.Whole {
			return nil
		}
		for n := range ex.Body.Chunks {
			sealed, err := tx.Get(record.ChunkKey(x.id, n))
			if err != nil {
				return err
			}
			chunk, err := x.q.book.Seal.Unseal(sealed, x.id, n, ex.Body.Chunks)
			if err != nil {
				return err
			}
			if n > 0 {
				a.Body = append(a.Body, chunk...)
				continue
			}
			var h storedHead
			if err := json.Unmarshal(chunk, &h); err != nil {
				return err
			}
			a = Answer{Status: h.Status, Header: h.Header, Streamed: h.Streamed}
		}
		ok = true
		return nil
	})
	return a, ok, err
}

// Keep stores the upstream answer, sealed, until the exchange is spent. The
// exchange must have asked something. The model has then answered: an approval
// of the request itself counts as spent. Where there is no room for it nothing
// is stored, and the error wraps a [*QuotaError] or [ErrDiskFull].
func (x *Exchange) Keep(ctx context.Context, a Answer) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.gone:
		return errLeft
	case x.slot == nil:
		return errors.New("keeping an answer: nothing of its exchange is held")
	}
	if err := x.q.checkSpace(int64(len(a.Body))); err != nil {
		return err
	}
	if err := x.keep(ctx, a); err != nil {
		return fmt.Errorf("keeping the answer of exchange %s: %w", x.id, err)
	}
	return nil
}

// keep writes the number of chunks first, so that they are erased whatever
// happens, and says last that they are whole.
func (x *Exchange) keep(ctx context.Context, a Answer) error {
	head, err := json.Marshal(storedHead{a.Status, a.Header, a.Streamed})
	if err != nil {
		return err
	}
	chunks := [][]byte{head}
	for rest := a.Body; len(rest) > 0; {
		n := min(len(rest), chunkSize)
		chunks, rest = append(chunks, rest[:n]), rest[n:]
	}
	if err := x.q.transact(ctx, func(t *transition) error {
		ex, err := x.ensureRecord(t)
		if err != nil {
			return err
		}
		return t.expect(ex, record.StoredBody{Chunks: len(chunks), Erase: len(chunks), Bytes: int64(len(a.Body))})
	}); err != nil {
		return err
	}
	for n, chunk := range chunks {
		sealed := x.q.book.Seal.Seal(bytes.Clone(chunk), x.id, n, len(chunks))
		err := x.q.c.Store.UpdateSoon(context.WithoutCancel(ctx), func(tx store.Tx) error {
			if x.q.member != nil {
				if err := x.q.member.Goes(tx); err != nil {
					return err
				}
			}
			return tx.Set(record.ChunkKey(x.id, n), sealed)
		})
		if err != nil {
			return err
		}
	}
	return x.q.transact(ctx, func(t *transition) error {
		ex, err := x.ensureRecord(t)
		if err != nil {
			return err
		}
		ex.Body.Whole = true
		return t.answered(ex)
	})
}

// expect makes room for an answer that is about to be stored, in place of one
// that was not stored whole.
func (t *transition) expect(x *record.StoredExchange, b record.StoredBody) error {
	more := b.Bytes
	if x.Body != nil {
		b.Erase = max(b.Erase, x.Body.Erase)
		more -= x.Body.Bytes
	}
	if err := t.q.ledger.Grow(t.Change, x, more); err != nil {
		return err
	}
	x.Bytes += more
	x.Body = &b
	return nil
}

// answered ends the use of approvals that let the request itself go on.
func (t *transition) answered(x *record.StoredExchange) error {
	for i := range x.Requests {
		ref := &x.Requests[i]
		if !ref.Used || ref.Result != "" {
			continue
		}
		r, err := t.Request(ref.ID)
		if err != nil {
			return err
		}
		if r.Call.Kind == holdgate.KindModelRequest {
			if err := t.Result(x, ref, record.ResultSpent, "the upstream has answered"); err != nil {
				return err
			}
		}
	}
	return nil
}
