package page

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// sgrOff ends a style.
const sgrOff = "\x1b[0m"

// sequence begins the style (ECMA-48, SGR).
func (s Style) sequence() string {
	switch s {
	case Strong:
		return "\x1b[1m"
	case Alarm:
		return "\x1b[1;31m"
	case Added:
		return "\x1b[32m"
	case Removed:
		return "\x1b[31m"
	case Faint:
		return "\x1b[2m"
	case Plain:
	}
	return ""
}

// String is the line as it is written to a terminal, without its end.
func (l Line) String(colour bool) string {
	if l.Text == "" {
		return strings.TrimRight(l.Label, " ")
	}
	if colour && l.SQL {
		return l.Label + colourSQL(l.Text)
	}
	if s := l.Style.sequence(); colour && s != "" {
		return l.Label + s + l.Text + sgrOff
	}
	return l.Label + l.Text
}

// Cells is how much room a text takes. What is no ASCII counts twice:
// terminals do not agree on its width, and a line that is too long would begin
// anew where a field does.
func Cells(s string) (n int) {
	for _, r := range s {
		n += cell(r)
	}
	return n
}

func cell(r rune) int {
	if r >= utf8.RuneSelf {
		return 2
	}
	return 1
}

// chunks are the parts of a text that fit into so many cells, at least 2.
func chunks(s string, room int, words bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, n, blank := 0, 0, 0 // blank is where the last word of the line begins
		for i, r := range s {
			for n > 0 && n+cell(r) > room { // what is left of a word may have no room for a wide character
				end := i
				if words && blank > start {
					end = blank
				}
				if !yield(s[start:end]) {
					return
				}
				start, n, blank = end, Cells(s[end:i]), 0
			}
			n += cell(r)
			if r == ' ' {
				blank = i + 1
			}
		}
		yield(s[start:])
	}
}
