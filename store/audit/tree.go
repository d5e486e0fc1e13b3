package audit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdgate/holdgate/store"
)

// The log's entries are the leaves of a Merkle tree (RFC 6962, section 2.1):
// the data of leaf n is the hash, as 32 bytes, of the entry with the number
// n+1. The tree is a function of the entries; it is stored so that it need not be
// made of all of them each time, and so that it outlives what retention drops.
//
// It is stored in tiles of 256 hashes: those of level 0 hold entries' hashes and
// are written with the entry that fills them; those of level k hold the roots of
// whole tiles of level k-1 and grow by one with each. What is behind the last
// whole tile is in the entries themselves.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight

	keyTile = "audit-tile/"
)

func tileKey(level int, n uint64) string {
	return keyTile + strconv.Itoa(level) + "/" + store.Seq(n)
}

// An edge is the hashes of the entries behind a whole tile, as far as this log knows
// them.
type edge struct {
	hashes [tileWidth]tlog.Hash
	known  uint64
	tile   uint64 // that the entries are to fill
}

// knows says whether the edge holds the entries behind the last whole tile up
// to head. An entry's hash stands for all before it.
func (g *edge) knows(head Head, last tlog.Hash) bool {
	n := head.Seq % tileWidth
	return n == 0 || n <= g.known && g.hashes[n-1] == last
}

// grow adds an entry to the tree behind head. Mostly that is a note in memory:
// only the entry that fills a tile writes.
func (l *Log) grow(tx store.Tx, head, entry Head) error {
	last, err := rawHash(head.Hash)
	if err != nil {
		return err
	}
	added, err := rawHash(entry.Hash)
	if err != nil {
		return err
	}
	l.edgeMu.Lock()
	defer l.edgeMu.Unlock()
	if !l.edge.knows(head, last) {
		if err := l.readEdge(tx, head); err != nil {
			return err
		}
	}
	n := head.Seq % tileWidth
	l.edge.hashes[n], l.edge.known, l.edge.tile = added, n+1, head.Seq/tileWidth
	if n+1 < tileWidth {
		return nil
	}
	return putTile(tx, head.Seq/tileWidth, l.edge.hashes[:])
}

// readEdge reads the hashes behind the last whole tile from the entries: those that
// another member has appended, where the ones before are known.
func (l *Log) readEdge(tx store.Tx, head Head) error {
	known, n := l.edge.known, head.Seq%tileWidth
	if l.edge.tile != head.Seq/tileWidth || known >= n {
		known = 0
	}
	l.edge.known = 0
	whole := head.Seq - n
	hashes, before, err := hashesFrom(tx, whole+known+1, head.Seq)
	if err == nil && known > 0 && before != l.edge.hashes[known-1] { // that was of an entry which came to nothing
		known = 0
		hashes, _, err = hashesFrom(tx, whole+1, head.Seq)
	}
	if err != nil {
		return err
	}
	copy(l.edge.hashes[known:], hashes)
	l.edge.known = n
	return nil
}

// putTile writes the tile n of level 0, and its root into those above.
func putTile(tx store.Tx, n uint64, hashes []tlog.Hash) error {
	if err := tx.Set(tileKey(0, n), flat(hashes)); err != nil {
		return err
	}
	root := subtree(leaves(hashes))
	for level := 1; ; level++ {
		at := n % tileWidth
		n /= tileWidth
		tile, err := readTile(tx, level, n)
		if err != nil {
			return err
		}
		if uint64(len(tile)) < at {
			return &Fault{What: fmt.Sprintf("the tree's tile %d of level %d has %d hashes, want %d", n, level, len(tile), at)}
		}
		tile = append(tile[:at], root)
		if err := tx.Set(tileKey(level, n), flat(tile)); err != nil || len(tile) < tileWidth {
			return err
		}
		root = subtree(tile)
	}
}

