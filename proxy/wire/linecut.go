package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clients of server-sent events do not agree on what ends a line. The standard
// names LF, CRLF and CR; a client that reads lines as its language does may end
// one at LF only, or also at VT, FF, FS, GS, RS, NEL (U+0085), U+2028 and
// U+2029 (str.splitlines of Python), and one that takes the bytes for Latin-1
// ends one at any byte 0x85. What such a client reads behind the cut could be
// a call that nobody else sees.

// checkWords refuses what could end a line for some client in a comment or in
// a field that is no data: there is no honest use for it.
func checkWords(line []byte) error {
	at := nextCut(line, 0)
	if at == len(line) {
		at = bytes.IndexByte(line, 0x7f)
	}
	switch {
	case at >= 0 && at < len(line):
		return fmt.Errorf("a line of a server-sent event has the byte %#02x, which clients read differently", line[at])
	case !utf8.Valid(line):
		return fmt.Errorf("a line of a server-sent event is not valid UTF-8")
	}
	return nil
}

// checkData refuses a control character in data. The line ends of Unicode are
// legal in JSON texts, and models write them; they are refused where a client
// that ends a line there would read a field or a JSON object behind.
func checkData(data []byte) error {
	for at := nextCut(data, 0); at < len(data); at = nextCut(data, at+1) {
		c := data[at]
		if c < ' ' {
			return fmt.Errorf("data of a server-sent event has the byte %#02x, which clients read differently", c)
		}
		rest := bytes.TrimLeftFunc(data[at+cutLen(data[at:]):], isBlank)
		latin1 := c == 0x85 && !bytes.HasSuffix(data[:at], []byte{0xc2})
		if beginsField(rest, "data") ||
			!latin1 && (beginsField(rest, "event", "id", "retry") || bytes.HasPrefix(rest, []byte("{"))) {
			return fmt.Errorf("data of a server-sent event has a line end of Unicode before %.20q, which clients read differently", rest)
		}
	}
	return nil
}

// checkMore refuses a data line, other than an event's first, in which a client
// that reads each line by itself would find an object.
func checkMore(data []byte) error {
	line := bytes.TrimLeftFunc(data, isBlank)
	if len(line) > 0 && line[0] == '{' && bytes.IndexByte(line, '"') >= 0 && bytes.IndexByte(line, '}') >= 0 {
		return fmt.Errorf("a server-sent event has an object in a data line of its own, which clients read differently")
	}
	return nil
}

// appendASCII appends JSON text that says the same as text, which has
// characters beyond ASCII in strings only, without any of these.
func appendASCII(dst, text []byte) []byte {
	for _, c := range string(text) {
		switch {
		case c < utf8.RuneSelf:
			dst = append(dst, byte(c))
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
	}
	return dst
}

// nextCut returns the place of the first byte from i on at which some client
// may end a line, len(b) where there is none: a control character other than
// TAB, the byte 0x85, or the first byte of U+2028 or U+2029.
func nextCut(b []byte, i int) int {
	for i < len(b) {
		if len(b)-i >= 8 && printable(binary.LittleEndian.Uint64(b[i:])) {
			i += 8
			continue
		}
		for stop := min(i+8, len(b)); i < stop; i++ {
			switch c := b[i]; {
			case c < ' ' && c != '\t', c == 0x85, c == 0xe2 && cutLen(b[i:]) == 3:
				return i
			}
		}
	}
	return len(b)
}

// printable reports whether each byte of the word is from 0x20 to 0x7f. The
// lowest byte below that borrows when 0x20 is taken from it, and so has its
// high bit set.
func printable(word uint64) bool {
	return (word|(word-0x2020202020202020))&0x8080808080808080 == 0
}

// cutLen returns how many bytes the line end at the start of b has.
func cutLen(b []byte) int {
	if len(b) >= 3 && b[0] == 0xe2 && b[1] == 0x80 && (b[2] == 0xa8 || b[2] == 0xa9) {
		return 3
	}
	return 1
}

// beginsField reports whether a client may read the start of line as a field
// of one of these names. Case and blanks before the colon make no difference,
// as they may make none to the client.
func beginsField(line []byte, names ...string) bool {
	for _, name := range names {
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) &&
			bytes.HasPrefix(bytes.TrimLeftFunc(line[len(name):], isBlank), []byte(":")) {
			return true
		}
	}
	return false
}

// isBlank reports whether a client may take no notice of c before a field.
func isBlank(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' }
