package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// written says how a string is written: nothing where it is ASCII with no escape.
type written uint8

const (
	beyondASCII written = 1 << iota
	escaped
	spelled // a character of ASCII is escaped by its number
)

// text reads the string that begins at i, and returns the place behind it.
func text(b []byte, i int, halves bool) (end int, how written, err *JSONError) {
	start := i
	i++
	var high uint64
	for {
		var esc bool
		if i, high, esc = ordinary(b, i, high); esc {
			how |= escaped
		}
		switch {
		case i >= len(b):
			return i, how, fail(b, i, "a string is not closed")
		case b[i] == '"' && high&laneHighs == 0:
			return i + 1, how, nil
		case b[i] == '"':
			if at := invalidUTF8(b[start:i]); at >= 0 {
				return i, how, fail(b, start+at, "a string is not valid UTF-8")
			}
			return i + 1, how | beyondASCII, nil
		case b[i] != '\\':
			return i, how, fail(b, i, "a control character in a string is not escaped")
		}
		if i, how, err = escape(b, i, how|escaped, halves); err != nil {
			return i, how, err
		}
	}
}

// ordinary passes what strings are made of, and stops at the first byte that
// is a quote, a control character or a backslash that [simple] does not know
// the next character of. It adds the bits of all bytes that it has passed to
// high, in eight lanes, and reports whether there were escapes among them.
// It is a function by itself so that all of it has room in registers.
func ordinary(b []byte, i int, high uint64) (_ int, _ uint64, esc bool) {
	for len(b)-i >= 16 {
		p := (*[16]byte)(b[i:])
		w, next := binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
		m, mNext := special(w), special(next)
		if m|mNext == 0 {
			high |= w | next
			i += 16
			continue
		}
		if m == 0 {
			high |= w
			i += 8
			w, m = next, mNext
		}
		high |= w & (m - 1) &^ m
		i += bits.TrailingZeros64(m) >> 3
		if i+1 >= len(b) || b[i] != '\\' || !simple[b[i+1]] {
			return i, high, esc
		}
		i += 2
		esc = true
	}
	for ; i < len(b) && b[i] >= ' ' && b[i] != '"'; i++ {
		high |= uint64(b[i])
		if b[i] != '\\' {
			continue
		}
		if i+1 >= len(b) || !simple[b[i+1]] {
			break
		}
		i++
		esc = true
	}
	return i, high, esc
}

// simple are the characters that are an escape behind a backslash by themselves.
var simple = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

const (
	laneOnes  = 0x0101010101010101
	laneHighs = 0x80 * laneOnes
)

// special marks the bytes of w that end a run of ordinary text: a quote, a
// backslash, a control character. The lowest mark is right; marks above it may
// be wrong, for a borrow can run through them.
func special(w uint64) uint64 {
	// With one bit turned over, a quote follows on the control characters, and
	// nothing else comes to lie below it.
	low, slash := w^(2*laneOnes)-('"'^2+1)*laneOnes, (w^('\\'*laneOnes))-laneOnes
	return (low | slash) &^ w & laneHighs
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

// escape reads what the backslash at i starts, where [simple] does not know it:
// both escapes of a surrogate pair.
func escape(b []byte, i int, how written, halves bool) (int, written, *JSONError) {
	if i+1 >= len(b) {
		return i, how, fail(b, len(b), "a string is not closed")
	}
	if b[i+1] != 'u' {
		return i, how, fail(b, i, "an escape in a string is unknown")
	}
	first, ok := unit(b, i)
	if !ok {
		return i, how, fail(b, i, "an escape in a string has no four hexadecimal digits")
	}
	if first&^0x7ff != 0xd800 {
		if first < 0x80 {
			how |= spelled
		}
		return i + 6, how, nil
	}
	if second, ok := unit(b, i+6); ok && first < 0xdc00 && second&^0x3ff == 0xdc00 {
		return i + 12, how, nil
	}
	if !halves {
		return i, how, fail(b, i, "an escape in a string names half of a surrogate pair")
	}
	return i + 6, how, nil
}

// unit reads the escape \uXXXX at i.
func unit(b []byte, i int) (u uint32, ok bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	for _, d := range b[i+2 : i+6] {
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
