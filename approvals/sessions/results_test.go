package sessions_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/sessions"
)

func TestTheLatestResultsCount(t *testing.T) {
	r := sessions.Results(strings.Repeat("-", 15)).Plus(sessions.Results(strings.Repeat("+", 10)))
	if got := r.Count(); got != (sessions.Ended{Succeeded: 10, Failed: 10}) {
		t.Errorf("of 15 errors and then 10 others the latest twenty are %+v", got)
	}
	if r = r.And(false); !strings.HasSuffix(string(r), "+-") || len(r) != 20 {
		t.Errorf("with one more: %q", r)
	}
	for _, c := range []struct {
		r    sessions.Results
		want string
	}{{"", ""}, {"++", "none of the latest 2 results was an error"}, {"+--", "2 of the latest 3 results were errors"}} {
		if got := c.r.Count().String(); got != c.want {
			t.Errorf("%q in words: %q, want %q", c.r, got, c.want)
		}
	}
}
