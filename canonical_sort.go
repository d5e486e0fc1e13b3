package holdgate

import (
	"bytes"
	"slices"
)

// A sorter makes the canonical form of valid JSON by moving bytes about. It
// gives up where that would not do: at a string that encoding/json writes
// differently, a key with an escape, and a key that comes twice.
type sorter struct {
	raw []byte
	at  int
	out []byte
}

// A sortedMember is where a member of an object is in a sorter's output.
type sortedMember struct {
	key        []byte // without its quotes
	start, end int    // of the key, the colon and the value
}

// value copies the value that is next, and the blanks around it not. It reports
// false where it gave up.
func (s *sorter) value() bool {
	s.blanks()
	switch s.raw[s.at] {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		_, ok := s.text()
		return ok
	}
	start := s.at
	for s.at < len(s.raw) && bytes.IndexByte([]byte(" \t\r\n,]}"), s.raw[s.at]) < 0 {
		s.at++
	}
	s.out = append(s.out, s.raw[start:s.at]...)
	return true
}

func (s *sorter) blanks() {
	for s.at < len(s.raw) && bytes.IndexByte([]byte(" \t\r\n"), s.raw[s.at]) >= 0 {
		s.at++
	}
}

// take copies the byte that is next.
func (s *sorter) take() {
	s.out = append(s.out, s.raw[s.at])
	s.at++
}

// ends reports whether the object or array is at its end, which it takes then;
// else it takes the comma, if there is one.
func (s *sorter) ends(closing byte) bool {
	s.blanks()
	switch s.raw[s.at] {
	case closing:
		s.take()
		return true
	case ',':
		s.take()
	}
	return false
}

// text copies a string, and returns it without its quotes where it has no
// escapes; otherwise it returns nil.
func (s *sorter) text() (plain []byte, ok bool) {
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
	s.take()
	for !s.ends(']') {
		if !s.value() {
			return false
		}
	}
	return true
}

func (s *sorter) object() bool {
	s.take()
	begin := len(s.out)
	var room [8]sortedMember
	members := room[:0]
	for !s.ends('}') {
		s.blanks()
		m := sortedMember{start: len(s.out)}
		var ok bool
		if m.key, ok = s.text(); !ok || m.key == nil {
			return false
		}
		s.blanks()
		s.take() // the colon
		if !s.value() {
			return false
		}
		m.end = len(s.out)
		members = append(members, m)
	}
	return s.sort(begin, members)
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
