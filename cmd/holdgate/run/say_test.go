package run

import (
	"strings"
	"testing"
)

func TestALineIsAsWideAsTheTerminalAndItsCommandWhole(t *testing.T) {
	t.Parallel()
	const text, command = "a question of an earlier run is still open, though nobody waits for it:", "holdgate show abc --state-dir /home/ada/a/folder/far/below"
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "note: " + text + " " + command + "\n"},
		{200, "note: " + text + " " + command + "\n"},
		{60, "note: a question of an earlier run is still open, though \n      nobody waits for it:\n      " + command + "\n"},
	} {
		var b strings.Builder
		said(&b, c.width, "note: ", text, command)
		if b.String() != c.want {
			t.Errorf("%d columns:\n%s\nwant\n%s", c.width, b.String(), c.want)
		}
	}
}
