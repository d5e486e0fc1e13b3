package wire

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxDepth is how deep arrays and objects may lie in each other: as many as
// this may be open at once.
const MaxDepth = 128

// A JSONError says why JSON was refused, and where.
type JSONError struct {
	// Pointer is the JSON pointer (RFC 6901) of the value or the key at
	// fault; long keys in it are cut. It is empty for the value as a whole.
	Pointer string
	// Offset is the place of the first byte at fault, counted from 0.
	Offset int
	// Problem says in plain words what is wrong.
	Problem string
}

// Error names the problem, the byte and the pointer. It is one line, whatever
// the JSON had in its keys.
func (e *JSONError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("JSON at byte %d: %s", e.Offset, e.Problem)
	}
	return fmt.Sprintf("JSON at byte %d, %s: %s", e.Offset, strconv.Quote(e.Pointer), e.Problem)
}

// Strict checks that body is exactly one JSON value (RFC 8259) that every
// parser reads alike: nothing follows it but blanks, no byte order mark comes
// before it, it is valid UTF-8, no escape names half of a surrogate pair, and
// no two keys of an object are equal or differ only in case (Unicode simple
// folding, as in [strings.EqualFold]). It refuses more than [MaxDepth] open
// arrays and objects. An error is always a [*JSONError].
//
// Strict allocates only for objects with many keys, and for keys that are
// escaped or not ASCII.
func Strict(body []byte) error {
	return strict(body, false)
}

// StrictEvent is [Strict] for one event of a stream, where a text may be cut
// in the middle of a surrogate pair, each half in an event of its own. So half
// a pair is let through in a string that is no key. Whoever joins such texts
// checks what comes of it.
func StrictEvent(data []byte) error {
	return strict(data, true)
}

func strict(body []byte, halves bool) error {
	s := scanner{b: body, halves: halves, watch: math.MaxInt}
	return s.whole()
}

func (s *scanner) whole() error {
	if bytes.HasPrefix(s.b, []byte("\ufeff")) {
		return &JSONError{Problem: "a byte order mark comes before the value"}
	}
	i, err := s.value(blanks(s.b, 0), 0)
	if err != nil {
		return err
	}
	if i = blanks(s.b, i); i != len(s.b) {
		return fail(s.b, i, "something follows the value")
	}
	return nil
}

// A scanner checks JSON from left to right. Its methods are told where to
// begin, and return the place behind what they have read. They are passed the
// place rather than keep it, so that it stays in a register: this is where the
// time of a large request goes.
type scanner struct {
	b      []byte
	halves bool    // half a surrogate pair may be in a value
	how    written // all strings so far
	keys   [64]key // of all open objects, the innermost last; then maps take over
	open   int     // how many keys there are

	said  *said    // nil where nobody asks what was noticed
	outer []Member // the first maxOuter of the body itself, if said is asked for

	watch     int // from where on an element is of interest for the following
	ahead     *ahead
	aheadFrom int // how much must be left for it
	tried     int // how often it was tried to begin it

	alike *alike // nil where nobody looks for elements that are alike
}

// fail is for what happens once, and is kept out of what happens all the time.
//
//go:noinline
func fail(b []byte, i int, problem string) *JSONError {
	if i >= len(b) {
		return &JSONError{Offset: len(b), Problem: "the text ends too early: " + problem}
	}
	return &JSONError{Offset: i, Problem: problem}
}

// under puts a key before the pointer of an error that lies in its value.
func (e *JSONError) under(segment string) *JSONError {
	segment = strings.ReplaceAll(strings.ReplaceAll(segment, "~", "~0"), "/", "~1")
	e.Pointer = "/" + segment + e.Pointer
	return e
}

// blanks returns the place of the first byte from i on that is none.
func blanks(b []byte, i int) int {
	const all = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\r'
	for i < len(b) && b[i] <= ' ' && all>>b[i]&1 == 1 {
		i++
	}
	return i
}

func (s *scanner) value(i, depth int) (int, *JSONError) {
	if i >= len(s.b) {
		return i, fail(s.b, i, "a value is missing")
	}
	switch c := s.b[i]; {
	case c == '"':
		i, how, err := text(s.b, i, s.halves)
		s.how |= how
		return i, err
	case c == '{' || c == '[':
		if depth == MaxDepth {
			return i, fail(s.b, i, "more than "+strconv.Itoa(MaxDepth)+" arrays and objects lie in each other")
		}
		if c == '{' {
			return s.object(i, depth+1)
		}
		return s.array(i, depth+1)
	case c == '-' || '0' <= c && c <= '9':
		return number(s.b, i)
	case c == 't':
		return literal(s.b, i, "true")
	case c == 'f':
		return literal(s.b, i, "false")
	case c == 'n':
		return literal(s.b, i, "null")
	}
	return i, fail(s.b, i, "a value was expected")
}

