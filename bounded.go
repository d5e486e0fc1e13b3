package holdgate

import (
	"strings"
	"unicode"
)

// OneLine is [Bounded] without line ends, so that nothing in s can look like a
// line of ours.
func OneLine(s string, n int) string {
	return Bounded(strings.Join(strings.Fields(s), " "), n)
}

// Bounded shortens text that others wrote and takes control characters out of
// it, line ends and tabs apart, and those that turn the direction of text or
// are written to be read by machines only.
func Bounded(s string, n int) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case unicode.IsControl(c), unicode.Is(unicode.Bidi_Control, c), c >= 0xE0000 && c <= 0xE007F:
			return -1
		}
		return c
	}, s)
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
