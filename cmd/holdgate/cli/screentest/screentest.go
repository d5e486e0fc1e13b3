// Package screentest checks what commands show of texts that others wrote: an agent, a
// client, another person.
package screentest

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// Hostile are texts that would like to be more than a text.
var Hostile = []string{
	"", "rm -rf x", "a\x1b[2J\nid1  x", "a\tb\tc", strings.Repeat(" ", 90) + "id1  allowed", "\u202eid2\u200b\r\nid2", "漢字漢字漢字漢字", "\xff\x9b31m",
	"\x1b]0;x\a\x1b]9;y\x1b\\", "\v\f\u2028id2\u2029", "e\u0301\u0301\U0001F468\u200d\U0001F469", strings.Repeat("x", 200) + "\n13  2026-11-27 12:00:00  decision: allow",
}

// Check fails where a text has what a terminal obeys, a line of more cells than the width
// (0 is any), or one that does not begin as the renderer begins its own.
func Check(t *testing.T, text string, width int, begins ...string) {
	t.Helper()
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.ContainsFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
			t.Errorf("a character that a terminal obeys: %q", l)
		}
		if n := page.Cells(strings.TrimRight(l, " ")); width > 0 && n > width {
			t.Errorf("%d cells on %d columns: %q", n, width, l)
		}
		if l != "" && !slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(l, b) }) {
			t.Errorf("a line that is not ours: %q", l)
		}
	}
}
