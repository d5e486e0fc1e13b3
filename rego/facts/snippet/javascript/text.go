package javascript

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var plainEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'v': "\v", 'f': "\f"}

// text takes the escapes out of a string or a template.
func (r *reader) text(raw string) string {
	if !strings.ContainsAny(raw, "\\\r") {
		return raw
	}
	var out []uint16
	put := func(s string) { out = append(out, utf16.Encode([]rune(s))...) }
	for raw != "" {
		at := strings.IndexAny(raw, "\\\r")
		if at < 0 {
			put(raw)
			break
		}
		put(raw[:at])
		if raw[at] == '\r' { // of a template
			put("\n")
			raw = strings.TrimPrefix(raw[at+1:], "\n")
			continue
		}
		units, n := r.escape(raw[at+1:])
		out = append(out, units...)
		raw = raw[at+1+n:]
	}
	s := string(utf16.Decode(out))
	if strings.ContainsRune(s, utf8.RuneError) {
		r.fail("half a letter in a text")
	}
	return s
}

// escape reads what follows a backslash, and says how many bytes that is.
func (r *reader) escape(s string) ([]uint16, int) {
	if s == "" {
		r.fail("a backslash at the end of a text")
	}
	hex := func(digits string, n int) ([]uint16, int) {
		v, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || v > utf8.MaxRune {
			r.fail("an escape that is none")
		}
		if v > 0xffff {
			return utf16.Encode([]rune{rune(v)}), n
		}
		return []uint16{uint16(v)}, n
	}
	switch c := s[0]; {
	case plainEscapes[c] != "":
		return []uint16{uint16(plainEscapes[c][0])}, 1
	case c == 'x' && len(s) > 2:
		return hex(s[1:3], 3)
	case c == 'u' && strings.HasPrefix(s, "u{"):
		end := strings.IndexByte(s, '}')
		if end < 0 {
			r.fail("an escape that is none")
		}
		return hex(s[2:end], end+1)
	case c == 'u' && len(s) > 4:
		return hex(s[1:5], 5)
	case c == 'x', c == 'u':
		r.fail("an escape that is none")
	case c >= '0' && c <= '7':
		n := 1
		for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' && (n < 2 || c <= '3') {
			n++
		}
		v, _ := strconv.ParseUint(s[:n], 8, 16)
		return []uint16{uint16(v)}, n
	case strings.HasPrefix(s, "\r\n"):
		return nil, 2
	case c == '\n' || c == '\r':
		return nil, 1
	}
	letter, n := utf8.DecodeRuneInString(s)
	if letter == '\u2028' || letter == '\u2029' {
		return nil, n
	}
	return utf16.Encode([]rune{letter}), n
}
