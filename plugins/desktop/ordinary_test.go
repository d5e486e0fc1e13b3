package desktop

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// TestAnOrdinaryCallFitsIntoANotification holds that the six lines of 44 characters
// that desktops show say what happens, whether it can be undone and who wants it; and
// that the call is in them whole, or approving is not offered.
func TestAnOrdinaryCallFitsIntoANotification(t *testing.T) {
	t.Parallel()
	fits, able := 0, &server{can: usual}
	for _, n := range sdktest.Ordinary() {
		lines, whole := body(n, 6, 44)
		flat := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		for _, want := range []string{n.Summary, strings.Split(n.Undo, ":")[0], "claude (proven), for ada"} {
			if !strings.Contains(flat, want) {
				t.Errorf("%s does not say %q:\n%s", n.ID, want, strings.Join(lines, "\n"))
			}
		}
		if whole {
			fits++
		} else if c := (&Channel{conf: Config{Approve: always}}); slices.ContainsFunc(c.offers(n, able, whole), func(b button) bool { return b.do == sdk.Approve }) {
			t.Errorf("%s is not shown whole, and can be approved:\n%s", n.ID, strings.Join(lines, "\n"))
		}
	}
	if fits < 12 {
		t.Errorf("%d of 30 calls are shown whole", fits)
	}
}