// plant makes the tiles of a log that was written without them, or without
// all. Each call writes some; it says whether there may be more to do.
func (l *Log) plant(tx store.Tx) (more bool, err error) {
	const atOnce = 64 // tiles, of 8 KiB each
	head, err := l.head(tx)
	if err != nil {
		return false, err
	}
	whole := head.Seq / tileWidth
	if whole == 0 {
		return false, nil
	}
	if tile, err := readTile(tx, 0, whole-1); err != nil || tile != nil {
		return false, err
	}
	first := uint64(0)
	for ; first < whole; first++ {
		if tile, err := readTile(tx, 0, first); err != nil {
			return false, err
		} else if tile == nil {
			break
		}
	}
	for n := first; n < min(whole, first+atOnce); n++ {
		hashes, err := entryHashes(tx, n*tileWidth+1, (n+1)*tileWidth)
		if err != nil {
			return false, err
		}
		if err := putTile(tx, n, hashes); err != nil {
			return false, err
		}
	}
	return true, nil
}

// readTile returns a tile's hashes, none where it is not stored.
func readTile(tx store.Tx, level int, n uint64) ([]tlog.Hash, error) {
	b, err := tx.Get(tileKey(level, n))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b)%tlog.HashSize != 0 || len(b) > tileWidth*tlog.HashSize || level == 0 && len(b) != tileWidth*tlog.HashSize {
		return nil, &Fault{What: fmt.Sprintf("the tree's tile %d of level %d has %d bytes", n, level, len(b))}
	}
	hashes := make([]tlog.Hash, len(b)/tlog.HashSize)
	for i := range hashes {
		copy(hashes[i][:], b[i*tlog.HashSize:])
	}
	return hashes, nil
}

// entryHashes reads the hashes of the entries from first to last, which must be
// there.
func entryHashes(tx store.Tx, first, last uint64) ([]tlog.Hash, error) {
	var hashes []tlog.Hash
	for seq := first; seq <= last; seq++ {
		line, err := tx.Get(keyPrefix + store.Seq(seq))
		if errors.Is(err, store.ErrNotFound) {
			return nil, &Fault{Seq: seq, What: "missing"}
		}
		if err != nil {
			return nil, err
		}
		h, _, err := linked(seq, line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return hashes, nil
}

// hashesFrom is entryHashes by one scan, with the hash of the entry before the first.
func hashesFrom(tx store.Tx, first, last uint64) (hashes []tlog.Hash, before tlog.Hash, err error) {
	seq := first
	for p, err := range tx.Scan(keyPrefix, keyPrefix+store.Seq(first)) {
		if err != nil {
			return nil, before, err
		}
		if p.Key != keyPrefix+store.Seq(seq) {
			break
		}
		h, prev, err := linked(seq, p.Value)
		if err != nil {
			return nil, before, err
		}
		if seq == first {
			before = prev
		}
		if hashes = append(hashes, h); seq == last {
			return hashes, before, nil
		}
		seq++
	}
	return nil, before, &Fault{Seq: seq, What: "missing"}
}

// linked reads the hash of an entry's line, and that of the entry before.
func linked(seq uint64, line []byte) (own, before tlog.Hash, err error) {
	var m struct {
		Hash     string `json:"hash"`
		PrevHash string `json:"prev_hash"`
	}
	if err := jsonv2.Unmarshal(line, &m); err != nil {
		return own, before, &Fault{Seq: seq, What: "not an entry"}
	}
	if own, err = rawHash(m.Hash); err == nil {
		before, err = rawHash(m.PrevHash)
	}
	if err != nil {
		return own, before, &Fault{Seq: seq, What: err.Error()}
	}
	return own, before, nil
}

// A tree reads the nodes of the tree over the first entries. It is a
// [tlog.HashReader], for one goroutine.
type tree struct {
	tx    store.Tx
	size  uint64
	tiles map[string][]tlog.Hash
}

func newTree(tx store.Tx, size uint64) *tree {
	return &tree{tx, size, make(map[string][]tlog.Hash)}
}

// root is the root of the tree, as in RFC 6962.
func (t *tree) root() (tlog.Hash, error) { return tlog.TreeHash(int64(t.size), t) }

// ReadHashes returns stored hashes by tlog's numbers.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		first, count := uint64(n)<<(level%tileHeight), uint64(1)<<(level%tileHeight)
		tile, err := t.tile(level/tileHeight, first/tileWidth)
		if err != nil {
			return nil, err
		}
		if first%tileWidth+count > uint64(len(tile)) {
			return nil, fmt.Errorf("the tree of %d entries has no hash %d of level %d", t.size, n, level)
		}
		hashes[i] = subtree(tile[first%tileWidth:][:count])
	}
	return hashes, nil
}

