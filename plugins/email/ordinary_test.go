package email

import (
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// TestAnOrdinaryCallIsReadInTheFirstScreen holds that the subject names risk, what and
// who, and that the first 24 lines of the text, and the head of the HTML, say what
// happens, whether it can be undone and who wants it; and where to answer.
func TestAnOrdinaryCallIsReadInTheFirstScreen(t *testing.T) {
	t.Parallel()
	subjects := map[string]bool{}
	for _, n := range sdktest.Ordinary() {
		l := letter{to: "ann@example.com", subject: subject(n), lines: page.Of(n, time.Now()), link: "https://approve.example/#x"}
		if s := l.subject; !strings.HasPrefix(s, "[Holdgate] "+n.Risk+" risk: "+n.Summary[:min(len(n.Summary), 15)]) || !strings.HasSuffix(s, " (claude)") {
			t.Errorf("%s: subject %q", n.ID, s)
		}
		subjects[l.subject] = true
		body, err := l.html()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(l.text(), "\n")
		first := strings.Join(strings.Fields(strings.Join(lines[:min(len(lines), 24)], " ")), " ")
		for _, want := range []string{n.Summary, n.Undo, "claude (proven), for ada"} {
			if !strings.Contains(first, want) {
				t.Errorf("%s: the first screen does not say %q:\n%s", n.ID, want, l.text())
			}
		}
		link, call := strings.Index(body, "Open the request"), strings.Index(body, "<pre")
		if link < 0 || call < 0 || link > call {
			t.Errorf("%s: the link stands at %d, the call at %d", n.ID, link, call)
		}
	}
	if len(subjects) < 29 {
		t.Errorf("%d subjects of 30 mails", len(subjects))
	}
}
