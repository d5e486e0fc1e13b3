package badger

import (
	"encoding/binary"
	"strconv"

	badgerdb "github.com/dgraph-io/badger/v4"
)

// fill is how many bytes are used of a memtable's arena and of its file. Badger
// begins a new one at the start of a commit that finds either at memTableSize.
// What the file takes is known exactly. In the arena the height of each entry's
// tower is random, and counted as what is expected; fillSlack is far beyond
// what chance adds up to in a memtable full of the smallest entries (standard
// deviation 2 KiB).
type fill struct{ arena, file int }

const (
	fillSlack = 64 << 10

	versionSize = 8 // what Badger adds to each key

	// arenaNode is what a node takes beside its key and value: its fixed part,
	// its tower's expected height of 1.5, padding; two marks and an expiry
	// with the value.
	arenaNode = 16 + 6 + 7 + 3
	// fileEntry is what an entry takes beside its key, its value and the
	// lengths of both: two marks, an expiry, a checksum.
	fileEntry = 2 + 1 + 4
	// endKey is the length of the key of the entry that ends a transaction in
	// the file; its value is the version in decimal.
	endKey = len("!badger!txn")
)

// entryFill is what one entry takes.
func entryFill(e *badgerdb.Entry) fill {
	key, value := len(e.Key)+versionSize, len(e.Value)
	return fill{arena: arenaNode + key + value, file: logged(key, value)}
}

// endFill is what the end of a transaction takes.
func endFill(version uint64) fill {
	return fill{file: logged(endKey+versionSize, len(strconv.FormatUint(version, 10)))}
}

// logged is what an entry takes in the file.
func logged(key, value int) int {
	return fileEntry + uvarintLen(key) + uvarintLen(value) + key + value
}

func uvarintLen(n int) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutUvarint(b[:], uint64(n))
}

func (f fill) plus(g fill) fill { return fill{f.arena + g.arena, f.file + g.file} }

// nearEnd reports whether a commit may begin a new memtable once n more bytes
// are used.
func (f fill) nearEnd(n int) bool { return max(f.arena, f.file)+n >= memTableSize-fillSlack }
