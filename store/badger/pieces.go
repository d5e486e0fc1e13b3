package badger

import (
	"encoding/binary"
	"errors"
	"fmt"

	badgerdb "github.com/dgraph-io/badger/v4"
	"github.com/holdgate/holdgate/store/serial"
)

// A value over maxInline is kept in pieces. The pair then holds a ref, marked
// by metaPieces. Under the ref's id, a number that is never used again, there
// are an owner record (the pair's key) and the pieces. They are committed
// before the pair: until then no reader knows of them, and where a crash comes
// between, Open finds an owner that does not name the id, and removes them.
const (
	maxInline  = 256 << 10
	pieceSize  = 256 << 10
	metaPieces = 1

	keyOwner = 'o'
	keyPiece = 'p'
)

// ref names the pieces of one value.
type ref struct {
	id    uint64
	count uint32
	size  uint64
}

// refSize is the length of an encoded ref.
const refSize = 8 + 4 + 8

func (r ref) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, r.id)
	b = binary.BigEndian.AppendUint32(b, r.count)
	return binary.BigEndian.AppendUint64(b, r.size)
}

func decodeRef(b []byte) (ref, error) {
	if len(b) != refSize {
		return ref{}, fmt.Errorf("reference to pieces has %d bytes, want %d", len(b), refSize)
	}
	return ref{
		id:    binary.BigEndian.Uint64(b),
		count: binary.BigEndian.Uint32(b[8:]),
		size:  binary.BigEndian.Uint64(b[12:]),
	}, nil
}

func (r ref) ownerKey() []byte {
	return binary.BigEndian.AppendUint64([]byte{keyOwner}, r.id)
}

func (r ref) pieceKey(n uint32) []byte {
	b := binary.BigEndian.AppendUint64([]byte{keyPiece}, r.id)
	return binary.BigEndian.AppendUint32(b, n)
}

// joinPieces returns the value that the encoded ref names.
func (r reader) joinPieces(key string, encoded []byte) ([]byte, error) {
	f, err := decodeRef(encoded)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", key, err)
	}
	var value []byte
	for n := range f.count {
		item, err := r.txn.Get(f.pieceKey(n))
		if err != nil {
			return nil, fmt.Errorf("reading piece %d of %q: %w", n, key, err)
		}
		err = item.Value(func(b []byte) error {
			value = append(value, b...)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading piece %d of %q: %w", n, key, err)
		}
	}
	if uint64(len(value)) != f.size {
		return nil, fmt.Errorf("reading %q: its pieces have %d bytes, want %d", key, len(value), f.size)
	}
	return value, nil
}

// writeAhead commits the pieces of a value, in as many transactions as it
// takes.
func (d *db) writeAhead(key string, value []byte) (ref, error) {
	f := ref{id: d.version + 1, size: uint64(len(value))}
	entries := []*badgerdb.Entry{badgerdb.NewEntry(f.ownerKey(), []byte(key))}
	size := len(key)
	for len(value) > 0 {
		n := min(len(value), pieceSize)
		if size+n > serial.MaxBatch {
			if err := d.commitEntries(entries, nil); err != nil {
				return ref{}, err
			}
			entries, size = nil, 0
		}
		entries = append(entries, badgerdb.NewEntry(f.pieceKey(f.count), value[:n]))
		size += n
		value = value[n:]
		f.count++
	}
	return f, d.commitEntries(entries, nil)
}

// removal returns the entries that delete a value's pieces.
func (r ref) removal() []*badgerdb.Entry {
	list := []*badgerdb.Entry{tombstone(r.ownerKey())}
	for n := range r.count {
		list = append(list, tombstone(r.pieceKey(n)))
	}
	return list
}

// takeUpPieces reads which keys have their values in pieces, and removes the
// pieces that no pair names.
func (d *db) takeUpPieces() error {
	d.large = make(map[string]ref)
	r := newReader(d.badger, d.version)
	defer r.close()
	o := badgerdb.DefaultIteratorOptions
	o.PrefetchValues = false
	o.Prefix = []byte{keyOwner}
	it := r.txn.NewIterator(o)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		id := binary.BigEndian.Uint64(it.Item().Key()[1:])
		owner, err := it.Item().ValueCopy(nil)
		if err != nil {
			return fmt.Errorf("reading the owner of pieces %d: %w", id, err)
		}
		f, named, err := r.refOf(string(owner))
		if err != nil {
			return err
		}
		if named && f.id == id {
			d.large[string(owner)] = f
			continue
		}
		if err := d.removeOrphans(r, id); err != nil {
			return err
		}
	}
	return nil
}

// refOf returns the ref that the pair of a key holds, where it holds one.
func (r reader) refOf(key string) (ref, bool, error) {
	item, err := r.txn.Get(pairKey(key))
	if errors.Is(err, badgerdb.ErrKeyNotFound) {
		return ref{}, false, nil
	}
	if err != nil {
		return ref{}, false, fmt.Errorf("reading %q: %w", key, err)
	}
	if item.UserMeta() != metaPieces {
		return ref{}, false, nil
	}
	b, err := item.ValueCopy(nil)
	if err != nil {
		return ref{}, false, fmt.Errorf("reading %q: %w", key, err)
	}
	f, err := decodeRef(b)
	return f, err == nil, err
}

// removeOrphans deletes the pieces that were written ahead under id.
func (d *db) removeOrphans(r reader, id uint64) error {
	f := ref{id: id}
	for {
		_, err := r.txn.Get(f.pieceKey(f.count))
		if errors.Is(err, badgerdb.ErrKeyNotFound) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading pieces %d: %w", id, err)
		}
		f.count++
	}
	return d.commitEntries(f.removal(), nil)
}