// tile returns the nodes of a tile as far as they are in the tree. What is not
// stored is made of the level below.
func (t *tree) tile(level int, n uint64) ([]tlog.Hash, error) {
	key := tileKey(level, n)
	if tile, ok := t.tiles[key]; ok {
		return tile, nil
	}
	tile, err := readTile(t.tx, level, n)
	if err != nil {
		return nil, err
	}
	width := min((t.size>>(tileHeight*level))-min(n*tileWidth, t.size>>(tileHeight*level)), tileWidth)
	switch {
	case uint64(len(tile)) >= width && level > 0:
		tile = tile[:width]
	case level > 0:
		tile = nil
		for i := range width {
			below, err := t.tile(level-1, n*tileWidth+i)
			if err != nil {
				return nil, err
			}
			tile = append(tile, subtree(below))
		}
	case tile != nil:
		tile = leaves(tile[:width])
	default:
		if tile, err = entryHashes(t.tx, n*tileWidth+1, n*tileWidth+width); err != nil {
			return nil, err
		}
		tile = leaves(tile)
	}
	t.tiles[key] = tile
	return tile, nil
}

// leaves are the leaf hashes of entries' hashes.
func leaves(entries []tlog.Hash) []tlog.Hash {
	out := make([]tlog.Hash, len(entries))
	for i, h := range entries {
		out[i] = tlog.RecordHash(h[:])
	}
	return out
}

// subtree is the root of a whole tree over nodes, whose number is a power of
// two.
func subtree(nodes []tlog.Hash) tlog.Hash {
	if len(nodes) == 1 {
		return nodes[0]
	}
	half := len(nodes) / 2
	return tlog.NodeHash(subtree(nodes[:half]), subtree(nodes[half:]))
}

// A frontier makes the tree of entries as they come, and keeps the roots of its
// whole subtrees, the largest first. The zero value is ready.
type frontier struct {
	size  uint64
	roots []tlog.Hash
}

func (f *frontier) add(entry tlog.Hash) {
	h := tlog.RecordHash(entry[:])
	for n := f.size; n&1 == 1; n >>= 1 {
		last := len(f.roots) - 1
		h = tlog.NodeHash(f.roots[last], h)
		f.roots = f.roots[:last]
	}
	f.roots = append(f.roots, h)
	f.size++
}

// root is the root of the tree so far.
func (f *frontier) root() tlog.Hash {
	if f.size == 0 {
		h, _ := tlog.TreeHash(0, nil) // of nothing, without an error
		return h
	}
	h := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		h = tlog.NodeHash(f.roots[i], h)
	}
	return h
}

// rawHash is a hash of 64 hex digits; of an empty one, that before the first
// entry, it is zero.
func rawHash(s string) (h tlog.Hash, err error) {
	if s != "" && !isHash(s) {
		return h, fmt.Errorf("%.80q is no hash", s)
	}
	_, err = hex.Decode(h[:], []byte(s))
	return h, err
}

func flat(hashes []tlog.Hash) []byte {
	b := make([]byte, 0, len(hashes)*tlog.HashSize)
	for _, h := range hashes {
		b = append(b, h[:]...)
	}
	return b
}
