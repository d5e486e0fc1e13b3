package launch

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

var screens = flag.String("screens", "", "write the first screen of each ordinary call into this folder")

// ordinaryQuestions are the questions about calls of ten kinds, and about long ones.
func ordinaryQuestions() map[string]*question {
	all := map[string]*question{}
	add := func(n sdk.Notice) {
		r := approvals.Request{ID: n.ID, Kind: holdgate.RequestApproval, Risk: holdgate.Risk(n.Risk), Status: holdgate.StatusPending, ExpiresAt: n.ExpiresAt}
		r.Briefing.Whole, r.Allow = true, []string{"steer", "edit"}
		r.Call.Tool = &approvals.ToolView{Name: n.Call.Target}
		all[n.ID] = &question{r: r, page: page.Of(n, time.Now()), pages: true}
	}
	for _, n := range sdktest.Ordinary() {
		add(n)
		if n.ID == "k3v9q2m7x416" { // Python that deletes
			n.ID, n.Sections = "long", append([]sdk.Section(nil), n.Sections...)
			for range 200 {
				n.Sections[0].Lines = append(n.Sections[0].Lines, "print('one line more of the program')")
			}
			add(n)
		}
	}
	return all
}

// TestTheFirstScreenOfRunSaysWhatToKnow holds that the first screen of 80x24 answers what
// happens, to what, whether it can be undone and who wants it, and that nobody has to read
// on to approve an ordinary call. Of a long one the beginning stands there.
func TestTheFirstScreenOfRunSaysWhatToKnow(t *testing.T) {
	all := ordinaryQuestions()
	if len(all) < 31 {
		t.Fatalf("%d questions", len(all))
	}
	for id, q := range all {
		q.fit(24, 80)
		screen := q.text()
		for _, want := range []string{"what       ", "risk       ", "agent      claude (proven)", "time left  ", "why        ", "where      ", "  | "} {
			if !strings.Contains(screen, want) {
				t.Errorf("%s: the first screen does not say %q:\n%s", id, want, screen)
			}
		}
		if long := id == "long"; q.need > 1 || q.folded != long {
			t.Errorf("%s: %d screens must be read, folded %v:\n%s", id, q.need, q.folded, screen)
		}
		if n := strings.Count(screen, "\n") + 1; n > 24 {
			t.Errorf("%s: %d lines on a terminal of 24", id, n)
		}
		if *screens != "" {
			if err := os.WriteFile(filepath.Join(*screens, id+".txt"), []byte(screen+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
