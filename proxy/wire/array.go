package wire

import (
	"errors"
	"fmt"
)

// An ArrayElement is one object of a streamed array.
type ArrayElement struct {
	// Raw is the element as it came, with the bracket or comma and the blanks
	// before it. The Raw of all elements of a stream, joined, are the stream.
	Raw []byte
	// Value is the object in Raw; nil in the last element, which is the
	// closing bracket and what follows it.
	Value []byte
}

// An ArrayScanner cuts a JSON array of objects (RFC 8259, section 5), which
// comes in pieces, into its elements. Where the pieces were cut makes no
// difference to the elements. A single object in the place of the array is its
// only element, for that is how some servers tell of an error.
//
// Objects are cut out by their braces and not checked: see [Strict].
//
// The zero value is ready. An ArrayScanner is for one goroutine; its cost is
// linear in the stream, however it is cut.
type ArrayScanner struct {
	// Limit is the greatest length of one element's Raw in bytes; zero stands
	// for [DefaultEventLimit]. A longer one is an error that wraps
	// [ErrTooLarge].
	Limit int

	// Elements point into buf. So it is only ever appended to; where it is
	// full, what has not been returned moves to a new one.
	buf   []byte
	start int // of the element being read, with what is before it
	at    int // everything before has been read

	place   arrayPlace
	value   int // where the object begins
	depth   int // of braces and brackets in it
	text    bool
	escaped bool
	ended   bool
	err     error
}

// An arrayPlace is a place in the grammar of a streamed array.
type arrayPlace uint8

const (
	beforeArray  arrayPlace = iota
	beforeFirst             // behind the bracket
	beforeNext              // behind a comma
	inObject                // of the array
	inOnlyObject            // in the place of the array
	behindObject
	behindArray
)

// Push adds the next bytes of the stream. No reference to p is kept.
func (s *ArrayScanner) Push(p []byte) {
	if len(s.buf)+len(p) > cap(s.buf) {
		rest := s.buf[s.start:]
		s.buf = append(make([]byte, 0, max(2*len(rest)+len(p), leastBlock)), rest...)
		s.at -= s.start
		s.value -= s.start
		s.start = 0
	}
	s.buf = append(s.buf, p...)
}

// End says that the stream is over. Next then returns what is left.
func (s *ArrayScanner) End() { s.ended = true }

// Next returns the next complete element. It reports false where more bytes
// are needed or, after [ArrayScanner.End], nothing is left. Once it has
// returned an error it returns the same for ever.
func (s *ArrayScanner) Next() (ArrayElement, bool, error) {
	for s.err == nil && s.at < len(s.buf) {
		var whole bool
		if whole, s.err = s.step(s.buf[s.at]); s.err != nil {
			break
		}
		s.at++
		if whole {
			return s.take(s.buf[s.value:s.at]), true, nil
		}
	}
	if s.err == nil {
		s.err = s.check()
	}
	switch {
	case s.err != nil:
		return ArrayElement{}, false, s.err
	case !s.ended:
		return ArrayElement{}, false, nil
	case s.start == len(s.buf) && s.place == behindArray:
		s.buf, s.start, s.at, s.value = nil, 0, 0, 0 // who waits long after the end keeps no more than its elements
		return ArrayElement{}, false, nil
	case s.place != behindArray:
		s.err = errors.New("a streamed array ends before it is closed")
		return ArrayElement{}, false, s.err
	}
	return s.take(nil), true, nil
}

func (s *ArrayScanner) take(value []byte) ArrayElement {
	e := ArrayElement{Raw: s.buf[s.start:s.at:s.at], Value: value}
	if value != nil {
		e.Value = value[:len(value):len(value)]
	}
	s.start = s.at
	return e
}

func (s *ArrayScanner) check() error {
	limit := s.Limit
	if limit <= 0 {
		limit = DefaultEventLimit
	}
	if s.at-s.start > limit {
		return fmt.Errorf("an element of a streamed array is longer than %d bytes: %w", limit, ErrTooLarge)
	}
	return nil
}

// step reads one byte, and reports whether it is the last one of an object.
func (s *ArrayScanner) step(c byte) (whole bool, err error) {
	switch {
	case s.place == inObject || s.place == inOnlyObject:
		return s.inside(c), nil
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case c == '{' && s.place < inObject:
		s.value, s.depth = s.at, 1
		if s.place == beforeArray {
			s.place = inOnlyObject
		} else {
			s.place = inObject
		}
	case c == '[' && s.place == beforeArray:
		s.place = beforeFirst
	case c == ',' && s.place == behindObject:
		s.place = beforeNext
	case c == ']' && (s.place == behindObject || s.place == beforeFirst):
		s.place = behindArray
	default:
		return false, fmt.Errorf("a streamed array has %q where none may stand", c)
	}
	return false, nil
}

// inside reads one byte of an object.
func (s *ArrayScanner) inside(c byte) (whole bool) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.text:
		s.escaped, s.text = c == '\\', c != '"'
	case c == '"':
		s.text = true
	case c == '{' || c == '[':
		s.depth++
	case c == '}' || c == ']':
		s.depth--
	}
	if s.depth > 0 {
		return false
	}
	if s.place == inOnlyObject {
		s.place = behindArray
	} else {
		s.place = behindObject
	}
	return true
}
