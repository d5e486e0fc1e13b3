package page

import (
	"fmt"
	"strings"
	"unicode"
)

// A Style says how a line is to look where there is colour. Nothing rests on
// it.
type Style int

// The styles.
const (
	Plain Style = iota
	Strong
	Alarm
	Added
	Removed
	Faint
)

// A Line is one line of a page: a mark or label, and a text.
type Line struct {
	Label string // of fixed width; what does not fit goes on below it
	Text  string
	Style Style // of the text
	SQL   bool  // it is SQL: where there is colour it has that of the language
	More  bool  // it is beside the question, which can be answered without it
}

// Marks that stand before every line of a call, and of what an agent says.
const (
	callMark  = "  | "
	agentMark = "  > "
	indent    = "  " // of headings: at the edge there is nothing but labels
	labelCols = 11
	leftLabel = "time left"
)

// What stands around the agent's own words, at the edge where nothing of theirs can.
const (
	beginSaid = "-- the agent says: its word, not checked --"
	endSaid   = "-- end of what the agent says --"
)

// Needed is how many of the lines of a page, from its top, a person must have seen
// to know what they answer.
func Needed(lines []Line) int {
	n := len(lines)
	for n > 0 && (lines[n-1].More || lines[n-1].Text == "") {
		n--
	}
	return n
}

// Text is the page as text of the given width in cells; 0 is any width.
func Text(lines []Line, width int, colour bool) string {
	var b strings.Builder
	for _, l := range Wrap(lines, width) {
		b.WriteString(l.String(colour) + "\n")
	}
	return b.String()
}

// Code reports whether the line is of the call itself, as it was written. Every
// other line is prose.
func (l Line) Code() bool { return l.Label == callMark }

// Left reports whether the line says how much time is left: another moment, another text.
func (l Line) Left() bool { return strings.TrimRight(l.Label, " ") == leftLabel }

// Heading reports whether the line is the name of the lines below it.
func (l Line) Heading() bool { return l.Label == indent }

// Said reports whether the line is the agent's own word.
func (l Line) Said() bool { return l.Label == agentMark }

// Frames reports whether the line stands around the agent's own words: to be left out
// where a place marks those as what they are.
func (l Line) Frames() bool { return l.Label == "" && (l.Text == beginSaid || l.Text == endSaid) }

// Wrap breaks lines that are wider than a screen. What goes on below keeps the
// mark of its line, or the space of its label, and never begins at the edge. Prose
// and calls that were made before are broken between words, where they have any.
func Wrap(lines []Line, width int) (wrapped []Line) {
	for _, l := range lines {
		if width <= 0 || Cells(l.Label)+Cells(l.Text) <= width {
			wrapped = append(wrapped, l)
			continue
		}
		below := l.Label
		if below != callMark && below != agentMark {
			below = strings.Repeat(" ", max(Cells(l.Label), 2))
		}
		label := l.Label
		for part := range chunks(l.Text, max(width-Cells(below), 2), l.More || !l.Code()) {
			wrapped = append(wrapped, Line{Label: label, Text: part, Style: l.Style, SQL: l.SQL, More: l.More})
			label = below
		}
	}
	return wrapped
}

// A part of a call that has more than FoldOver lines on the screen is folded to its
// first FoldTo, where a screen has no needs of its own.
const (
	FoldOver = 60
	FoldTo   = 20
)

// Fold cuts parts of the call of more than over lines to their first ones, and reports
// whether there are any. What says so, and names the key that shows all, stands where
// nothing of the call can. The lines have been wrapped.
func Fold(lines []Line, key string, over, to int) (short []Line, some bool) {
	for len(lines) > 0 {
		n := 0
		for n < len(lines) && lines[n].Code() {
			n++
		}
		switch {
		case n == 0:
			short, lines = append(short, lines[0]), lines[1:]
			continue
		case n <= over:
			short = append(short, lines[:n]...)
		default:
			some = true
			short = append(short, lines[:to]...)
			short = append(short, Line{Label: "  ", Text: fmt.Sprintf("%d more lines are not shown: %s shows all of it", n-to, key), Style: Alarm})
		}
		lines = lines[n:]
	}
	return short, some
}

// Inert replaces what a terminal would obey. Holdgate has written it out
// already; nothing here rests on that.
func Inert(s string) string {
	if !strings.ContainsFunc(s, obeyed) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if obeyed(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func obeyed(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