func literal(b []byte, i int, word string) (int, *JSONError) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, fail(b, i, word+" was expected")
	}
	return i + len(word), nil
}

func (s *scanner) array(i, depth int) (int, *JSONError) {
	i = blanks(s.b, i+1)
	if i < len(s.b) && s.b[i] == ']' {
		return i + 1, nil
	}
	return s.elements(i, depth)
}

// elements reads an array from the element at i to its end.
func (s *scanner) elements(i, depth int) (int, *JSONError) {
	for n := 0; ; n++ {
		if i >= s.watch {
			if end, ok := s.watched(i, depth); ok {
				return end, nil
			}
		}
		var err *JSONError
		if i, err = s.element(i, depth); err != nil {
			return i, err.under(strconv.Itoa(n))
		}
		i = blanks(s.b, i)
		switch {
		case i < len(s.b) && s.b[i] == ',':
			i = blanks(s.b, i+1)
		case i < len(s.b) && s.b[i] == ']':
			return i + 1, nil
		default:
			return i, fail(s.b, i, "a comma or ] was expected")
		}
	}
}

// element reads one element of an array.
func (s *scanner) element(i, depth int) (int, *JSONError) {
	if s.alike == nil {
		return s.value(i, depth)
	}
	if end, ok := s.fits(i, depth); ok {
		return end, nil
	}
	a := s.alike
	if a == nil {
		return s.value(i, depth)
	}
	mark := a.begin()
	end, err := s.value(i, depth)
	if err != nil {
		return end, err
	}
	if s.b[i] == '"' {
		a.read(valueText{start: i, end: end})
	}
	a.end(s.b, i, end, depth, mark)
	return end, nil
}

func (s *scanner) object(i, depth int) (int, *JSONError) {
	i = blanks(s.b, i+1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, nil
	}
	seen := names{base: s.open}
	for {
		k, err := s.key(i)
		if err != nil {
			return i, err
		}
		if err := seen.add(s, k); err != nil {
			return i, err.under(s.shown(k))
		}
		i = blanks(s.b, k.end+1)
		if i >= len(s.b) || s.b[i] != ':' {
			return i, fail(s.b, i, "a colon was expected").under(s.shown(k))
		}
		at := blanks(s.b, i+1)
		if i, err = s.value(at, depth); err != nil {
			return i, err.under(s.shown(k))
		}
		if s.said != nil {
			s.note(k, at, i, depth)
		}
		i = blanks(s.b, i)
		switch {
		case i < len(s.b) && s.b[i] == ',':
			i = blanks(s.b, i+1)
		case i < len(s.b) && s.b[i] == '}':
			s.open = seen.base
			return i + 1, nil
		default:
			return i, fail(s.b, i, "a comma or } was expected")
		}
	}
}

// note keeps what is asked of the member whose value is b[at:end].
func (s *scanner) note(k key, at, end, depth int) {
	s.said.note(k.sig)
	if s.b[at] == '"' {
		s.noteText(k.sig, at, end)
		if s.alike != nil {
			s.alike.read(valueText{start: at, end: end, key: k.sig, member: true})
		}
	}
	if depth == 1 && len(s.outer) < maxOuter {
		s.member(k, at, end)
	}
}

// noteText keeps what the member of this name says, whose value is the string
// b[at:end].
func (s *scanner) noteText(name uint64, at, end int) {
	if end-at <= longestWord+2 {
		s.said.note(saying(name, signatureIn(s.b, at+1, end-1)))
	}
}

func (s *scanner) member(k key, at, end int) {
	start := k.start - 1
	s.outer = append(s.outer, Member{Name: unquoted(s.b[start : k.end+1]), Value: s.b[at:end], Start: start, ValueStart: at, End: end})
}

func number(b []byte, i int) (int, *JSONError) {
	if b[i] == '-' {
		i++
	}
	whole := digits(b, i)
	switch {
	case whole == i:
		return i, fail(b, i, "a number has no digits")
	case b[i] == '0' && whole > i+1:
		return i, fail(b, i+1, "a number starts with a needless zero")
	}
	i = whole
	if i < len(b) && b[i] == '.' {
		at := i + 1
		if i = digits(b, at); i == at {
			return i, fail(b, i, "a number has no digits after its point")
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		at := i
		if i = digits(b, at); i == at {
			return i, fail(b, i, "a number has no digits in its exponent")
		}
	}
	return i, nil
}

// digits returns the place of the first byte from i on that is none.
func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}
