package audit

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdgate/holdgate/store"
)

// keyDropped is up to which entry what entries say was dropped.
const keyDropped = "audit-dropped"

// dropAtOnce is how many tiles of entries one transaction drops.
const dropAtOnce = 16

// Keep says what of the log is kept; what is zero bounds nothing.
type Keep struct {
	For   time.Duration // how long an entry is kept
	Bytes uint64        // about how many bytes of entries
}

// Drop drops what the oldest entries say as far as keep doesn't keep them: 256
// at a time, never the newest 256, with an entry that says so. It returns how many
// it dropped. Their hashes stay, so that the log verifies and proves as before.
func (l *Log) Drop(ctx context.Context, keep Keep) (dropped uint64, err error) {
	upTo, err := l.excess(ctx, keep)
	for more := true; more && err == nil; {
		var n uint64
		n, err = l.dropSome(ctx, keep, upTo)
		dropped += n
		more = n > 0
	}
	if err != nil {
		return dropped, fmt.Errorf("dropping old entries of the audit log: %w", err)
	}
	return dropped, nil
}

// dropSome drops some of the entries up to upTo that are still there.
func (l *Log) dropSome(ctx context.Context, keep Keep, upTo uint64) (n uint64, err error) {
	var stored Entry
	err = l.st.Update(ctx, func(tx store.Tx) error {
		from, err := droppedUpTo(tx)
		if err != nil {
			return err
		}
		to := min(upTo, from+dropAtOnce*tileWidth)
		if n = to - min(from, to); n == 0 {
			return nil
		}
		for seq := from + 1; seq <= to; seq++ {
			if err := tx.Delete(keyPrefix + store.Seq(seq)); err != nil {
				return err
			}
		}
		for tile := from / tileWidth; tile < to/tileWidth; tile++ {
			if err := tx.Delete(keySpan + store.Seq(tile)); err != nil {
				return err
			}
		}
		if err := tx.Set(keyDropped, []byte(store.Seq(to))); err != nil {
			return err
		}
		stored, err = l.Append(tx, Entry{Type: TypeRetention, Dropped: to, Note: fmt.Sprintf("what the entries up to %d say was dropped, %s; their hashes are kept", to, keep.why())})
		return err
	})
	if err == nil && n > 0 {
		l.Wrote(stored)
	}
	return n, err
}

func (k Keep) why() string {
	switch {
	case k.For == 0:
		return fmt.Sprintf("to keep the log at %d bytes", k.Bytes)
	case k.Bytes == 0:
		return "as older than " + k.For.String()
	}
	return fmt.Sprintf("as older than %s, or to keep the log at %d bytes", k.For, k.Bytes)
}

// keySpan begins the keys of spans, by tile.
const keySpan = "audit-span/"

// A span is what retention must know of the entries of a whole tile.
type span struct {
	Bytes uint64    `json:"bytes"`
	Last  time.Time `json:"last"` // the time of the last entry
}

// spansAtOnce is how many spans are measured before they are noted.
const spansAtOnce = 256

// excess returns up to which entry the log is not to be kept. Spans that are
// not known yet are measured, and noted.
func (l *Log) excess(ctx context.Context, keep Keep) (upTo uint64, err error) {
	var spans []span
	var from uint64
	for more := true; more; {
		missing := make(map[uint64]span)
		err := l.st.View(ctx, func(tx store.Tx) error {
			head, err := l.head(tx)
			if err != nil {
				return err
			}
			if from, err = droppedUpTo(tx); err != nil {
				return err
			}
			n := from/tileWidth + uint64(len(spans))
			for ; n+1 < head.Seq/tileWidth && len(missing) < spansAtOnce; n++ {
				s, known, err := readSpan(tx, n)
				if err := cmp.Or(err, ctx.Err()); err != nil {
					return err
				}
				if !known {
					missing[n] = s
				}
				spans = append(spans, s)
			}
			more = n+1 < head.Seq/tileWidth
			return nil
		})
		if err := cmp.Or(err, l.noteSpans(ctx, missing)); err != nil {
			return 0, err
		}
	}
	return from + surplus(spans, keep, time.Now())*tileWidth, nil
}

