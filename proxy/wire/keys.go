package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
)

// A key is one name of an object that is open: b[start:end] without quotes.
type key struct {
	start, end int
	sig        uint64 // equal for keys that fold to the same
	plain      bool   // ASCII, nothing escaped
}

func (s *scanner) key() (key, *JSONError) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return key{}, s.fail("a key in quotes was expected")
	}
	k := key{start: s.i + 1}
	plain, err := s.text(false)
	if err != nil {
		return key{}, err
	}
	k.end, k.plain = s.i-1, plain
	if plain {
		k.sig = signature(s.b[k.start:k.end])
	} else {
		k.sig = signature(s.folded(k))
	}
	return k, nil
}

// manyKeys is how many keys of an object are compared one by one. With more
// of them, or where no room is left for them, a map takes over: an object of
// many keys must not cost the square of their number.
const manyKeys = 16

// names are the keys of one open object: those on the scanner's stack from
// base on and, where they are many, all of them in a map under their folded
// form.
type names struct {
	base  int
	index map[string]key
}

func (n *names) add(s *scanner, k key) *JSONError {
	mine := s.keys[n.base:s.open]
	if n.index == nil && len(mine) < manyKeys && s.open < len(s.keys) {
		for _, other := range mine {
			if other.sig == k.sig && s.equal(other, k) {
				return s.clash(other, k)
			}
		}
		s.keys[s.open] = k
		s.open++
		return nil
	}
	if n.index == nil {
		n.index = make(map[string]key, 2*manyKeys)
		for _, other := range mine {
			n.index[string(s.folded(other))] = other
		}
	}
	folded := s.folded(k)
	if other, ok := n.index[string(folded)]; ok {
		return s.clash(other, k)
	}
	n.index[string(folded)] = k
	return nil
}

func (s *scanner) clash(a, b key) *JSONError {
	first, second := s.shown(a), s.shown(b)
	problem := "key " + strconv.Quote(second) + " occurs twice"
	if first != second {
		problem = "keys " + strconv.Quote(first) + " and " + strconv.Quote(second) + " differ only in case"
	}
	return &JSONError{Offset: b.start - 1, Problem: problem}
}

// signature is a hash of a key in which all ASCII letters have lost their
// case. Keys that fold to the same have the same signature; others may.
func signature(k []byte) uint64 {
	const cases, mix = 0x20 * laneOnes, 0x9e3779b97f4a7c15
	h := uint64(len(k)) * mix
	for ; len(k) >= 8; k = k[8:] {
		h = (bits.RotateLeft64(h, 23) ^ (binary.LittleEndian.Uint64(k) | cases)) * mix
	}
	var w uint64
	for i, c := range k {
		w |= uint64(c|0x20) << (8 * i)
	}
	return (bits.RotateLeft64(h, 23) ^ w) * mix
}

func (s *scanner) equal(a, b key) bool {
	if a.plain && b.plain {
		return bytes.EqualFold(s.b[a.start:a.end], s.b[b.start:b.end])
	}
	return bytes.Equal(s.folded(a), s.folded(b))
}

// folded returns the key without escapes, and every rune replaced by the one
// that stands for all its cases: the smallest.
func (s *scanner) folded(k key) []byte {
	raw := s.b[k.start:k.end]
	if k.plain {
		return bytes.ToUpper(raw)
	}
	return bytes.Map(smallestCase, unquoted(s.b[k.start-1:k.end+1]))
}

func smallestCase(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// shown returns a key for people, cut where it is long.
func (s *scanner) shown(k key) string {
	const longest = 64 // bytes
	b := unquoted(s.b[k.start-1 : k.end+1])
	if len(b) <= longest {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:longest]), "") + "..."
}
