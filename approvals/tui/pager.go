package tui

import (
	"fmt"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A pager shows lines screen by screen, and knows how far they were shown.
type pager struct {
	lines  []page.Line
	need   int // how many must have been shown
	height int // how many are shown at once
	top    int // the first of them
	seen   int // how many were shown so far
	since  time.Time
}

// begin shows lines from their top: of what was laid out differently nobody knows
// what was seen.
func (p *pager) begin(lines []page.Line, room int, now time.Time) {
	*p = pager{lines: lines, need: page.Needed(lines), height: room, since: now}
	p.scroll(0, now)
}

// scroll moves on. Seeing lines counts.
func (p *pager) scroll(by int, now time.Time) {
	top := min(max(p.top+by, 0), max(len(p.lines)-p.height, 0))
	if top != p.top {
		p.top, p.since = top, now
	}
	p.seen = max(p.seen, min(p.top+p.height, len(p.lines)))
}

// scrollKey takes a key that scrolls, and reports whether it is one.
func (p *pager) scrollKey(k string, now time.Time) bool {
	by := 0
	switch k {
	case "j", "down":
		by = 1
	case "k", "up":
		by = -1
	case "space", "enter", "pgdown":
		by = max(p.height-1, 1)
	case "b", "pgup":
		by = -max(p.height-1, 1)
	default:
		return false
	}
	p.scroll(by, now)
	return true
}

// whole reports whether all that matters was shown.
func (p *pager) whole() bool { return p.seen >= p.need }

// position says how to read on, and what comes of it, where there is more than a
// screen. What must have been shown counts by itself: below it is something else.
func (p *pager) position(then, below string) string {
	last := min(p.top+p.height, len(p.lines))
	switch {
	case len(p.lines) <= p.height:
		return ""
	case !p.whole() && then != "":
		return fmt.Sprintf("  space on, then %s (%d-%d of %d)", then, p.top+1, last, p.need)
	case p.whole() && below != "" && p.top == 0 && p.need < len(p.lines):
		return "  space " + below
	}
	return fmt.Sprintf("  space on (%d-%d of %d)", p.top+1, last, len(p.lines))
}

// shown are the lines that are shown.
func (p *pager) shown(colour bool) (lines []string) {
	for _, l := range p.lines[p.top:min(p.top+p.height, len(p.lines))] {
		lines = append(lines, l.String(colour))
	}
	return lines
}
