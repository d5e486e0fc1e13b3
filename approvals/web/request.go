package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/briefing"
)

// A question is one request as the visitor sees it.
type requestPage struct {
	approvals.Request

	Pending   bool
	Mine      bool     // the visitor may approve it
	Names     []string // who may, by name; none where nobody is configured
	Approving int      // votes for it so far
	Quorum    int      // how many of them it takes
	Still     []string // who may still answer
	Unsigned  string   // why nobody can sign an approval, or nothing
	More      string   // what policy says besides the reason
	Off       *approvals.Deferral
	Does      []briefing.Section // what it does
	Said      []briefing.Section // what the agent says
	Before    []briefing.Section // what the session did
	Full      []string           // the arguments in full, where the visitor asked for them
	Closed    string             // why it cannot be approved here, or nothing
	Word      string             // what approving has to be typed, or nothing
	InSession *approvals.Session // nil where it is not known
	Problem   *api.Problem       // why the latest answer was none
	Form      url.Values         // what that answer was
	Next      *approvals.Request // that waits besides
	Pointers  []pointer          // arguments that a standing approval can fix
}

// A pointer is an argument of the call that a standing approval can fix.
type pointer struct{ Path, Value string }

// request shows one request.
func (s *Server) request(v *visit) error {
	r, err := v.api.Request(v.Context(), v.PathValue("id"))
	if err != nil {
		return err
	}
	if r.Status == holdgate.StatusPending {
		// A screen counts as having told a person: silence counts from here.
		if shown, err := v.api.Shown(v.Context(), r.ID); err == nil {
			r = shown
		}
	}
	return s.showRequest(v, http.StatusOK, r, nil)
}

// showRequest shows a request, and what was wrong with an answer to it.
func (s *Server) showRequest(v *visit, status int, r approvals.Request, problem *api.Problem) error {
	q := requestPage{Request: r, Pending: r.Status == holdgate.StatusPending, Mine: s.mayApprove(v, r), Problem: problem, Form: v.PostForm}
	for _, n := range r.Able(s.c.People()) {
		q.Names = append(q.Names, n.Name)
		if !slices.ContainsFunc(r.Votes, func(v approvals.Vote) bool { return v.By == n.Name }) {
			q.Still = append(q.Still, n.Name)
		}
	}
	for _, o := range r.Votes {
		if o.Decision == holdgate.AnswerApprove || o.Decision == holdgate.AnswerChoose {
			q.Approving++
		}
	}
	signers, err := s.signers(v)
	if err != nil {
		return err
	}
	q.Quorum, q.Unsigned, q.More = max(r.Approvers.Quorum, 1), signers.missing(r), more(r)
	if i := slices.IndexFunc(r.Deferrals, func(d approvals.Deferral) bool {
		return d.By == v.signin.credential.Person && d.Until.After(time.Now())
	}); i >= 0 {
		q.Off = &r.Deferrals[i]
	}
	for _, part := range r.Briefing.Sections {
		switch part.Kind {
		case briefing.KindSaid:
			q.Said = append(q.Said, part)
		case briefing.KindBefore:
			q.Before = append(q.Before, part)
		default:
			q.Does = append(q.Does, part)
		}
	}
	full := v.URL.Query().Has("full")
	if full {
		q.Full = whole(r)
	}
	q.Closed, q.Word = closed(r, full), word(r)
	q.Pointers = pointers(r)
	if found, err := v.api.Session(v.Context(), r.Agent.ID, r.Session.ID); err == nil {
		q.InSession = &found
	}
	if !q.Pending {
		q.Next = s.next(v, r.ID)
	}
	return s.show(v, status, "request", cmp.Or(r.Briefing.Summary, "Request "+r.ID), q)
}

// more is what policy's message says that the reason and the summary do not.
func more(r approvals.Request) string {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(r.Message), strings.TrimSpace(r.Reason)))
	for _, said := range append(slices.Clone(r.Briefing.Why), r.Briefing.Summary, r.Reason) {
		if strings.Contains(said, holdgate.Visible(text)) {
			return ""
		}
	}
	for _, part := range r.Briefing.Sections {
		if strings.Join(part.Lines, "\n") == strings.Join(visibleLines(text), "\n") {
			return ""
		}
	}
	return text
}

// maxNext is how many requests are looked at for the next one.
const maxNext = 50

// next is another request that the visitor may decide, the most urgent one.
func (s *Server) next(v *visit, but string) *approvals.Request {
	p, err := v.api.Page(v.Context(), approvals.Filter{Status: holdgate.StatusPending, Urgent: true, Limit: maxNext})
	if err != nil {
		return nil
	}
	var rows []row
	for _, r := range p.Requests {
		if r.ID != but && s.mayApprove(v, r) {
			rows = append(rows, row{Request: r})
		}
	}
	byUrgency(rows)
	if len(rows) == 0 {
		return nil
	}
	return &rows[0].Request
}

// closed says why a request is not approved on the screen that shows it, or nothing.
func closed(r approvals.Request, full bool) string {
	switch {
	case r.NoApprover != "":
		return r.NoApprover
	case r.Briefing.Whole || full && r.Call.Tool != nil: // in full there are arguments alone
		return ""
	case r.Call.Tool == nil:
		return "the call cannot be shown whole; who knows what it carries can let it go on by: holdgate approve " + r.ID
	}
	return "this screen does not show the whole call"
}

// word is what has to be typed for a call of critical risk, or of one that is not
// known: the name of what it is about.
func word(r approvals.Request) string {
	switch r.Risk {
	case holdgate.RiskLow, holdgate.RiskMedium, holdgate.RiskHigh:
		return ""
	}
	return r.Target()
}

// whole is the call's arguments, nothing cut, one line each.
func whole(r approvals.Request) []string {
	t := r.Call.Tool
	if t == nil {
		return nil
	}
	text := t.ArgumentsRaw
	if t.Arguments != nil {
		v := jsontext.Value(slices.Clone(t.Arguments))
		if err := v.Indent(jsontext.WithIndent("  ")); err == nil {
			text = string(v)
		}
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = holdgate.Visible(l)
	}
	return lines
}

// pointers lists the call's own arguments that a standing approval can fix.
func pointers(r approvals.Request) (list []pointer) {
	t := r.Call.Tool
	if t == nil || t.Arguments == nil {
		return nil
	}
	members, err := objectOf(t.Arguments)
	if err != nil {
		return nil
	}
	for _, m := range members {
		if len(list) == 20 {
			break
		}
		path := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m.name)
		value := string(m.value)
		if len(value) > 80 {
			value = value[:80] + "…"
		}
		list = append(list, pointer{Path: path, Value: holdgate.Visible(strings.ToValidUTF8(value, "…"))})
	}
	return list
}

// A member is one of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// objectOf reads a JSON object in its order.
func objectOf(raw []byte) (list []member, err error) {
	d := jsontext.NewDecoder(strings.NewReader(string(raw)))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, fmt.Errorf("the arguments are no JSON object")
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		list = append(list, member{name: key, value: value.Clone()})
	}
	return list, nil
}
