package app

import (
	"testing"

	"github.com/holdgate/holdgate"
)

func TestWhatCannotBeUndoneAnyLongerIsNotProven(t *testing.T) {
	t.Parallel()
	own := false
	a := &App{o: Options{Agent: holdgate.Agent{ID: "own"}, UndoLapsed: func() bool { return own }}}
	a.runs = newRuns(a)
	proven := func(id string) bool {
		return a.runs.stillProven(holdgate.Agent{ID: id, Proofs: holdgate.Proofs{Undo: true}}).Undo
	}
	if !proven("own") || !proven("claude") {
		t.Error("nothing has lapsed, and undo is not proven")
	}
	own = true
	if proven("own") || !proven("claude") {
		t.Error("the one of this process has lapsed, and nothing else")
	}
	a.runs.lapse("claude")
	if proven("claude") {
		t.Error("that of another process has lapsed")
	}
}
