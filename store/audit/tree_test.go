package audit

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdgate/holdgate/store"
)

// A memory is a transaction over a map, for trees that are too large to write
// entry by entry.
type memory map[string][]byte

func (m memory) Get(key string) ([]byte, error) {
	if v, ok := m[key]; ok {
		return slices.Clone(v), nil
	}
	return nil, store.ErrNotFound
}
func (m memory) Set(key string, v []byte) error { m[key] = v; return nil }
func (m memory) Delete(key string) error        { delete(m, key); return nil }
func (m memory) Scan(prefix, from string) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		for key, v := range m {
			if strings.HasPrefix(key, prefix) && key >= from && !yield(store.Pair{Key: key, Value: v}, nil) {
				return
			}
		}
	}
}

// The stored tree, read at sizes around whole tiles of every level, and the one
// that is made as entries come, have the root that another implementation
// computes.
func TestTheTreeIsThatOfAnotherImplementation(t *testing.T) {
	const entries = 2*tileWidth*tileWidth + 3*tileWidth + 5
	tx, l := memory{}, &Log{}
	other := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	var own frontier
	roots := map[uint64]tlog.Hash{}
	head := Head{}
	for seq := uint64(1); seq <= entries; seq++ {
		sum := sha256.Sum256([]byte(fmt.Sprint(seq)))
		next := Head{seq, fmt.Sprintf("%x", sum)}
		tx[keyPrefix+store.Seq(seq)] = fmt.Appendf(nil, `{"hash":%q}`, next.Hash)
		if err := l.grow(tx, head, next); err != nil {
			t.Fatal(err)
		}
		own.add(sum)
		if err := other.Append(rfc6962.DefaultHasher.HashLeaf(sum[:]), nil); err != nil {
			t.Fatal(err)
		}
		head = next
		if n := seq % tileWidth; n > 2 && n < tileWidth-1 && seq != entries {
			continue
		}
		want, err := other.GetRootHash(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := own.root(); string(got[:]) != string(want) {
			t.Fatalf("the root of %d entries is %x, want %x", seq, got, want)
		}
		if seq < 600 || seq > entries-300 || seq%(tileWidth*tileWidth) < 2 {
			roots[seq] = own.root()
		}
	}
	check := func(t *testing.T, every uint64) {
		for size, want := range roots {
			if size%every != 0 {
				continue
			}
			if got, err := newTree(tx, size).root(); err != nil || got != want {
				t.Errorf("the stored root of %d entries is %s, want %s: %v", size, got, want, err)
			}
		}
	}
	t.Run("stored", func(t *testing.T) { check(t, 1) })
	for key := range tx {
		if strings.HasPrefix(key, keyTile+"1/") || strings.HasPrefix(key, keyTile+"2/") || key == tileKey(0, 3) {
			delete(tx, key)
		}
	}
	t.Run("where tiles are missing", func(t *testing.T) { check(t, tileWidth*tileWidth) })
}

// A scratch is a transaction that is thrown away.
type scratch struct {
	memory
	base memory
}

func (s scratch) Get(key string) ([]byte, error) {
	if v, ok := s.memory[key]; ok {
		return v, nil
	}
	return s.base.Get(key)
}

// A transaction that came to nothing, and others in between, leave the tree of
// what was kept.
func TestTheTreeOfWhatWasKept(t *testing.T) {
	tx, l := memory{}, &Log{}
	var own frontier
	head := Head{}
	for seq := uint64(1); seq <= 3*tileWidth; seq++ {
		for _, lost := range []string{"a", "b"} {
			sum := sha256.Sum256(fmt.Append(nil, lost, seq))
			over, one := scratch{memory{}, tx}, Head{seq, fmt.Sprintf("%x", sum)}
			if err := l.grow(over, head, one); err != nil {
				t.Fatal(err)
			}
			if seq%7 == 0 { // and one more behind it
				if err := l.grow(over, one, Head{seq + 1, fmt.Sprintf("%x", sha256.Sum256(nil))}); err != nil {
					t.Fatal(err)
				}
			}
		}
		sum := sha256.Sum256(fmt.Append(nil, seq))
		next := Head{seq, fmt.Sprintf("%x", sum)}
		tx[keyPrefix+store.Seq(seq)] = fmt.Appendf(nil, `{"hash":%q}`, next.Hash)
		if err := l.grow(tx, head, next); err != nil {
			t.Fatal(err)
		}
		own.add(sum)
		head = next
	}
	if got, err := newTree(tx, head.Seq).root(); err != nil || got != own.root() {
		t.Errorf("the root is %s, want %s: %v", got, own.root(), err)
	}
}
