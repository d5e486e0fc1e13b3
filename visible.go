package holdgate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a run of one character may be before [Visible] writes it as a count.
const (
	maxSpaces  = 16 // plain spaces: deep indentation stays as it is
	maxEscapes = 4  // of one character that is escaped anyway
	maxTabs    = 8  // as deep as code is indented
)

// A tab is written as its mark, and blanks up to the next stop.
const (
	tabMark = '⇥'
	tabStop = 4 // in characters
)

// Visible returns s so that a person sees every character of it, and sees them
// in the order in which a program reads them. What a screen would hide, move or
// obey (control characters, bidirectional marks, zero width and unusual spaces,
// tags, variation selectors, private and unassigned characters, bytes that are
// no UTF-8) is written as ⟨U+202E⟩, or ⟨0xFF⟩ for a byte; long runs as
// ⟨312 spaces⟩ and ⟨40 × U+200B⟩. A tab is a ⇥ and blanks up to the next stop, so
// that code is indented. A ⟨ and a ⇥ in s are escaped too, so that nothing in s
// can pass for an escape, and different strings stay different.
//
// The result is one line, of printable characters only.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	column, counted := 0, 0 // of what is written, in characters; up to which byte
	for i := 0; i < len(s); {
		unit, width := next(s[i:])
		n := 1
		for i+n*width < len(s) && strings.HasPrefix(s[i+n*width:], s[i:i+width]) {
			if u, w := next(s[i+n*width:]); u != unit || w != width {
				break
			}
			n++
		}
		if s[i] == '\t' && n <= maxTabs {
			column, counted = column+utf8.RuneCountInString(b.String()[counted:]), b.Len()
			writeTabs(&b, column, n)
		} else {
			writeRun(&b, s[i:i+width], unit, n)
		}
		i += n * width
	}
	return b.String()
}

// plain reports whether s is ASCII that can be shown as it is.
func plain(s string) bool {
	spaces := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			return false
		case c == ' ':
			spaces++
			if spaces > maxSpaces {
				return false
			}
		default:
			spaces = 0
		}
	}
	return true
}

// next returns the first character of s, which is not empty, by the name that
// its escape has ("" where it needs none), and its width in bytes.
func next(s string) (name string, width int) {
	r, width := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && width == 1 {
		if u, ok := surrogate(s); ok {
			return fmt.Sprintf("U+%04X", u), 3
		}
		return fmt.Sprintf("0x%02X", s[0]), 1
	}
	if hidden(r) {
		return fmt.Sprintf("U+%04X", r), width
	}
	return "", width
}

// surrogate reads a lone UTF-16 surrogate, encoded as if it were a character.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

// writeTabs writes n tabs, the first of them at the column.
func writeTabs(b *strings.Builder, column, n int) {
	for pad := tabStop - column%tabStop; n > 0; n, pad = n-1, tabStop {
		b.WriteRune(tabMark)
		b.WriteString(strings.Repeat(" ", pad-1))
	}
}

func writeRun(b *strings.Builder, char, name string, n int) {
	switch {
	case char == " " && n > maxSpaces:
		fmt.Fprintf(b, "⟨%d spaces⟩", n)
	case name == "":
		for range n {
			b.WriteString(char)
		}
	case n > maxEscapes:
		fmt.Fprintf(b, "⟨%d × %s⟩", n, name)
	default:
		for range n {
			b.WriteString("⟨" + name + "⟩")
		}
	}
}

// hidden reports whether a screen would not show r for what it is.
func hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case r == '⟨', r == tabMark, !unicode.IsPrint(r): // controls, format characters, spaces, private, unassigned
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF: // variation selectors
		return true
	case r >= 0x180B && r <= 0x180F: // Mongolian variation selectors
		return true
	}
	switch r {
	case 0x034F, // combining grapheme joiner
		0x115F, 0x1160, 0x3164, 0xFFA0, // Hangul fillers: letters without a glyph
		0x17B4, 0x17B5, // Khmer vowels without a glyph
		0x2800: // Braille pattern blank
		return true
	}
	return false
}
