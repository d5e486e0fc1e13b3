package approvals

import (
	"strings"
	"testing"
)

func TestTaskIsOneShortLine(t *testing.T) {
	t.Parallel()
	if got, want := quotedTask("mend\n the \u202etest"), "“mend the ⟨U+202E⟩test”"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := quotedTask(strings.Repeat("x", 1000)); len([]rune(got)) != maxTask+2 {
		t.Errorf("%d characters", len([]rune(got)))
	}
}
