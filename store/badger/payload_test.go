package badger

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	badgerdb "github.com/dgraph-io/badger/v4"
)

// Whatever a record holds, decoding it ends, makes up nothing, and what was
// decoded is the same once it was encoded and decoded again.
func FuzzPayload(f *testing.F) {
	whole := appendPayload(nil, 7, []*badgerdb.Entry{
		pair("a", "1"), pair("empty", ""), tombstone(pairKey("gone")),
		badgerdb.NewEntry(pairKey("large"), ref{id: 1, count: 2, size: 3}.encode()).WithMeta(metaPieces),
	})
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(whole[:1])
	f.Add([]byte{})
	f.Add([]byte{0x80, 0x80})            // a number without its end
	f.Add([]byte{1, 0, 0, 0})            // an entry without a key
	f.Add([]byte{1, 0, 1, 0xff, 1, 'k'}) // a value longer than what there is
	f.Add(append(binary.AppendUvarint([]byte{1, 0}, math.MaxUint64), 2, 'k', 'v'))
	f.Add(append(binary.AppendUvarint([]byte{1, 0, 1}, math.MaxUint64), 'k', 'v'))
	f.Add(binary.AppendUvarint(nil, math.MaxUint64))
	f.Fuzz(func(t *testing.T, b []byte) {
		fid, rest, err := payloadFile(b)
		if err != nil {
			return
		}
		entries, err := decodeEntries(rest)
		if err != nil {
			return
		}
		size := 0
		for _, e := range entries {
			if len(e.Key) == 0 {
				t.Fatal("an entry has no key")
			}
			size += len(e.Key) + len(e.Value)
		}
		if size > len(b) {
			t.Fatalf("%d bytes hold entries with %d", len(b), size)
		}
		fid2, rest, err := payloadFile(appendPayload(nil, fid, entries))
		if err != nil || fid2 != fid {
			t.Fatalf("file %d becomes %d, %v", fid, fid2, err)
		}
		again, err := decodeEntries(rest)
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%d entries become %d, %v", len(entries), len(again), err)
		}
		for i, e := range entries {
			if a := again[i]; !bytes.Equal(a.Key, e.Key) || !bytes.Equal(a.Value, e.Value) || a.UserMeta != e.UserMeta {
				t.Errorf("entry %d becomes %v, was %v", i, a, e)
			}
		}
	})
}
