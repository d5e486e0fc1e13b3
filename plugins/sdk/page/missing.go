package page

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Missing says what of the call a reader does not see, or nothing.
func Missing(n sdk.Notice) string { return missing(n, false) }

// missing says so too. Where the reasons are shown, they name what is known only
// once the call runs.
func missing(n sdk.Notice, reasons bool) string {
	c := n.Counts
	if reasons && len(n.Why) > 0 {
		c.Unresolved, c.Unbound = 0, 0
	}
	var parts []string
	for _, m := range []struct {
		n         int
		one, many string
	}{
		{c.Redacted, "value hidden by policy", "values hidden by policy"},
		{c.Cut, "character more", "characters more"},
		{c.Commands, "command not listed", "commands not listed"},
		{c.Unresolved, "part not known before it runs", "parts not known before it runs"},
		{c.Unbound, "file whose content nobody was shown", "files whose content nobody was shown"},
	} {
		switch m.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+m.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", m.n, m.many))
		}
	}
	if len(parts) == 0 && n.Hidden > 0 {
		parts = append(parts, fmt.Sprintf("%d values or characters", n.Hidden))
	}
	if !n.Whole {
		parts = append(parts, "NOT THE WHOLE CALL AS IT IS: see holdgate show "+n.ID+" --full")
	}
	return strings.Join(parts, ", ")
}

// Word is what a person must type in full to approve: nothing special where
// the risk is low or medium and all is shown; where it is critical the name of what
// the request is about as well, or of a Holdgate that does not say that, its gate or itself.
func Word(n sdk.Notice) string {
	switch n.Risk {
	case sdk.RiskLow, sdk.RiskMedium:
		if n.Hidden == 0 && n.Whole {
			return ""
		}
	case sdk.RiskCritical:
		return "approve " + Inert(cmp.Or(n.Subject, n.Gate, n.ID))
	}
	return "approve"
}

// short is the form of a digest that people compare by eye.
func short(digest string) string { return digest[:min(len(digest), 12)] }