// surplus is how many of the oldest spans are not to be kept.
func surplus(spans []span, keep Keep, now time.Time) (n uint64) {
	var total uint64
	for _, s := range spans {
		total += s.Bytes
	}
	for _, s := range spans {
		old := keep.For > 0 && now.Sub(s.Last) > keep.For
		if !old && (keep.Bytes == 0 || total <= keep.Bytes) {
			break
		}
		total -= s.Bytes
		n++
	}
	return n
}

// readSpan reads what is noted of a tile's entries, or measures them.
func readSpan(tx store.Tx, n uint64) (s span, known bool, err error) {
	b, err := tx.Get(keySpan + store.Seq(n))
	if err == nil {
		return s, true, jsonv2.Unmarshal(b, &s)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return s, false, err
	}
	for seq := n*tileWidth + 1; seq <= (n+1)*tileWidth; seq++ {
		line, err := tx.Get(keyPrefix + store.Seq(seq))
		if errors.Is(err, store.ErrNotFound) {
			return s, false, &Fault{Seq: seq, What: "missing"}
		}
		if err != nil {
			return s, false, err
		}
		s.Bytes += uint64(len(line))
		if seq == (n+1)*tileWidth {
			e, err := decode(line)
			if err != nil {
				return s, false, &Fault{Seq: seq, What: "not an entry"}
			}
			s.Last = e.Time
		}
	}
	return s, false, nil
}

func (l *Log) noteSpans(ctx context.Context, spans map[uint64]span) error {
	if len(spans) == 0 {
		return nil
	}
	return l.st.UpdateSoon(ctx, func(tx store.Tx) error {
		for n, s := range spans {
			b, err := jsonv2.Marshal(s)
			if err != nil {
				return err
			}
			if err := tx.Set(keySpan+store.Seq(n), b); err != nil {
				return err
			}
		}
		return nil
	})
}

// droppedUpTo is the number of the last entry that was dropped, or 0.
func droppedUpTo(tx store.Tx) (uint64, error) {
	b, err := tx.Get(keyDropped)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := store.ParseSeq(string(b))
	if err != nil || n%tileWidth != 0 {
		return 0, &Fault{What: "what was dropped is noted as " + string(b)}
	}
	return n, nil
}

// dropped is a line of an export in place of entries that were dropped.
type dropped struct {
	Hashes []string `json:"dropped"` // theirs, in hex
	From   uint64   `json:"from"`    // the first one's number
}

// droppedLines calls fn with a line for each tile of entries that were dropped.
func droppedLines(tx store.Tx, fn func(line []byte) error) error {
	to, err := droppedUpTo(tx)
	if err != nil {
		return err
	}
	for n := range to / tileWidth {
		tile, err := readTile(tx, 0, n)
		if err != nil {
			return err
		}
		if tile == nil {
			return &Fault{Seq: n*tileWidth + 1, What: "missing: it was dropped, and its hash is not there"}
		}
		line, err := jsonv2.Marshal(dropped{hexes(tile), n*tileWidth + 1})
		if err != nil {
			return err
		}
		if err := fn(line); err != nil {
			return err
		}
	}
	return nil
}

func hexes(hashes []tlog.Hash) []string {
	out := make([]string, len(hashes))
	for i, h := range hashes {
		out[i] = hex.EncodeToString(h[:])
	}
	return out
}

// parseDropped reads a line in place of entries that were dropped. Another line
// is not ok.
func parseDropped(line []byte) (d dropped, ok bool) {
	if err := jsonv2.Unmarshal(line, &d, jsonv2.RejectUnknownMembers(true)); err != nil || len(d.Hashes) == 0 || len(d.Hashes) > tileWidth {
		return d, false
	}
	for _, h := range d.Hashes {
		if !isHash(h) {
			return d, false
		}
	}
	return d, true
}
