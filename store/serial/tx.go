package serial

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/store"
)

// A Reader reads what is stored, at one moment.
type Reader interface {
	Get(key string) ([]byte, error)
	Scan(prefix, from string) iter.Seq2[store.Pair, error]
}

// View is a reader that refuses to write.
type View struct{ Reader }

var errReadOnly = errors.New("writing in a View")

// Set refuses.
func (View) Set(string, []byte) error { return errReadOnly }

// Delete refuses.
func (View) Delete(string) error { return errReadOnly }

// A Change is what a key becomes.
type Change struct {
	Value   []byte
	Deleted bool
}

// Tx is a function's view: its own changes over those of the batch so far over
// what is stored.
type Tx struct {
	// Own is what the function has set and deleted.
	Own map[string]Change

	base  Reader
	batch map[string]Change
	ended bool
}

// Over returns a transaction over a batch's changes so far, which it does not
// alter, over what is stored.
func Over(base Reader, batch map[string]Change) *Tx {
	return &Tx{Own: make(map[string]Change), base: base, batch: batch}
}

var (
	_ store.Tx = View{}
	_ store.Tx = (*Tx)(nil)

	errEnded = errors.New("the transaction has ended")
)

// Get implements [store.Tx].
func (t *Tx) Get(key string) ([]byte, error) {
	if t.ended {
		return nil, errEnded
	}
	c, ok := t.Own[key]
	if !ok {
		c, ok = t.batch[key]
	}
	switch {
	case !ok:
		return t.base.Get(key)
	case c.Deleted:
		return nil, store.ErrNotFound
	}
	return append([]byte{}, c.Value...), nil
}

// Set implements [store.Tx].
func (t *Tx) Set(key string, value []byte) error {
	return t.put(key, Change{Value: value})
}

// Delete implements [store.Tx].
func (t *Tx) Delete(key string) error {
	return t.put(key, Change{Deleted: true})
}

// What one function may write: [store.ErrTooLarge].
const (
	MaxBatch      = 2 << 20   // bytes of keys and of values up to MaxCounted
	MaxBatchCount = 20_000    // keys
	MaxCounted    = 256 << 10 // bytes of the largest value that counts
)

// MaxKey is the length of the longest key, in bytes.
const MaxKey = 32 << 10

func (t *Tx) put(key string, c Change) error {
	switch {
	case t.ended:
		return errEnded
	case key == "" || len(key) > MaxKey:
		return fmt.Errorf("key has %d bytes, want 1 to %d", len(key), MaxKey)
	}
	t.Own[key] = c
	return nil
}

// Scan merges the stored pairs with the changes as they are when the scan
// begins; changes made while it runs are not seen by it.
func (t *Tx) Scan(prefix, from string) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		if t.ended {
			yield(store.Pair{}, errEnded)
			return
		}
		changes := t.changes(prefix, from)
		for p, err := range t.base.Scan(prefix, from) {
			if err != nil {
				yield(p, err)
				return
			}
			for len(changes) > 0 && changes[0].key < p.Key {
				if !changes[0].yield(yield) {
					return
				}
				changes = changes[1:]
			}
			if len(changes) > 0 && changes[0].key == p.Key {
				continue // the change takes its place
			}
			if !yield(p, nil) {
				return
			}
		}
		for _, c := range changes {
			if !c.yield(yield) {
				return
			}
		}
	}
}

// keyed is a change with its key.
type keyed struct {
	key string
	Change
}

func (k keyed) yield(yield func(store.Pair, error) bool) bool {
	return k.Deleted || yield(store.Pair{Key: k.key, Value: bytes.Clone(k.Value)}, nil)
}

// changes returns the changes in the range of a scan, by key.
func (t *Tx) changes(prefix, from string) []keyed {
	var list []keyed
	in := func(key string) bool { return key >= from && strings.HasPrefix(key, prefix) }
	for key, c := range t.Own {
		if in(key) {
			list = append(list, keyed{key, c})
		}
	}
	for key, c := range t.batch {
		if _, hidden := t.Own[key]; !hidden && in(key) {
			list = append(list, keyed{key, c})
		}
	}
	slices.SortFunc(list, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	return list
}
