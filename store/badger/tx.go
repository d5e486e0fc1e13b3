package badger

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	badgerdb "github.com/dgraph-io/badger/v4"

	"github.com/holdgate/holdgate/store"
)

// Keys of pairs begin with keyPair in Badger, so that pieces of large values
// can live beside them.
const keyPair = 'k'

func pairKey(key string) []byte {
	b := make([]byte, 0, 1+len(key))
	return append(append(b, keyPair), key...)
}

// reader reads Badger at one version.
type reader struct {
	txn *badgerdb.Txn
}

func newReader(b *badgerdb.DB, version uint64) reader {
	return reader{b.NewTransactionAt(version, false)}
}

func (r reader) close() { r.txn.Discard() }

// Get returns the value of a key, or [store.ErrNotFound].
func (r reader) Get(key string) ([]byte, error) {
	item, err := r.txn.Get(pairKey(key))
	if errors.Is(err, badgerdb.ErrKeyNotFound) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", key, err)
	}
	return r.value(key, item)
}

func (r reader) value(key string, item *badgerdb.Item) ([]byte, error) {
	v, err := item.ValueCopy(nil)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", key, err)
	}
	if item.UserMeta() == metaPieces {
		return r.joinPieces(key, v)
	}
	if v == nil {
		v = []byte{}
	}
	return v, nil
}

// Scan yields the pairs under prefix from the given key on, in order.
func (r reader) Scan(prefix, from string) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		o := badgerdb.DefaultIteratorOptions
		o.PrefetchValues = false
		o.Prefix = pairKey(prefix)
		it := r.txn.NewIterator(o)
		defer it.Close()
		for it.Seek(pairKey(max(prefix, from))); it.Valid(); it.Next() {
			key := string(it.Item().Key()[1:])
			v, err := r.value(key, it.Item())
			if !yield(store.Pair{Key: key, Value: v}, err) || err != nil {
				return
			}
		}
	}
}

// viewTx is a reader that refuses to write.
type viewTx struct{ reader }

var errReadOnly = errors.New("writing in a View")

func (viewTx) Set(string, []byte) error { return errReadOnly }
func (viewTx) Delete(string) error      { return errReadOnly }

// change is what a key becomes.
type change struct {
	value   []byte
	deleted bool
}

// size is what the change counts towards maxBatch.
func (c change) size(key string) int {
	if len(c.value) > maxInline {
		return len(key) + refSize
	}
	return len(key) + len(c.value)
}

// updateTx is a function's view: its own changes over those of the batch so
// far over Badger.
type updateTx struct {
	base  reader
	batch map[string]change
	own   map[string]change
	ended bool
}

var (
	_ store.Tx = viewTx{}
	_ store.Tx = (*updateTx)(nil)

	errEnded = errors.New("the transaction has ended")
)

func (t *updateTx) Get(key string) ([]byte, error) {
	if t.ended {
		return nil, errEnded
	}
	c, ok := t.own[key]
	if !ok {
		c, ok = t.batch[key]
	}
	switch {
	case !ok:
		return t.base.Get(key)
	case c.deleted:
		return nil, store.ErrNotFound
	}
	return append([]byte{}, c.value...), nil
}

func (t *updateTx) Set(key string, value []byte) error {
	return t.put(key, change{value: value})
}

func (t *updateTx) Delete(key string) error {
	return t.put(key, change{deleted: true})
}

// maxKey is the length of the longest key, in bytes.
const maxKey = 32 << 10

func (t *updateTx) put(key string, c change) error {
	switch {
	case t.ended:
		return errEnded
	case key == "" || len(key) > maxKey:
		return fmt.Errorf("key has %d bytes, want 1 to %d", len(key), maxKey)
	}
	t.own[key] = c
	return nil
}

// Scan merges the pairs in Badger with the changes as they are when the scan
// begins; changes made while it runs are not seen by it.
func (t *updateTx) Scan(prefix, from string) iter.Seq2[store.Pair, error] {
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
	change
}

func (k keyed) yield(yield func(store.Pair, error) bool) bool {
	return k.deleted || yield(store.Pair{Key: k.key, Value: bytes.Clone(k.value)}, nil)
}

// changes returns the changes in the range of a scan, by key.
func (t *updateTx) changes(prefix, from string) []keyed {
	var list []keyed
	in := func(key string) bool { return key >= from && strings.HasPrefix(key, prefix) }
	for key, c := range t.own {
		if in(key) {
			list = append(list, keyed{key, c})
		}
	}
	for key, c := range t.batch {
		if _, hidden := t.own[key]; !hidden && in(key) {
			list = append(list, keyed{key, c})
		}
	}
	slices.SortFunc(list, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	return list
}
