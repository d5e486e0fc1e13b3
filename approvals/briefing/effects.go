package briefing

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
)

// maxEffects is how many effects are listed.
const maxEffects = 20

// effects takes over what the call does, and says whether that can be undone.
func (b *briefer) effects() {
	if b.facts == nil {
		return
	}
	for _, e := range b.facts.Effects[:min(len(b.facts.Effects), maxEffects)] {
		e.Where, e.As, e.On, e.Says = oneLine(e.Where), oneLine(e.As), oneLine(e.On), oneLine(e.Says)
		b.b.Effects = append(b.b.Effects, e)
	}
	b.b.Undo = undo(b.facts.Effects)
	if len(b.facts.ParseErrors) > 0 && b.b.Undo != CannotBeUndone {
		b.b.Undo = "may not be undone: not all of it could be read"
	}
}

// byRun says so where all that the call does can be taken back with the agent's run:
// what it does to files in the folder that `holdgate run --undo` covers. What runs later
// by itself may have run before that.
func (b *briefer) byRun(agent holdgate.Agent) {
	if b.facts == nil || b.b.Undo == "" || !agent.Undo || agent.Confinement != "strong" {
		return
	}
	files := false
	for _, e := range b.facts.Effects {
		if e.Undoable == holdgate.UndoableUnknown && e.Because == "git" {
			files = true
		} else if e.Undoable != holdgate.UndoableYes {
			return
		}
	}
	later := slices.ContainsFunc(b.facts.Paths, func(p holdgate.Path) bool { return p.Class == "persistence" && p.Access != "read" })
	if files && !later {
		b.b.Undo = "can be undone: holdgate undo"
	}
}

// oneLine is a text of bounded length that is safe to show.
func oneLine(s string) string {
	return holdgate.Visible(shortened(flat(s), MaxSummary))
}

// flat is a text on one line.
func flat(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ⏎ ")
}

// shortened is a text of at most so many characters.
func shortened(s string, most int) string {
	if head, _ := cut(s, most, most-1, 0); head != s {
		return head + "…"
	}
	return s
}

// worst is what the first of the effects says, then the first one that does harm of
// another sort, and how many there are besides that leave something behind. What follows
// comes last, and fits: neither sort of harm can push the other one out.
func worst(effects []holdgate.Effect, follows string) string {
	first, second, more := effects[0], "", 0
	for _, e := range effects[1:] {
		switch {
		case second == "" && e.Harm != "" && e.Harm != first.Harm:
			second = e.Says
		case !e.Plain():
			more++
		}
	}
	if more > 0 {
		follows = fmt.Sprintf(", and %d more", more) + follows
	}
	room := MaxSummary - utf8.RuneCountInString(follows)
	says, also := flat(first.Says), ""
	if second != "" {
		also = flat(Also(second))
	}
	says = shortened(says, max(room/2, room-utf8.RuneCountInString(also)))
	return says + shortened(also, room-utf8.RuneCountInString(says)) + follows
}

// Also is how a summary goes on with a second effect.
func Also(says string) string {
	r, n := utf8.DecodeRuneInString(says)
	return "; " + string(unicode.ToLower(r)) + says[n:]
}

// CannotBeUndone is what Undo says of what cannot be taken back.
const CannotBeUndone = "cannot be undone"

// WhereGitKeeps says of changes of files that git can take them back, if it keeps them.
const WhereGitKeeps = "can be undone where git keeps the files"

// undo says whether effects can be taken back: what cannot is never hidden behind
// what can.
func undo(effects []holdgate.Effect) string {
	is := func(u holdgate.Undoable) func(holdgate.Effect) bool {
		return func(e holdgate.Effect) bool { return e.Undoable == u }
	}
	if slices.ContainsFunc(effects, is(holdgate.UndoableNo)) {
		return CannotBeUndone
	}
	if i := slices.IndexFunc(effects, is(holdgate.UndoableUnknown)); i >= 0 {
		switch effects[i].Because {
		case "git":
			return WhereGitKeeps
		case "code", "scripts":
			return "may not be undone: what it runs could do anything"
		case "tool":
			return "may not be undone: only its name tells what it does"
		case "remote":
			return "may not be undone: it happens elsewhere"
		}
		return "may not be undone"
	}
	switch {
	case len(effects) == 0:
		return ""
	case !slices.ContainsFunc(effects, func(e holdgate.Effect) bool { return !e.Plain() }):
		return "changes nothing"
	}
	return "can be undone"
}
