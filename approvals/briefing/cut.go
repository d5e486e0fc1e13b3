package briefing

import (
	"fmt"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
)

// MaxSummary is how many characters a summary has at most, and what an effect says.
const MaxSummary = 200

// How much a briefing shows, in lines and in characters.
const (
	headLines = 120 // of a long section
	tailLines = 40
	maxLine   = 500 // characters of a line shown whole
	headLine  = 360 // of a longer one
	tailLine  = 100
	maxWhy    = 24 // lines
)

// summary sets the summary: one line of bounded length.
func (b *briefer) summary(s string) {
	b.b.Summary = oneLine(s)
}

// section adds a section, unless it is empty. What is too long is cut and
// counted; the rest is made visible. A diff's lines keep their sign in front.
func (b *briefer) section(title, kind string, lines []string) {
	if len(lines) == 0 {
		return
	}
	s := Section{Title: holdgate.Visible(title), Kind: kind}
	from, to := len(lines), len(lines)
	if len(lines) > headLines+tailLines {
		from, to = headLines, len(lines)-tailLines
	}
	for i, l := range lines {
		switch {
		case i == from:
			skipped := 0
			for _, l := range lines[from:to] {
				skipped += utf8.RuneCountInString(l) + 1
			}
			b.b.Counts.Cut += skipped
			s.Lines = append(s.Lines, fmt.Sprintf("⟨%d lines with %d characters not shown⟩", to-from, skipped))
		case i < from || i >= to:
			s.Lines = append(s.Lines, b.line(l))
		}
	}
	b.b.Sections = append(b.b.Sections, s)
}

// whole adds a section of which no line is left out, unless it is empty.
func (b *briefer) whole(title, kind string, lines []string) {
	if len(lines) == 0 {
		return
	}
	s := Section{Title: holdgate.Visible(title), Kind: kind}
	for _, l := range lines {
		s.Lines = append(s.Lines, b.line(l))
	}
	b.b.Sections = append(b.b.Sections, s)
}

func (b *briefer) line(l string) string {
	head, tail := cut(l, maxLine, headLine, tailLine)
	if len(head)+len(tail) == len(l) {
		return holdgate.Visible(l)
	}
	n := utf8.RuneCountInString(l[len(head) : len(l)-len(tail)])
	b.b.Counts.Cut += n
	return fmt.Sprintf("%s ⟨%d characters not shown⟩ %s", holdgate.Visible(head), n, holdgate.Visible(tail))
}

// cut returns the first and the last characters of a text that has more than
// limit of them, else the text.
func cut(s string, limit, first, last int) (head, tail string) {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s, ""
	}
	h := 0
	for range first {
		_, n := utf8.DecodeRuneInString(s[h:])
		h += n
	}
	t := len(s)
	for range last {
		_, n := utf8.DecodeLastRuneInString(s[h:t])
		t -= n
	}
	return s[:h], s[t:]
}
