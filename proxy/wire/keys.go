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

// key reads the key that begins at i, up to its closing quote.
func (s *scanner) key(i int) (k key, err *JSONError) {
	b := s.b
	if i >= len(b) || b[i] != '"' {
		return key{}, fail(b, i, "a key in quotes was expected")
	}
	if i+9 <= len(b) { // most keys are plain and lie in one word with their quote
		w := binary.LittleEndian.Uint64(b[i+1:])
		n := bits.TrailingZeros64(special(w)) >> 3
		w &= 1<<(8*n) - 1
		if n < 8 && b[i+1+n] == '"' && w&laneHighs == 0 {
			return key{start: i + 1, end: i + 1 + n, plain: true, sig: signed(uint64(n)*mix, w|cases&(1<<(8*n)-1))}, nil
		}
	}
	end, how, err := text(b, i, false)
	if err != nil {
		return key{}, err
	}
	s.how |= how
	k = key{start: i + 1, end: end - 1, plain: how == 0}
	if k.plain {
		k.sig = signatureIn(b, k.start, k.end)
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
	if n.index != nil || s.open-n.base >= manyKeys || s.open >= len(s.keys) {
		return n.addToMany(s, k)
	}
	for i := n.base; i < s.open; i++ {
		if s.keys[i].sig == k.sig && s.equal(s.keys[i], k) {
			return s.clash(s.keys[i], k)
		}
	}
	s.keys[s.open] = k
	s.open++
	return nil
}

func (n *names) addToMany(s *scanner, k key) *JSONError {
	if n.index == nil {
		n.index = make(map[string]key, 2*manyKeys)
		for _, other := range s.keys[n.base:s.open] {
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
func signature(k []byte) uint64 { return signatureIn(k, 0, len(k)) }

// signatureIn is the signature of the key b[i:end].
func signatureIn(b []byte, i, end int) uint64 {
	h := uint64(end-i) * mix
	for ; end-i >= 8; i += 8 {
		h = signed(h, binary.LittleEndian.Uint64(b[i:])|cases)
	}
	var w uint64
	if i+8 <= len(b) { // what lies behind the key is read with it, and cut off
		w = (binary.LittleEndian.Uint64(b[i:]) | cases) & (1<<(8*(end-i)) - 1)
	} else {
		for n, c := range b[i:end] {
			w |= uint64(c|0x20) << (8 * n)
		}
	}
	return signed(h, w)
}

const cases, mix = 0x20 * laneOnes, 0x9e3779b97f4a7c15

// signed takes the next eight bytes of a key, less at its end, into its hash.
func signed(h, w uint64) uint64 { return (bits.RotateLeft64(h, 23) ^ w) * mix }

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
