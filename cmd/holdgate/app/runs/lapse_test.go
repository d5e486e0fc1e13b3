package runs

import (
	"testing"

	"github.com/holdgate/holdgate"
)

func TestWhatCannotBeUndoneAnyLongerIsNotProven(t *testing.T) {
	t.Parallel()
	own := false
	r := New(Config{Own: holdgate.Agent{ID: "own"}, Lapsed: func() bool { return own }})
	proven := func(id string) bool {
		return r.StillProven(holdgate.Agent{ID: id, Proofs: holdgate.Proofs{Undo: true}}).Undo
	}
	if !proven("own") || !proven("claude") {
		t.Error("nothing has lapsed, and undo is not proven")
	}
	own = true
	if proven("own") || !proven("claude") {
		t.Error("the one of this process has lapsed, and nothing else")
	}
	r.lapse("claude")
	if proven("claude") {
		t.Error("that of another process has lapsed")
	}
}
