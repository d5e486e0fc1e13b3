package audit_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Two that append in turns read of each other's entries what they do not know yet, and
// make the tree that one alone would have made.
func TestTwoAppendInTurns(t *testing.T) {
	st := openStore(t, t.TempDir())
	c := &counting{Store: st}
	logs := []*audit.Log{openLog(t, c), openLog(t, c)}
	for _, l := range logs {
		write(t, l, 100)
	}
	c.reads = 0
	const turns, each = 60, 10
	for turn := range turns {
		write(t, logs[turn%2], each)
	}
	if most := turns * each * 4; c.reads > most {
		t.Errorf("%d entries took %d reads, want at most %d", turns*each, c.reads, most)
	}
	for turn := range turns { // one begins an entry that comes to nothing
		fails := errors.New("it fails")
		err := st.Update(t.Context(), func(tx store.Tx) error {
			_, err := logs[(turn+1)%2].Append(tx, entry(turn))
			return cmp.Or(err, fails)
		})
		if !errors.Is(err, fails) {
			t.Fatal(err)
		}
		write(t, logs[turn%2], each)
	}
	fresh := openLog(t, st)
	if _, err := fresh.Verify(t.Context(), audit.VerifyOptions{}); err != nil {
		t.Error(err)
	}
	n := uint64(200 + 2*turns*each)
	for _, l := range append(logs, fresh) {
		if root := checkpoint(t, l, n).Root; root != checkpoint(t, fresh, n).Root {
			t.Errorf("the root is %v, want %v", root, checkpoint(t, fresh, n).Root)
		}
	}
}

// counting counts what updates read.
type counting struct {
	store.Store
	reads int
}

func (c *counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	return c.Store.Update(ctx, func(tx store.Tx) error { return fn(countingTx{tx, c}) })
}

func (c *counting) UpdateSoon(ctx context.Context, fn func(store.Tx) error) error {
	return c.Store.UpdateSoon(ctx, func(tx store.Tx) error { return fn(countingTx{tx, c}) })
}

type countingTx struct {
	store.Tx
	c *counting
}

func (t countingTx) Get(key string) ([]byte, error) {
	t.c.reads++
	return t.Tx.Get(key)
}

func (t countingTx) Scan(prefix, from string) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		for p, err := range t.Tx.Scan(prefix, from) {
			if t.c.reads++; !yield(p, err) {
				return
			}
		}
	}
}
