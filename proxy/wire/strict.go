package wire

import (
	"bytes"
	"fmt"
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
	s := scanner{cursor: cursor{b: body}, halves: halves}
	return s.whole()
}

func (s *scanner) whole() error {
	if bytes.HasPrefix(s.b, []byte("\ufeff")) {
		return &JSONError{Problem: "a byte order mark comes before the value"}
	}
	s.blanks()
	if err := s.value(0); err != nil {
		return err
	}
	s.blanks()
	if s.i != len(s.b) {
		return s.fail("something follows the value")
	}
	return nil
}

// A cursor reads JSON from left to right. Its methods start at i and leave i
// behind what they have read, or at what is wrong.
type cursor struct {
	b []byte
	i int

	spelled bool // a character of ASCII was escaped by its number
}

// A scanner is a cursor that checks everything it passes.
type scanner struct {
	cursor
	halves bool    // half a surrogate pair may be in a value
	keys   [64]key // of all open objects, the innermost last; then maps take over
	open   int     // how many keys there are

	outer []Member // the first maxOuter of the body itself; nil where nobody asks
	said  *said    // nil where nobody asks
}

func (c *cursor) fail(problem string) *JSONError {
	if c.i >= len(c.b) {
		return &JSONError{Offset: len(c.b), Problem: "the text ends too early: " + problem}
	}
	return &JSONError{Offset: c.i, Problem: problem}
}

// under puts a key before the pointer of an error that lies in its value.
func (e *JSONError) under(segment string) *JSONError {
	segment = strings.ReplaceAll(strings.ReplaceAll(segment, "~", "~0"), "/", "~1")
	e.Pointer = "/" + segment + e.Pointer
	return e
}

func (c *cursor) blanks() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) *JSONError {
	if s.i >= len(s.b) {
		return s.fail("a value is missing")
	}
	switch c := s.b[s.i]; c {
	case '"':
		_, err := s.text(s.halves)
		return err
	case '{', '[':
		if depth == MaxDepth {
			return s.fail("more than " + strconv.Itoa(MaxDepth) + " arrays and objects lie in each other")
		}
		if c == '{' {
			return s.object(depth + 1)
		}
		return s.array(depth + 1)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return s.number()
		}
		return s.fail("a value was expected")
	}
}

func (c *cursor) literal(word string) *JSONError {
	if len(c.b)-c.i < len(word) || string(c.b[c.i:c.i+len(word)]) != word {
		return c.fail(word + " was expected")
	}
	c.i += len(word)
	return nil
}

func (s *scanner) array(depth int) *JSONError {
	s.i++
	s.blanks()
	if s.i < len(s.b) && s.b[s.i] == ']' {
		s.i++
		return nil
	}
	for n := 0; ; n++ {
		if err := s.value(depth); err != nil {
			return err.under(strconv.Itoa(n))
		}
		more, err := s.next(']')
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}

// next reads what follows an element or a member: a comma (more is true), or
// the closing bracket.
func (c *cursor) next(closing byte) (more bool, err *JSONError) {
	c.blanks()
	if c.i < len(c.b) {
		switch c.b[c.i] {
		case ',':
			c.i++
			c.blanks()
			return true, nil
		case closing:
			c.i++
			return false, nil
		}
	}
	return false, c.fail("a comma or " + string(closing) + " was expected")
}

func (s *scanner) object(depth int) *JSONError {
	s.i++
	s.blanks()
	if s.i < len(s.b) && s.b[s.i] == '}' {
		s.i++
		return nil
	}
	seen := names{base: s.open}
	for {
		k, err := s.key()
		if err != nil {
			return err
		}
		if err := seen.add(s, k); err != nil {
			return err.under(s.shown(k))
		}
		s.blanks()
		if s.i >= len(s.b) || s.b[s.i] != ':' {
			return s.fail("a colon was expected").under(s.shown(k))
		}
		s.i++
		s.blanks()
		at := s.i
		if err := s.value(depth); err != nil {
			return err.under(s.shown(k))
		}
		if s.said != nil {
			s.said.member(k.sig, s.b[at:s.i])
		}
		if depth == 1 && s.outer != nil && len(s.outer) < maxOuter {
			s.outer = append(s.outer, s.member(k, at))
		}
		more, err := s.next('}')
		if err != nil {
			return err
		}
		if !more {
			s.open = seen.base
			return nil
		}
	}
}

// member returns the member whose value began at at and has just been read.
func (s *scanner) member(k key, at int) Member {
	start := k.start - 1
	return Member{Name: unquoted(s.b[start : k.end+1]), Value: s.b[at:s.i], Start: start, ValueStart: at, End: s.i}
}

func (c *cursor) number() *JSONError {
	if c.b[c.i] == '-' {
		c.i++
	}
	if c.i < len(c.b) && c.b[c.i] == '0' {
		c.i++
		if c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
			return c.fail("a number starts with a needless zero")
		}
	} else if !c.digits() {
		return c.fail("a number has no digits")
	}
	if c.i < len(c.b) && c.b[c.i] == '.' {
		c.i++
		if !c.digits() {
			return c.fail("a number has no digits after its point")
		}
	}
	if c.i < len(c.b) && (c.b[c.i] == 'e' || c.b[c.i] == 'E') {
		c.i++
		if c.i < len(c.b) && (c.b[c.i] == '+' || c.b[c.i] == '-') {
			c.i++
		}
		if !c.digits() {
			return c.fail("a number has no digits in its exponent")
		}
	}
	return nil
}

func (c *cursor) digits() bool {
	start := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i > start
}
