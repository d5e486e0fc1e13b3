package record

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

// Row names the row in which a screen shows a request: HTTP requests of one session
// with the same method, host and path, about which the same rule asks, are one row
// and one question. It is empty where a request is a row of its own. Each keeps its
// digest, and is decided by itself: an answer is for those of the row that were
// shown, and for none that came later.
func (r Request) Row() string {
	if r.Call.Kind != holdgate.KindHTTPRequest || r.Call.HTTP == "" || r.Call.Result != nil || r.Kind != holdgate.RequestApproval ||
		r.Risk == holdgate.RiskCritical || r.Briefing.Hidden > 0 {
		return ""
	}
	return strings.Join([]string{
		r.Agent.ID, strconv.FormatBool(r.Agent.Proven), r.Agent.Confinement, r.Session.ID, r.Door,
		r.Rule, r.Gate, string(r.Risk), r.Call.HTTP,
	}, "\x00")
}

// SameRow returns those of a list that are of the row of a request, itself among
// them, or the request alone.
func (r Request) SameRow(list []Request) []Request {
	row := r.Row()
	same := []Request{r}
	for _, o := range list {
		if row != "" && o.ID != r.ID && o.Row() == row {
			same = append(same, o)
		}
	}
	return same
}

// Alike reports whether a screen that groups what waits shows both requests as one
// row: those of one agent and session, by one rule and gate, of one risk and shape.
// What is hidden in a request keeps it alone. Each is still decided by itself.
func (r Request) Alike(o Request) bool {
	return r.Shape != "" && o.Shape == r.Shape && o.Agent == r.Agent && o.Session == r.Session && o.Rule == r.Rule && o.Gate == r.Gate && o.Risk == r.Risk && (o.RunEnded == nil) == (r.RunEnded == nil)
}

// Left says that nobody waits for a request any more, since when, and what an answer does.
func (r Request) Left(now time.Time) string {
	at, layout := r.RunEnded.Local(), "15:04"
	if now.Sub(at) > 20*time.Hour {
		layout = "2 January, 15:04"
	}
	return "nobody waits for this any more: it is from a run that ended at " + at.Format(layout) + "; an approval still counts if the agent asks again"
}

// Mentions reports whether a text stands in what a screen shows of the request's own
// call, in capitals or not. What the session did before does not count: it would find
// every later request as well.
func (r Request) Mentions(text string) bool {
	parts := []string{r.Briefing.Summary, r.Agent.ID, r.Session.ID, r.Rule, string(r.Risk)}
	for _, s := range r.Briefing.Sections {
		if s.Kind != briefing.KindBefore {
			parts = append(parts, s.Lines...)
		}
	}
	return strings.Contains(strings.ToLower(strings.Join(parts, "\n")), strings.ToLower(text))
}

// ByUrgency compares requests: those that somebody waits for come first, then by risk, the
// highest first, then by the time that is left.
func ByUrgency(a, b Request) int {
	return cmp.Or(number(a.RunEnded != nil)-number(b.RunEnded != nil), severity(b.Risk)-severity(a.Risk), a.ExpiresAt.Compare(b.ExpiresAt))
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// MoreUrgent orders entries of the index as [ByUrgency] orders requests.
func MoreUrgent(a, b StoredAsked) int {
	return cmp.Or(number(a.Left)-number(b.Left), severity(b.Risk)-severity(a.Risk), a.Expires.Compare(b.Expires))
}

// severity ranks risks. What is not known counts as the highest.
func severity(r holdgate.Risk) int {
	i := slices.Index([]holdgate.Risk{holdgate.RiskLow, holdgate.RiskMedium, holdgate.RiskHigh, holdgate.RiskCritical}, r)
	if i < 0 {
		return 4
	}
	return i
}

// Graver is the greater of two risks. What is not known counts as the greatest.
func Graver(a, b holdgate.Risk) holdgate.Risk {
	if severity(a) >= severity(b) {
		return a
	}
	return b
}
