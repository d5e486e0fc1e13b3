package holdgate

import (
	"bytes"
	"slices"
)

// A sorter makes the canonical form of JSON by moving bytes about. It gives up
// where that would not do: at what is no JSON, a string that encoding/json writes
// differently, a key with an escape, a key that comes twice, and deep nesting.
type sorter struct {
	raw   []byte
	at    int
	depth int
	out   []byte
}

// maxSorted is how deep a sorter goes.
const maxSorted = 500

// A sortedMember is where a member of an object is in a sorter's output.
type sortedMember struct {
	key        []byte // without its quotes
	start, end int    // of the key, the colon and the value
}

// whole copies all there is. Like all that copies it reports false where it gave
// up.
func (s *sorter) whole() bool {
	ok := s.value()
	s.blanks()
	return ok && s.at == len(s.raw)
}

// value copies the value that is next, and the blanks before it not.
func (s *sorter) value() bool {
	s.blanks()
	if s.at == len(s.raw) {
		return false
	}
	switch s.raw[s.at] {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		_, ok := s.text()
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *sorter) word(w string) bool {
	if !bytes.HasPrefix(s.raw[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	s.out = append(s.out, w...)
	return true
}

func (s *sorter) number() bool {
	start := s.at
	s.skip('-')
	if !s.skip('0') && !s.digits() || s.skip('.') && !s.digits() {
		return false
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		if !s.digits() {
			return false
		}
	}
	s.out = append(s.out, s.raw[start:s.at]...)
	return true
}

// digits passes over digits, and reports whether there was one at least.
func (s *sorter) digits() bool {
	start := s.at
	for s.at < len(s.raw) && s.raw[s.at] >= '0' && s.raw[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

func (s *sorter) blanks() {
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// skip passes over the byte, if it is next.
func (s *sorter) skip(c byte) bool {
	if s.at < len(s.raw) && s.raw[s.at] == c {
		s.at++
		return true
	}
	return false
}

// accept copies the byte, if it is next.
func (s *sorter) accept(c byte) bool {
	ok := s.skip(c)
	if ok {
		s.out = append(s.out, c)
	}
	return ok
}

// text copies a string, and returns it without its quotes where it has no
// escapes; otherwise it returns nil.
func (s *sorter) text() (plain []byte, ok bool) {
	if s.at == len(s.raw) || s.raw[s.at] != '"' {
		return nil, false
	}
	n, isPlain, ok := scanString(s.raw[s.at+1:])
	if !ok {
		return nil, false
	}
	whole := s.raw[s.at : s.at+n+2]
	s.at += len(whole)
	s.out = append(s.out, whole...)
	if isPlain {
		plain = whole[1 : n+1]
	}
	return plain, true
}

func (s *sorter) array() bool {
	if s.depth++; s.depth > maxSorted {
		return false
	}
	s.accept('[')
	s.blanks()
	for first := true; !s.accept(']'); first = false {
		if !first && !s.accept(',') || !s.value() {
			return false
		}
		s.blanks()
	}
	s.depth--
	return true
}

func (s *sorter) object() bool {
	if s.depth++; s.depth > maxSorted {
		return false
	}
	begin := len(s.out)
	s.accept('{')
	var room [8]sortedMember
	members := room[:0]
	s.blanks()
	for first := true; !s.accept('}'); first = false {
		if !first && !s.accept(',') {
			return false
		}
		m, ok := s.member()
		if !ok {
			return false
		}
		members = append(members, m)
		s.blanks()
	}
	s.depth--
	return s.sort(begin+1, members)
}

// member copies a member of an object.
func (s *sorter) member() (m sortedMember, ok bool) {
	s.blanks()
	m.start = len(s.out)
	if m.key, ok = s.text(); !ok || m.key == nil {
		return m, false
	}
	s.blanks()
	if !s.accept(':') || !s.value() {
		return m, false
	}
	m.end = len(s.out)
	return m, true
}

// sort puts the members of the object that was just copied, from begin on, into
// their order. It reports false where two have one key.
func (s *sorter) sort(begin int, members []sortedMember) bool {
	byKey := func(a, b sortedMember) int { return bytes.Compare(a.key, b.key) }
	if slices.IsSortedFunc(members, byKey) {
		return !hasTwin(members)
	}
	slices.SortFunc(members, byKey)
	if hasTwin(members) {
		return false
	}
	was := bytes.Clone(s.out[begin:])
	s.out = s.out[:begin]
	for i, m := range members {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, was[m.start-begin:m.end-begin]...)
	}
	s.out = append(s.out, '}')
	return true
}

// hasTwin reports whether two members, which are sorted, have the same key.
func hasTwin(members []sortedMember) bool {
	for i := 1; i < len(members); i++ {
		if bytes.Equal(members[i-1].key, members[i].key) {
			return true
		}
	}
	return false
}
