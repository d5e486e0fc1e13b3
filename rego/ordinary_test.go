package rego

import (
	"os"
	"testing"

	"github.com/holdgate/holdgate"
)

// lines are the shell texts of a table of rego/facts.
func lines(t *testing.T, file string) []string {
	t.Helper()
	body, err := os.ReadFile("facts/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range shellFile(t, string(body)) {
		texts = append(texts, c.text)
	}
	return texts
}

// places are what is known of the folder that a command runs in.
var places = []Input{{}, {Dir: "/w", Home: "/home/u"}}

// TestPackLetsOrdinaryCommandsThrough holds that the shipped pack asks about
// at most 2 % of what coding agents do every day.
func TestPackLetsOrdinaryCommandsThrough(t *testing.T) {
	p := loaded(t, "")
	commands := lines(t, "ordinary.txt")
	if len(commands) < 120 {
		t.Fatalf("%d commands were read, want 120 at least", len(commands))
	}
	for _, place := range places {
		held := 0
		for _, command := range commands {
			if d := decideAt(t, p, place, command); d.Action != holdgate.Allow {
				held++
				t.Logf("in %q, %v by %s: %s", place.Dir, d.Action, d.Rule, command)
			}
		}
		if held*50 > len(commands) {
			t.Errorf("in %q, %d of %d ordinary commands were held, want at most 2 %%", place.Dir, held, len(commands))
		}
	}
}

// TestPackLetsNothingDestructiveThrough holds that no disguise makes the pack
// allow a line that destroys something.
func TestPackLetsNothingDestructiveThrough(t *testing.T) {
	p := loaded(t, "")
	commands := lines(t, "destructive.txt")
	if len(commands) < 60 {
		t.Fatalf("%d commands were read, want 60 at least", len(commands))
	}
	for _, place := range places {
		for _, command := range commands {
			if d := decideAt(t, p, place, command); d.Action == holdgate.Allow {
				t.Errorf("in %q, it was allowed by %s: %s", place.Dir, d.Rule, command)
			}
		}
	}
}
