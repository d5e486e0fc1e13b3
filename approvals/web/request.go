package web

import (
	"cmp"
	"errors"
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
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
)

// A question is one request as the visitor sees it.
type requestPage struct {
	approvals.Request

	Pending   bool
	Mine      bool     // the visitor may approve it
	Names     []string // who may, by name; none where nobody is configured
	Approving int      // votes for it so far
	Approved  bool     // one of them is the visitor's
	More      int      // how many more people it takes
	Quorum    int      // how many of them it takes
	Still     []string // who may still answer
	Unsigned  string   // why nobody can sign an approval, or nothing
	Words     string   // what policy says besides the reason
	Off       *approvals.Deferral
	Does      []part             // what it does
	Folded    bool               // not all of that is there
	Opened    bool               // the visitor asked for the whole call
	Full      []string           // the arguments in full, where the visitor asked for them
	Closed    string             // why it cannot be approved here, or nothing
	Word      string             // what approving has to be typed, or nothing
	Sure      bool               // approving takes a second step: a box that is ticked first
	InSession *approvals.Session // nil where it is not known
	Problem   *api.Problem       // why the latest answer was none
	Form      url.Values         // what that answer was
	Next      *approvals.Request // that waits besides
	Once      string             // why no standing approval is possible, or nothing
	Pointers  []pointer          // arguments that a standing approval can fix
}

// A pointer is an argument of the call that a standing approval can fix.
type pointer struct{ Path, Value string }

// A part is a section of the call, or its beginning.
type part struct {
	briefing.Section
	Lacks int // how many lines of it are not shown
}

// A part of a call that takes more than foldOver lines of lineOf characters is folded to
// its first foldTo, as on a terminal.
const (
	foldOver = 60
	foldTo   = 20
	lineOf   = 80
)

// parts are the sections that show the call, and whether they were folded. What runs
// stands before what is folded, for the worst of it may be in what is not shown.
func parts(r approvals.Request, full bool) (list []part, folded bool) {
	long := -1 // the first that is folded
	for _, s := range ownSections(r.Briefing) {
		p := part{Section: s}
		size, to := 0, 0 // how many of its lines are in the first of the screen
		for i, l := range s.Lines {
			if size += 1 + len(l)/lineOf; size <= foldTo {
				to = i + 1
			}
		}
		if !full && size > foldOver {
			p.Lines, p.Lacks, folded = s.Lines[:to], len(s.Lines)-to, true
			if to == 0 {
				p.Lines = []string{strings.ToValidUTF8(s.Lines[0][:foldTo*lineOf], "") + "…"}
			}
			if long < 0 {
				long = len(list)
			}
		}
		if long >= 0 && strings.HasPrefix(s.Title, briefing.TitleRuns) { // its end may lie far below
			list = slices.Insert(list, long, p)
			continue
		}
		list = append(list, p)
	}
	return list, folded
}

// request shows one request.
func (s *Server) request(v *visit) error {
	r, err := v.api.Request(v.Context(), v.PathValue("id"))
	if err != nil {
		return err
	}
	full := v.URL.Query().Has("full")
	if _, folded := parts(r, full); r.Status == holdgate.StatusPending && !folded {
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
		if approving(r, o) {
			q.Approving++
		}
	}
	signers, err := s.signers(v)
	if err != nil {
		return err
	}
	q.Quorum, q.Unsigned, q.Words = max(r.Approvers.Quorum, 1), signers.missing(r), more(r)
	q.Approved, q.More = q.Pending && s.approved(v, r), max(q.Quorum-q.Approving, 1)
	if i := slices.IndexFunc(r.Deferrals, func(d approvals.Deferral) bool {
		return d.By == v.signin.credential.Person && d.Until.After(time.Now())
	}); i >= 0 {
		q.Off = &r.Deferrals[i]
	}
	q.Opened = v.URL.Query().Has("full")
	q.Does, q.Folded = parts(r, q.Opened)
	if q.Opened {
		q.Full = whole(r)
	}
	q.Closed, q.Word, q.Sure = closedHere(r, q.Opened), word(r), sure(r)
	q.Pointers = pointers(r)
	if q.Pending && q.Closed == "" && !q.Approved {
		q.Once = once(v, r)
	}
	if found, err := v.api.Session(v.Context(), r.Agent.ID, r.Session.ID); err == nil {
		q.InSession = &found
	}
	if !q.Pending {
		q.Next = s.next(v, r.ID)
	}
	return s.show(v, status, "request", cmp.Or(r.Briefing.Summary, "Request "+r.ID), q)
}

// once says why approving the request cannot stand for calls to come, or nothing.
func once(v *visit, r approvals.Request) string {
	if slices.Contains(r.Allow, grants.WayRemember) && len(r.Options) == 0 {
		return ""
	}
	_, err := v.api.Preview(v.Context(), r.ID, approvals.Remember{Scope: record.ScopeSession, For: time.Hour, Match: record.Match{Kind: record.MatchExact}})
	if p, ok := errors.AsType[*api.Problem](err); ok {
		_, why, _ := strings.Cut(p.Detail, ": ")
		return cmp.Or(why, p.Detail)
	}
	if err != nil {
		return ""
	}
	return "policy lets this call be approved for this time alone"
}

// approving reports whether a vote lets the call go on, once enough others do.
func approving(r approvals.Request, o approvals.Vote) bool {
	return o.Decision == holdgate.AnswerApprove || o.Decision == holdgate.AnswerEdit || o.Decision == holdgate.AnswerChoose && releases(r, o.Choice)
}

// more is what policy's message says that the reason, the summary and the call do not.
func more(r approvals.Request) string {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(r.Message), strings.TrimSpace(r.Reason)))
	shown := strings.Join(append(slices.Clone(r.Briefing.Why), r.Briefing.Summary, holdgate.Visible(r.Reason)), "\n")
	if strings.Contains(shown, holdgate.Visible(text)) {
		return ""
	}
	for _, part := range r.Briefing.Sections {
		if strings.Join(part.Lines, "\n") == strings.Join(visibleLines(text), "\n") {
			return ""
		}
		if part.Kind != briefing.KindSaid {
			shown += "\n" + strings.Join(part.Lines, " ")
		}
	}
	if names, ok := strings.CutPrefix(text, touches); ok && !slices.ContainsFunc(strings.Split(names, "; "), func(name string) bool {
		return !strings.Contains(shown, holdgate.Visible(name))
	}) {
		return ""
	}
	return text
}

// touches begins what the shipped pack's messages name.
const touches = "It would touch: "

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
		if r.ID != but && s.asks(v, r) {
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

// closedHere says so of a screen that folds what is long until it is opened.
func closedHere(r approvals.Request, opened bool) string {
	if _, folded := parts(r, opened); folded && r.NoApprover == "" {
		return "a part of the call is folded on this screen"
	}
	return closed(r, opened)
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

// sure reports whether approving takes a second step, so that no slip of a finger does
// it: high risk, where nothing has to be typed or signed.
func sure(r approvals.Request) bool {
	return r.Risk == holdgate.RiskHigh && r.Status == holdgate.StatusPending && r.Approvers.Demands() != "strong"
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
