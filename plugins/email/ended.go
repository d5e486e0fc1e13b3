package email

import (
	"strings"
	"time"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// ended says in a few lines what became of a request.
func ended(n sdk.Notice) []page.Line {
	how := n.Status
	if o := n.Outcome; o != nil {
		if o.By != "" {
			how += " by " + o.By
		}
		if !o.At.IsZero() {
			how += " at " + o.At.UTC().Format(time.DateTime) + " UTC"
		}
		if o.Decision == "timeout" {
			how += ", for nobody answered in time"
		}
		for _, more := range []string{o.Reason, o.Instructions, o.Choice} {
			if more != "" {
				how += ": " + more
			}
		}
	}
	return []page.Line{
		{Label: "request    ", Text: inert(n.ID)},
		{Label: "status     ", Text: inert(how), Style: page.Strong},
		{Label: "what       ", Text: inert(n.Summary)},
		{},
	}
}

// inert replaces what a screen would obey. Holdgate has written it out already;
// nothing here rests on that.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
