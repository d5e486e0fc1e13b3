package launch

import (
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// The smallest width that a question is laid out for, and how many lines of the page
// there must be room for, or else what stands below it is short.
const (
	minCols  = 20
	fewLines = 4
)

// fit lays the page out for a terminal of this size and begins at its top: of
// a page that was laid out differently nobody knows what was seen.
func (q *question) fit(rows, cols int) {
	q.screens, q.at, q.seen, q.rows, q.cols = nil, 0, 0, rows, max(cols, minCols)
	if len(q.page) == 0 {
		q.page = []page.Line{{}}
	}
	lines := page.Wrap(q.page, q.cols-1)
	if q.folded = false; !q.all {
		lines, q.folded = q.fold(lines)
	}
	q.terse = false
	room := q.room(len(lines))
	if q.terse = room < min(fewLines, len(lines)); q.terse {
		room = q.room(len(lines))
	}
	q.cramped = room < 1 || cols < minCols
	room = max(room, 1)
	for s := range slices.Chunk(lines, room) {
		q.screens = append(q.screens, s)
	}
	q.need = (page.Needed(lines) + room - 1) / room
}

// fold shortens long parts of the call: to what fits the first screen beside all else that
// a person must know, where the question would take more than one.
func (q *question) fold(lines []page.Line) ([]page.Line, bool) {
	need := page.Needed(lines)
	folding := *q
	folding.folded, folding.terse = true, false
	room := folding.room(len(lines))
	if need <= room {
		return q.foldTo(lines, page.FoldOver, page.FoldTo)
	}
	for to := page.FoldTo; to > fewestCode; to-- {
		if short, some := q.foldTo(lines, to+1, to); page.Needed(short) <= room {
			return short, some
		}
	}
	return q.foldTo(lines, fewestCode+1, fewestCode)
}

// foldTo is [page.Fold], and what it says of the rest is as wide as the terminal.
func (q *question) foldTo(lines []page.Line, over, to int) ([]page.Line, bool) {
	short, some := page.Fold(lines, "m", over, to)
	return page.Wrap(short, q.cols-1), some
}

// fewestCode is how many lines of a part of the call are shown at least.
const fewestCode = 3

// room is how many of a page's lines fit the terminal at a time, whatever stands below
// them but a note; under 1 where none do.
func (q *question) room(lines int) int {
	end := *q
	end.step, end.need, end.cramped, end.folded = stepAnswer, 0, false, false // all was shown
	ask := len(q.wrapped(end.prompt()))
	if end.folded = q.folded; q.folded {
		ask = max(ask, len(q.wrapped(end.prompt())))
	}
	room := q.rows - 1 - ask
	if lines < room {
		return room - 1 // one screen, with nothing to say of others
	}
	talk := 0
	for _, form := range []string{talkNext, talkMore, talkTerse} {
		if q.terse == (form == talkTerse) {
			talk = max(talk, len(q.wrapped(fmt.Sprintf(form, lines, lines))))
		}
	}
	if !q.terse {
		talk = max(talk, len(q.wrapped(talkAll)))
	}
	return room - talk
}
