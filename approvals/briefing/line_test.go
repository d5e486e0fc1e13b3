package briefing_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

// A line about a call ends with a whole word, where it has some.
func TestALineEndsWithAWord(t *testing.T) {
	for name, c := range map[string]struct{ command, want string }{
		"what fits":           {"ls -l", "Bash: ls -l"},
		"between words":       {strings.Repeat("echo some words && ", 9), "Bash: " + strings.Repeat("echo some words && ", 6)[:113] + "…"},
		"behind a whole word": {strings.Repeat("a", 114) + " b", "Bash: " + strings.Repeat("a", 114) + "…"},
		"one long word":       {strings.Repeat("a", 200), "Bash: " + strings.Repeat("a", 114) + "…"},
		"wide characters":     {strings.Repeat("漢字 ", 60), "Bash: " + strings.TrimSpace(strings.Repeat("漢字 ", 38)) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []byte(`{"command":"` + c.command + `"}`)
			if got := briefing.Line(&holdgate.Tool{Name: "Bash", Arguments: args}); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
