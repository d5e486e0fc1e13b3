package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
)

// maxInbox is how many requests the inbox shows, the most urgent of those that its
// filters select.
const maxInbox = 500

// An inbox is what waits.
type inbox struct {
	Mine, Rest []row
	Left       []row // nobody waits for them any more
	Shown, All int   // requests
	Filter     filter
	Agents     []string // to choose from
	Sessions   []string
	Rules      []string
	Off        int                // requests that the visitor has put off
	Done       *approvals.Request // that was just answered
}

// A filter is what the visitor wants to see of the inbox.
type filter struct{ Agent, Session, Risk, Rule, Text string }

// Any reports whether it leaves anything out.
func (f filter) Any() bool { return f != filter{} }

// A row is one request, or some that are alike.
type row struct {
	approvals.Request

	Alike  []approvals.Request // all of the row, the first too
	Nobody string              // why nobody can approve it, or nothing
	Voted  bool                // the visitor has approved it, and others have to
}

// Several is the path of the page that shows all of the row, whole.
func (r row) Several() string {
	q := url.Values{}
	for _, a := range r.Alike {
		q.Add("id", a.ID)
	}
	return "/several?" + q.Encode()
}

// inbox shows what waits, what the visitor may decide first.
func (s *Server) inbox(v *visit) error {
	q := v.URL.Query()
	in := inbox{Filter: filter{q.Get("agent"), q.Get("session"), q.Get("risk"), q.Get("rule"), q.Get("q")}}
	p, err := v.api.Page(v.Context(), approvals.Filter{Status: holdgate.StatusPending, Agent: in.Filter.Agent, Session: in.Filter.Session, Risk: holdgate.Risk(in.Filter.Risk), Rule: in.Filter.Rule, Text: in.Filter.Text,
		Urgent: true, Limit: maxInbox})
	if err != nil {
		return err
	}
	st, err := v.api.Status(v.Context())
	if err != nil {
		return err
	}
	in.All = max(st.Pending, len(p.Requests))
	if id := q.Get("done"); id != "" {
		if r, err := v.api.Request(v.Context(), id); err == nil && r.Status.Final() {
			in.Done = &r
		}
	}
	signers, err := s.signers(v)
	if err != nil {
		return err
	}
	for _, r := range p.Requests {
		in.Agents, in.Sessions, in.Rules = append(in.Agents, r.Agent.ID), append(in.Sessions, r.Session.ID), append(in.Rules, r.Rule)
		if r.PutOff(v.signin.credential.Person, time.Now()) && !q.Has("off") {
			in.Off++
			continue
		}
		in.Shown++
		nobody := cmp.Or(r.NoApprover, signers.missing(r))
		if r.RunEnded != nil {
			in.Left = into(in.Left, r, nobody, s.approved(v, r))
		} else if s.asks(v, r) {
			in.Mine = into(in.Mine, r, nobody, false)
		} else {
			in.Rest = into(in.Rest, r, nobody, s.approved(v, r))
		}
	}
	for _, names := range []*[]string{&in.Agents, &in.Sessions, &in.Rules} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	byUrgency(in.Mine)
	byUrgency(in.Rest)
	byUrgency(in.Left)
	return s.show(v, http.StatusOK, "inbox", "Waiting", in)
}

// into adds a request to the row of those that are alike.
func into(rows []row, r approvals.Request, nobody string, voted bool) []row {
	i := slices.IndexFunc(rows, func(o row) bool { return o.Voted == voted && r.Alike(o.Request) })
	if i < 0 {
		return append(rows, row{Request: r, Alike: []approvals.Request{r}, Nobody: nobody, Voted: voted})
	}
	rows[i].Alike = append(rows[i].Alike, r)
	return rows
}

// byUrgency sorts by risk, the highest first, then by the time that is left.
func byUrgency(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return record.ByUrgency(a.Request, b.Request) })
}

// asks reports whether the request still waits for the visitor's own approval.
func (s *Server) asks(v *visit, r approvals.Request) bool {
	return s.mayApprove(v, r) && !s.approved(v, r)
}

// approved reports whether the visitor has approved the request, which takes more people.
func (s *Server) approved(v *visit, r approvals.Request) bool {
	all := s.c.People()
	return slices.ContainsFunc(r.Votes, func(o approvals.Vote) bool { return all.Same(o.By, v.signin.credential.Person) && approving(r, o) })
}

// mayApprove reports whether the visitor is one of those who may approve a request.
func (s *Server) mayApprove(v *visit, r approvals.Request) bool {
	all := s.c.People()
	return all.Alone() && r.NoApprover == "" ||
		slices.ContainsFunc(r.Able(all), func(n people.Person) bool { return n.Name == v.signin.credential.Person })
}
