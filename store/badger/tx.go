package badger

import (
	"errors"
	"fmt"
	"iter"

	badgerdb "github.com/dgraph-io/badger/v4"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/serial"
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

// changeSize is what the change counts towards serial.MaxBatch.
func changeSize(key string, c serial.Change) int {
	if len(c.Value) > maxInline {
		return len(key) + refSize
	}
	return len(key) + len(c.Value)
}
