package briefing_test

import (
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

func TestWhatARunKeepsCanBeUndone(t *testing.T) {
	t.Parallel()
	file := holdgate.Effect{Kind: holdgate.EffectDelete, What: "file", Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Deletes a"}
	code := holdgate.Effect{Kind: holdgate.EffectRun, What: "code", Undoable: holdgate.UndoableUnknown, Because: "code", Says: "Runs b"}
	inside := holdgate.Path{Path: "/w/a", Access: "delete", Inside: true}
	hook := holdgate.Path{Path: "/w/.git/hooks/x", Access: "write", Inside: true, Class: "persistence"}
	kept := holdgate.Agent{Confinement: "strong", Proofs: holdgate.Proofs{Undo: true}}
	for _, c := range []struct {
		name    string
		agent   holdgate.Agent
		effects []holdgate.Effect
		paths   []holdgate.Path
		want    string
	}{
		{"kept", kept, []holdgate.Effect{file}, []holdgate.Path{inside}, "can be undone: holdgate undo"},
		{"not kept", holdgate.Agent{Confinement: "strong"}, []holdgate.Effect{file}, []holdgate.Path{inside}, "can be undone where git keeps the files"},
		{"it runs code too", kept, []holdgate.Effect{file, code}, []holdgate.Path{inside}, "can be undone where git keeps the files"},
		{"what runs later by itself", kept, []holdgate.Effect{file}, []holdgate.Path{inside, hook}, "can be undone where git keeps the files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			call := holdgate.Call{Kind: holdgate.KindToolCall, Agent: c.agent, Tool: &holdgate.Tool{Name: "Bash"}}
			b := briefing.Make(call, 0, holdgate.Decision{Facts: &holdgate.Facts{Effects: c.effects, Paths: c.paths}})
			if b.Undo != c.want {
				t.Errorf("it says %q, want %q", b.Undo, c.want)
			}
		})
	}
}
