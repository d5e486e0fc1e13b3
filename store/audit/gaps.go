package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/store"
)

const (
	// keyMissing has the number of an entry, or of a tile, that [Log.CheckBehind] has missed.
	keyMissing = "audit-missing"
	// gapAtOnce is how many keys CheckBehind reads at once, and gapShare how much of one
	// processor it takes: one part of so many.
	gapAtOnce = 4096
	gapShare  = 5
)

// Bulk are the prefixes of most of a log's keys. A store need not check them before it is
// used: [Log.CheckBehind] finds out where one is missing.
func Bulk() []string { return []string{keyPrefix, keyTile} }

// CheckBehind looks for gaps in the log: entries and hashes that were lost, whatever took
// them. It reads all keys, slowly, and is for a goroutine of its own. Where one is missing
// it returns a [*Fault]; from then on nothing can be appended, and the log is not opened
// again until what is missing is back. The whole chain is for [Verify].
func (l *Log) CheckBehind(ctx context.Context) error {
	missing, err := l.firstGap(ctx, keyPrefix, func(head Head, dropped uint64) (first, end uint64) { return dropped + 1, head.Seq + 1 })
	if missing == "" && err == nil {
		missing, err = l.firstGap(ctx, keyTile+"0/", func(head Head, _ uint64) (first, end uint64) { return 0, head.Seq / tileWidth })
	}
	if missing == "" || err != nil {
		return err
	}
	fault := &Fault{What: missing + " is missing"}
	l.mu.Lock()
	l.broken = fmt.Errorf("%w: %w", store.ErrFailed, fault)
	l.mu.Unlock()
	noted := l.st.Update(ctx, func(tx store.Tx) error { return tx.Set(keyMissing, []byte(missing)) })
	return errors.Join(fault, noted)
}

// firstGap reads the numbered keys under prefix from first on, and returns the first that
// is not there before end. Both can grow meanwhile.
func (l *Log) firstGap(ctx context.Context, prefix string, bounds func(head Head, dropped uint64) (first, end uint64)) (missing string, err error) {
	next := uint64(0)
	for more := true; more; {
		began := time.Now()
		err := l.st.View(ctx, func(tx store.Tx) error {
			head, err := l.head(tx)
			if err != nil {
				return err
			}
			dropped, err := droppedUpTo(tx)
			if err != nil {
				return err
			}
			first, end := bounds(head, dropped)
			next = max(next, first)
			upTo := min(end, next+gapAtOnce)
			more = upTo < end
			for p, err := range tx.Scan(prefix, prefix+store.Seq(next)) {
				if err != nil {
					return err
				}
				if next >= upTo || p.Key != prefix+store.Seq(next) {
					break
				}
				next++
			}
			if next < upTo {
				missing = prefix + store.Seq(next)
			}
			return nil
		})
		if missing != "" || err != nil {
			return missing, err
		}
		select {
		case <-time.After(time.Since(began) * (gapShare - 1)):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "", nil
}

// checkMissing returns a fault where what was missed is not back.
func checkMissing(tx store.Tx) error {
	key, err := tx.Get(keyMissing)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.Get(string(key))
	if errors.Is(err, store.ErrNotFound) {
		return &Fault{What: "missing: " + string(key)}
	}
	return err
}
