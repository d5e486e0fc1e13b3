package wire

import (
	"iter"
	"math/bits"
)

// A Document is a JSON value that has passed [Strict], with what was noticed on
// the way, so that nobody has to look for it again. It never changes, and is
// safe for concurrent use.
type Document struct {
	// Body is the whole of it. Nobody changes it.
	Body []byte

	members []Member // the first maxOuter
	said    said
	spelled bool // a character of ASCII was escaped by its number
}

// maxOuter is how many members are kept, so that a body of nothing else takes
// no multiple of its size.
const maxOuter = 256

// ReadDocument is [Strict] for who goes on to read the value.
func ReadDocument(body []byte) (*Document, error) {
	return readDocument(body, aheadFrom, alikeFrom)
}

func readDocument(body []byte, aheadFrom, alikeFrom int) (*Document, error) {
	d := &Document{Body: body}
	s := scanner{b: body, outer: make([]Member, 0, manyKeys), said: &d.said}
	s.mayGoAhead(aheadFrom)
	if len(body) >= alikeFrom {
		s.alike = new(alike)
	}
	defer s.join()
	if err := s.whole(); err != nil {
		return nil, err
	}
	d.members, d.spelled = s.outer, s.how&spelled != 0
	return d, nil
}

// Members are what [Members] finds, without a second way through the document.
func (d *Document) Members() iter.Seq2[Member, error] {
	if len(d.members) == 0 || len(d.members) == maxOuter {
		return Members(d.Body)
	}
	return func(yield func(Member, error) bool) {
		for _, m := range d.members {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// Find is [Find] in the document itself.
func (d *Document) Find(name string) []byte {
	for m, err := range d.Members() {
		if err == nil && string(m.Name) == name {
			return m.Value
		}
	}
	return nil
}

// MayHave reports whether an object in the document, at whatever depth, may have
// a member of this name, of ASCII. It says no only where that is sure; the case
// of letters makes no difference to it.
func (d *Document) MayHave(name string) bool {
	return d.spelled || d.said.has(signature([]byte(name)))
}

// MaySay is [Document.MayHave] for a member that is a string with this text: at
// most longestWord bytes of ASCII.
func (d *Document) MaySay(name, text string) bool {
	return d.spelled || d.said.has(saying(signature([]byte(name)), signature([]byte(text))))
}

// longestWord is how long a string is at most, in bytes, that is noted.
const longestWord = 24

// said are the members of a document, by the hashes of their names and of what
// they say. More may seem to be in it than is (it is a Bloom filter of one hash).
type said [16]uint64

func (s *said) note(sig uint64) {
	at := place(sig)
	s[at>>6] |= 1 << (at & 63)
}

func (s *said) has(sig uint64) bool {
	at := place(sig)
	return s[at>>6]&(1<<(at&63)) != 0
}

// saying is the hash of a member that is a string, by the signatures of both.
func saying(name, text uint64) uint64 {
	return (bits.RotateLeft64(name, 29) ^ text) * 0x9e3779b97f4a7c15
}

// place is a number below 1024: of a product, the upper bits are mixed best.
func place(sig uint64) uint64 { return sig >> 54 }
