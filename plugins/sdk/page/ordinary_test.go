package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// TestTheFirstScreenOfAPage holds that what "holdgate show" and "holdgate approve" print
// says on the first screen of 80x24 what happens, to what, whether it can be undone, who
// wants it and why, for calls of ten kinds.
func TestTheFirstScreenOfAPage(t *testing.T) {
	t.Parallel()
	for _, n := range sdktest.Ordinary() {
		lines := strings.Split(page.Text(page.Of(n, time.Now()), 80, false), "\n")
		first := strings.Join(lines[:min(len(lines), 23)], "\n")
		for _, want := range []string{"what       ", "risk       " + n.Risk + ", " + n.Undo, "agent      claude (proven)", "time left  ", "  | ", "why        ", "where      "} {
			if !strings.Contains(first, want) {
				t.Errorf("%s: the first screen does not say %q:\n%s", n.ID, want, first)
			}
		}
		for _, l := range lines {
			if page.Cells(l) > 80 {
				t.Errorf("%s: %d wide: %s", n.ID, page.Cells(l), l)
			}
		}
	}
}
