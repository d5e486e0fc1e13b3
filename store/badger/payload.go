package badger

import (
	"encoding/binary"
	"errors"

	badgerdb "github.com/dgraph-io/badger/v4"
)

// A record of the log holds one of Badger's transactions; its number is the
// transaction's version. Its payload is the number of the newest memtable's
// file after the transaction before it, and then for each entry its mark
// (metaPieces, metaDeleted or 0), the lengths of key and value, key and value.
// Numbers are varints.

// appendPayload appends the payload of a transaction to b.
func appendPayload(b []byte, fid int, entries []*badgerdb.Entry) []byte {
	b = binary.AppendUvarint(b, uint64(fid))
	for _, e := range entries {
		b = append(b, e.UserMeta)
		b = binary.AppendUvarint(b, uint64(len(e.Key)))
		b = binary.AppendUvarint(b, uint64(len(e.Value)))
		b = append(append(b, e.Key...), e.Value...)
	}
	return b
}

var errPayload = errors.New("what it holds is no transaction")

// payloadFile returns the file that a payload names, and its entries, encoded.
func payloadFile(b []byte) (fid int, entries []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > 1<<31 {
		return 0, nil, errPayload
	}
	return int(n), b[size:], nil
}

// nextEntry returns the first of the encoded entries, and the others. The entry
// shares their memory.
func nextEntry(b []byte) (e *badgerdb.Entry, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errPayload
	}
	meta := b[0]
	b = b[1:]
	var lengths [2]uint64
	for i := range lengths {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, nil, errPayload
		}
		lengths[i], b = n, b[size:]
	}
	key, value := lengths[0], lengths[1]
	if key == 0 || key > uint64(len(b)) || value > uint64(len(b))-key {
		return nil, nil, errPayload
	}
	return badgerdb.NewEntry(b[:key:key], b[key:key+value:key+value]).WithMeta(meta), b[key+value:], nil
}

// decodeEntries returns all of the encoded entries.
func decodeEntries(b []byte) (entries []*badgerdb.Entry, err error) {
	for len(b) > 0 {
		var e *badgerdb.Entry
		if e, b, err = nextEntry(b); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
