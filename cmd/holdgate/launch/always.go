package launch

import (
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// keepFor is how long a standing approval lasts that is made at a question. The
// other commands and the page make others.
const keepFor = 8 * time.Hour

// alwaysKinds are what a standing approval can cover, the narrowest first.
func (q *question) alwaysKinds() []record.MatchKind {
	kinds := []record.MatchKind{record.MatchExact}
	if q.r.Call.Tool != nil && (q.r.Risk == holdgate.RiskLow || q.r.Risk == holdgate.RiskMedium) {
		kinds = append(kinds, record.MatchTool)
	}
	if q.r.Call.HTTP != "" {
		kinds = append(kinds, record.MatchEndpoint)
	}
	return kinds
}

// extents are what a standing approval can cover and of what: each kind in the session,
// and where the task is known until that ends.
func (q *question) extents() (list []approvals.Remember) {
	scopes := []record.Scope{record.ScopeSession}
	if q.r.OfTask {
		scopes = append(scopes, record.ScopeTask)
	}
	for _, s := range scopes {
		for _, k := range q.alwaysKinds() {
			list = append(list, approvals.Remember{Scope: s, For: keepFor, Match: record.Match{Kind: k}})
		}
	}
	return list
}

// always shows what would be approved from now on; asked again, the next extent.
func (q *question) always() (answer, bool) {
	switch {
	case !q.keeps():
		q.note = "policy lets this call be approved for this time alone"
		return answer{}, false
	case !q.r.Briefing.Whole:
		q.note = q.elsewhere()
		return answer{}, false
	case !q.whole():
		q.note = q.notYet()
		return answer{}, false
	}
	extents := q.extents()
	at := 0
	if q.keep != nil {
		at = 1 + slices.IndexFunc(extents, func(m approvals.Remember) bool { return m.Scope == q.keep.Scope && m.Match.Kind == q.keep.Match.Kind })
	}
	q.keep = &extents[at%len(extents)]
	return answer{relay: true}, true
}

// keeps reports whether the call can be approved from now on.
func (q *question) keeps() bool {
	return q.r.Kind == holdgate.RequestApproval && q.allows("remember")
}

// alwaysPage is what a standing approval would cover, in words.
func (q *question) alwaysPage() []page.Line {
	lines := []page.Line{
		{Label: "always     ", Text: q.keep.Words(q.r), Style: page.Strong}, {},
		{Label: "what       ", Text: q.r.Briefing.Summary},
	}
	if len(q.extents()) > 1 {
		lines = append(lines, page.Line{}, page.Line{Text: "w shows another extent."})
	}
	return lines
}

// release is the approval as it stands: of the call, of what the person made of it, or
// of what comes after it too.
func (q *question) release() api.Decision {
	d := api.Decision{Decision: holdgate.AnswerApprove, Remember: q.keep}
	if q.change != nil {
		d = api.Decision{Decision: holdgate.AnswerEdit, Arguments: []byte(q.change.Arguments)}
	}
	return d
}
