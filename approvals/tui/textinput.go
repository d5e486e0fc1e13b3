package tui

import (
	"slices"
	"strings"
	"unicode"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// maxTyped bounds what is typed, in characters.
const maxTyped = 4 << 10

// A textInput is what a person types, and where they are in it.
type textInput struct {
	text  []rune
	at    int  // the cursor stands before this character
	lines bool // it may have several
}

// of is a text of one line that stands there already.
func of(s string) textInput { return textInput{text: []rune(s), at: len([]rune(s))} }

func (t *textInput) String() string { return string(t.text) }

// insert takes what was typed or pasted. Where the text has one line, the end of a
// line in it is a blank: it sends nothing.
func (t *textInput) insert(s string) {
	for _, r := range strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n") {
		if r == '\t' || r == '\n' && !t.lines {
			r = ' '
		}
		if (r == '\n' || !unicode.IsControl(r)) && len(t.text) < maxTyped {
			t.text = slices.Insert(t.text, t.at, r)
			t.at++
		}
	}
}

// key takes a key that moves or takes away, and reports whether it is one.
func (t *textInput) key(k string) bool {
	begin, end := t.lineAt(t.at)
	switch k {
	case "left", "ctrl+b":
		t.at = max(t.at-1, 0)
	case "right", "ctrl+f":
		t.at = min(t.at+1, len(t.text))
	case "home", "ctrl+a":
		t.at = begin
	case "end", "ctrl+e":
		t.at = end
	case "up", "down":
		t.upDown(k == "up", begin, end)
	case "backspace":
		t.drop(t.at-1, t.at)
	case "delete", "ctrl+d":
		t.drop(t.at, t.at+1)
	case "ctrl+u":
		t.drop(begin, t.at)
	case "ctrl+k":
		t.drop(t.at, end)
	case "ctrl+w":
		from := t.at
		for from > begin && t.text[from-1] == ' ' {
			from--
		}
		for from > begin && t.text[from-1] != ' ' {
			from--
		}
		t.drop(from, t.at)
	case "ctrl+j", "alt+enter", "shift+enter":
		if t.lines {
			t.insert("\n")
		}
	default:
		return false
	}
	return true
}

// lineAt is where the line begins and ends in which a place is.
func (t *textInput) lineAt(at int) (begin, end int) {
	begin, end = at, at
	for begin > 0 && t.text[begin-1] != '\n' {
		begin--
	}
	for end < len(t.text) && t.text[end] != '\n' {
		end++
	}
	return begin, end
}

// upDown moves to the line above or below, at the same distance from its beginning.
func (t *textInput) upDown(up bool, begin, end int) {
	column := t.at - begin
	switch {
	case up && begin > 0:
		begin, end = t.lineAt(begin - 1)
	case !up && end < len(t.text):
		begin, end = t.lineAt(end + 1)
	default:
		return
	}
	t.at = min(begin+column, end)
}

func (t *textInput) drop(from, to int) {
	from, to = max(from, 0), min(to, len(t.text))
	if from < to {
		t.text = slices.Delete(t.text, from, to)
		t.at = from
	}
}

// A cell is a character as it is shown, or the cursor.
type cell struct {
	shown  string
	cursor bool
}

// shown is the text in lines of at most so many cells, and in which of them the
// cursor is.
func (t *textInput) shown(width int) (lines [][]cell, at int) {
	var line []cell
	used := 0
	end := func() { lines, line, used = append(lines, line), nil, 0 }
	for i := 0; i <= len(t.text); i++ {
		c, breaks := cell{shown: " ", cursor: i == t.at}, i == len(t.text) || t.text[i] == '\n'
		if !breaks {
			c.shown = holdgate.Visible(string(t.text[i]))
		}
		if n := page.Cells(c.shown); !breaks || c.cursor {
			if used+n > width {
				end()
			}
			line, used = append(line, c), used+n
		}
		if c.cursor {
			at = len(lines)
		}
		if breaks {
			end()
		}
	}
	return lines, at
}

// paint is a line of cells as a terminal shows it. Without colour the cursor is a
// mark in its place.
func paint(line []cell, colour bool) string {
	var b strings.Builder
	for _, c := range line {
		switch {
		case c.cursor && colour:
			b.WriteString(sgrReverse + c.shown + sgrOff)
		case c.cursor && c.shown == " ":
			b.WriteString("_")
		case c.cursor:
			b.WriteString("_" + c.shown)
		default:
			b.WriteString(c.shown)
		}
	}
	return b.String()
}
