package telegram

import (
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// What a phone shows of a message: characters in a line, and lines above the buttons
// of a message that fills the screen.
const (
	phoneColumns = 40
	phoneLines   = 24
)

// phone is a message as a phone of that width breaks it.
func phone(text string) (lines []string) {
	for l := range strings.SplitSeq(text, "\n") {
		for _, w := range page.Wrap([]page.Line{{Text: l}}, phoneColumns) {
			lines = append(lines, w.Label+w.Text)
		}
	}
	return lines
}

// TestAnOrdinaryCallTakesOneScreenOfAPhone holds that the first screen says what
// happens, to what, whether it can be undone and who wants it, that the call comes
// with it, and that nothing is broken but by the phone.
func TestAnOrdinaryCallTakesOneScreenOfAPhone(t *testing.T) {
	t.Parallel()
	for _, n := range sdktest.Ordinary() {
		text := requestText(n, time.Now())
		if !text.whole || text.page == nil {
			t.Errorf("%s is not shown whole", n.ID)
		}
		m := text.message(1)
		if !strings.Contains(m.Text, n.Summary+"\n") {
			t.Errorf("%s: the summary is broken:\n%s", n.ID, m.Text)
		}
		lines := phone(m.Text)
		first := strings.Join(lines[:min(len(lines), phoneLines)], "\n")
		flat := strings.Join(strings.Fields(first), "")
		for _, want := range []string{n.Summary, n.Undo, "claude (proven), for ada"} {
			if !strings.Contains(flat, strings.Join(strings.Fields(want), "")) {
				t.Errorf("%s: the first screen does not say %q:\n%s", n.ID, want, first)
			}
		}
		if s := n.Sections[0]; !strings.Contains(flat, strings.Join(strings.Fields(s.Lines[0]), "")) {
			t.Errorf("%s: the first screen does not show the call:\n%s", n.ID, first)
		}
	}
}
