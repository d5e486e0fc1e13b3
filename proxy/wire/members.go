package wire

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// A Member is one name and its value in an object, with their places, so that
// either can be cut out or replaced and every other byte stays as it was.
type Member struct {
	// Name is the key without quotes and escapes. It may share the object's
	// memory.
	Name []byte
	// Value is the value's bytes in the object, without blanks around it.
	Value []byte
	// Start is the offset in the object of the key's opening quote, ValueStart
	// that of the value's first byte, End that of the byte behind the value.
	Start, ValueStart, End int
}

// An Element is one value of an array.
type Element struct {
	// Value is the value's bytes in the array, without blanks around it.
	Value []byte
	// Start is the offset in the array of the value's first byte, End that of
	// the byte behind it.
	Start, End int
}

// Members walks through the members of an object, in order and without going
// into their values. The object must be JSON that has passed [Strict], or a
// value in such JSON: values are skipped and not checked again. What is no
// object ends the walk with an error.
func Members(object []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		s := cursor{b: object}
		err := s.inside('{', '}', func() (bool, *JSONError) {
			m := Member{Start: s.i}
			if s.i >= len(object) || object[s.i] != '"' {
				return false, fail(s.b, s.i, "a key in quotes was expected")
			}
			end, _, err := text(object, s.i, false)
			if err != nil {
				return false, err
			}
			s.i = end
			m.Name = unquoted(object[m.Start:s.i])
			s.i = blanks(s.b, s.i)
			if s.i >= len(object) || object[s.i] != ':' {
				return false, fail(s.b, s.i, "a colon was expected")
			}
			s.i++
			s.i = blanks(s.b, s.i)
			m.ValueStart = s.i
			if err := s.skip(); err != nil {
				return false, err
			}
			m.End = s.i
			m.Value = object[m.ValueStart:m.End]
			return yield(m, nil), nil
		})
		if err != nil {
			yield(Member{}, err)
		}
	}
}

// Elements walks through the values of an array as [Members] does through the
// members of an object.
func Elements(array []byte) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		s := cursor{b: array}
		err := s.inside('[', ']', func() (bool, *JSONError) {
			start := s.i
			if err := s.skip(); err != nil {
				return false, err
			}
			return yield(Element{Value: array[start:s.i], Start: start, End: s.i}, nil), nil
		})
		if err != nil {
			yield(Element{}, err)
		}
	}
}

// Find returns the value of the member with exactly this name, or nil where
// there is none or where object is no object.
func Find(object []byte, name string) []byte {
	if len(object) == 0 { // as often: it was looked for in another object
		return nil
	}
	for m, err := range Members(object) {
		if err == nil && string(m.Name) == name {
			return m.Value
		}
	}
	return nil
}

// Known refuses an object with a key that differs from one of the names in
// nothing but case: a codec that knows only the exact name would pass over
// what a laxer parser behind it takes for that member. Keys that fold to no
// name are none of its business. The object is as for [Members].
func Known(object []byte, names ...string) error {
	for m, err := range Members(object) {
		if err != nil {
			return err
		}
		if err := KnownName(m, names...); err != nil {
			return err
		}
	}
	return nil
}

// KnownName does for one member what [Known] does for an object.
func KnownName(m Member, names ...string) error {
	for _, name := range names {
		if !mayFold(m.Name, name) || !strings.EqualFold(string(m.Name), name) {
			continue
		}
		if !slices.Contains(names, string(m.Name)) {
			return &JSONError{
				Offset:  m.Start,
				Problem: "key " + strconv.Quote(string(m.Name)) + " is " + strconv.Quote(name) + " in another case",
			}
		}
	}
	return nil
}

// mayFold is a quick look whether a name, of ASCII, may be key in another case.
// What is longer in bytes than what it folds to begins or goes on with a
// character beyond ASCII.
func mayFold(key []byte, name string) bool {
	return len(key) >= len(name) && len(key) > 0 && (key[0] >= 0x80 || key[0]|0x20 == name[0]|0x20)
}

// NoCall is [KnownName] for a member whose name is none of those that a codec
// looks for, and refuses it too where it says something and its name is that of
// a call, or something in it looks like one: then the format has calls that the
// codec does not know.
func NoCall(m Member, known ...string) error {
	if err := KnownName(m, known...); err != nil {
		return err
	}
	if w := wordOf(m.Name); w == aType && isCallType(m.Value) || w == aCall && !IsEmpty(m.Value) {
		return fmt.Errorf("member %q looks like a call and is not understood", m.Name)
	}
	if !MentionsCall(m.Name) {
		return HiddenCall(m.Value)
	}
	for _, mark := range []string{"_call", "toolcall", "functioncall"} {
		if containsFold(m.Name, mark) && !IsEmpty(m.Value) {
			return fmt.Errorf("member %q looks like a call and is not understood", m.Name)
		}
	}
	return HiddenCall(m.Value)
}

