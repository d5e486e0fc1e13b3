package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// text reads a string, and reports whether it is plain: ASCII, with nothing
// escaped.
func (c *cursor) text(halves bool) (plain bool, err *JSONError) {
	start := c.i
	i := start + 1
	escaped := false
	var high uint64 // bits of all bytes read, eight lanes
	for {
		for i+8 <= len(c.b) {
			w := binary.LittleEndian.Uint64(c.b[i:])
			if m := special(w); m != 0 {
				high |= w & (m - 1) & ^m
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			high |= w
			i += 8
		}
		for i < len(c.b) && c.b[i] != '"' && c.b[i] != '\\' && c.b[i] >= ' ' {
			high |= uint64(c.b[i])
			i++
		}
		c.i = i
		if i >= len(c.b) {
			return false, c.fail("a string is not closed")
		}
		switch c.b[i] {
		case '"':
			c.i++
			if high&laneHighs == 0 {
				return !escaped, nil
			}
			if at := invalidUTF8(c.b[start:i]); at >= 0 {
				c.i = start + at
				return false, c.fail("a string is not valid UTF-8")
			}
			return false, nil
		case '\\':
			escaped = true
			if err := c.escape(halves); err != nil {
				return false, err
			}
			i = c.i
		default:
			return false, c.fail("a control character in a string is not escaped")
		}
	}
}

const (
	laneOnes  = 0x0101010101010101
	laneHighs = 0x80 * laneOnes
)

// special marks the bytes of w that end a run of ordinary text: a quote, a
// backslash, a control character. The lowest mark is right; marks above it may
// be wrong, for a borrow can run through them.
func special(w uint64) uint64 {
	quote, slash := w^('"'*laneOnes), w^('\\'*laneOnes)
	return ((quote-laneOnes)&^quote | (slash-laneOnes)&^slash | (w-' '*laneOnes)&^w) & laneHighs
}

// invalidUTF8 returns the place of the first byte that is not part of UTF-8,
// or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// escape reads what a backslash starts; both escapes of a surrogate pair.
func (c *cursor) escape(halves bool) *JSONError {
	if c.i+1 >= len(c.b) {
		c.i = len(c.b)
		return c.fail("a string is not closed")
	}
	switch c.b[c.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i += 2
		return nil
	case 'u':
	default:
		return c.fail("an escape in a string is unknown")
	}
	first, ok := c.unit(c.i)
	if !ok {
		return c.fail("an escape in a string has no four hexadecimal digits")
	}
	if first&^0x7ff != 0xd800 {
		c.spelled = c.spelled || first < 0x80
		c.i += 6
		return nil
	}
	if second, ok := c.unit(c.i + 6); ok && first < 0xdc00 && second&^0x3ff == 0xdc00 {
		c.i += 12
		return nil
	}
	if !halves {
		return c.fail("an escape in a string names half of a surrogate pair")
	}
	c.i += 6
	return nil
}

// unit reads the escape \uXXXX at i.
func (c *cursor) unit(i int) (u uint32, ok bool) {
	if i+6 > len(c.b) || c.b[i] != '\\' || c.b[i+1] != 'u' {
		return 0, false
	}
	for _, d := range c.b[i+2 : i+6] {
		switch {
		case '0' <= d && d <= '9':
			d -= '0'
		case 'a' <= d && d <= 'f':
			d -= 'a' - 10
		case 'A' <= d && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		u = u<<4 | uint32(d)
	}
	return u, true
}

// unquoted returns what a string with its quotes says; the string must have
// been scanned.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	// A copy, so that the scanner can stay on the stack.
	b, err := jsontext.AppendUnquote(nil, string(quoted))
	if err != nil {
		return quoted // cannot be: what comes here has been scanned
	}
	return b
}