// MentionsCall reports whether "call" stands anywhere, in any case.
func MentionsCall(data []byte) bool {
	const word = "call"
	for i := len(word) - 1; i < len(data); i++ {
		switch data[i] | 0x20 { // where it is no letter of the word, the word does not lie over it
		case 'l':
			if data[i-1]|0x20 == 'l' && data[i-2]|0x20 == 'a' && data[i-3]|0x20 == 'c' {
				return true
			}
		case 'c', 'a':
		default:
			i += len(word) - 1
		}
	}
	return false
}

// containsFold reports whether name has mark in it, which must be ASCII in
// lower case.
func containsFold(name []byte, mark string) bool {
	for i := 0; i+len(mark) <= len(name); i++ {
		if bytes.EqualFold(name[i:i+len(mark)], []byte(mark)) {
			return true
		}
	}
	return false
}

// errNoText is made once: most of what is asked for is left out of most messages.
var errNoText = errors.New("a string was expected, not nothing")

// Text returns what a JSON string says. Where value is no string, or where an
// escape in it names half of a surrogate pair, that is an error.
func Text(value []byte) (string, error) {
	if len(value) == 0 {
		return "", errNoText
	}
	if len(value) < 2 || value[0] != '"' {
		return "", fmt.Errorf("a string was expected, not %s", KindOf(value))
	}
	end, _, err := text(value, 0, false)
	if err != nil {
		return "", err
	}
	if end != len(value) {
		return "", fail(value, end, "something follows the value")
	}
	return string(unquoted(value)), nil
}

// KindOf names the kind of a JSON value for an error: "an object", "an array",
// "a string", "a number", "true", "false", "null" or, for no bytes, "nothing".
func KindOf(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't':
		return "true"
	case 'f':
		return "false"
	case 'n':
		return "null"
	}
	return "a number"
}

// A cursor walks through JSON of which is known that it is good. Its methods
// start at i and leave i behind what they have passed, or at what is wrong.
type cursor struct {
	b []byte
	i int
}

// inside calls item at each element between two brackets, until it asks to
// stop.
func (c *cursor) inside(opening, closing byte, item func() (bool, *JSONError)) error {
	c.i = blanks(c.b, c.i)
	if c.i >= len(c.b) || c.b[c.i] != opening {
		return fail(c.b, c.i, string(opening)+" was expected")
	}
	c.i++
	c.i = blanks(c.b, c.i)
	if c.i < len(c.b) && c.b[c.i] == closing {
		return nil
	}
	for {
		if more, err := item(); err != nil {
			return err
		} else if !more {
			return nil
		}
		if more, err := c.next(closing); err != nil {
			return err
		} else if !more {
			return nil
		}
	}
}

// next reads what follows an element or a member: a comma (more is true), or
// the closing bracket.
func (c *cursor) next(closing byte) (more bool, err *JSONError) {
	c.i = blanks(c.b, c.i)
	if c.i < len(c.b) {
		switch c.b[c.i] {
		case ',':
			c.i = blanks(c.b, c.i+1)
			return true, nil
		case closing:
			c.i++
			return false, nil
		}
	}
	return false, fail(c.b, c.i, "a comma or "+string(closing)+" was expected")
}

// skip moves past a value of which is known that it is good.
func (c *cursor) skip() *JSONError {
	start := c.i
	for open := 0; c.i < len(c.b); {
		switch c.b[c.i] {
		case '"':
			if !c.skipText() {
				return fail(c.b, c.i, "a string is not closed")
			}
		case '{', '[':
			open++
			c.i++
			continue
		case '}', ']':
			open--
			c.i++
		case ',', ':', ' ', '\t', '\n', '\r':
			c.i++
			continue
		default:
			c.skipWord()
		}
		if open <= 0 {
			return nil
		}
	}
	if c.i == start {
		return fail(c.b, c.i, "a value is missing")
	}
	return fail(c.b, c.i, "an array or object is not closed")
}

// skipText moves past a string, and reports whether it was closed.
func (c *cursor) skipText() bool {
	for i := c.i + 1; ; {
		n := bytes.IndexByte(c.b[i:], '"')
		if n < 0 {
			c.i = len(c.b)
			return false
		}
		i += n
		slashes := 0
		for i-slashes-1 > c.i && c.b[i-slashes-1] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			c.i = i
			return true
		}
	}
}

// skipWord moves past a number, true, false or null.
func (c *cursor) skipWord() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ',', ':', ']', '}', ' ', '\t', '\n', '\r':
			return
		}
		c.i++
	}
}
