package approvals_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
)

// modelPeople is what must be true of who may answer a request of the model,
// and of when silence ends it.
type modelPeople struct {
	quorum    int
	eligible  []string // nil is everybody
	voted     []string
	votes     int // counted and not
	delegated map[string]string
	escalates time.Time // zero where it does not, or has
	claimed   string
	expires   time.Time // while claimed: when the claim lapses
}

// Times of the model's rules.
const (
	modelTimeout  = time.Hour
	modelEscalate = 10 * time.Minute
	modelClaim    = 30 * time.Minute
)

// modelRule is the rule that each key stands for: k1 lets anybody approve, k2
// takes ana and ben, and from some time on eve.
func modelRule(key string) holdgate.Decision {
	return hold(editing, func(d *holdgate.Decision) {
		d.Rule, d.Hold.Timeout = key, modelTimeout
		if key == "k2" {
			d.Hold.Approvers = holdgate.Approvers{Quorum: 2, Users: []string{"ana", "ben"}, Escalate: []holdgate.Escalation{{After: modelEscalate, Users: []string{"eve"}}}}
		}
	})
}

func newModelPeople(key string) modelPeople {
	p := modelPeople{quorum: 1, delegated: make(map[string]string), expires: time.Now().Add(modelTimeout)}
	if key == "k2" {
		p.quorum, p.eligible, p.escalates = 2, []string{"ana", "ben"}, time.Now().Add(modelEscalate)
	}
	return p
}

func (p *modelPeople) may(who string) bool {
	if p.delegated[who] != "" {
		return false
	}
	if p.eligible == nil || slices.Contains(p.eligible, who) {
		return true
	}
	for _, to := range p.delegated {
		if to == who {
			return true
		}
	}
	return false
}

// approved counts a vote, and reports whether there are enough.
func (p *modelPeople) approved(who string) bool {
	p.voted, p.votes = append(p.voted, who), p.votes+1
	counted := 0
	for _, v := range p.voted {
		if p.may(v) {
			counted++
		}
	}
	if p.claimed == who && counted < p.quorum {
		p.claimed, p.expires = "", time.Now().Add(modelTimeout)
	}
	return counted >= p.quorum
}

// pass reports whether the request has expired by now.
func (p *modelPeople) pass() bool {
	now := time.Now()
	if p.claimed != "" && !p.expires.After(now) {
		p.claimed, p.expires = "", p.expires.Add(modelTimeout)
	}
	over := p.claimed == "" && !p.expires.After(now)
	if !p.escalates.IsZero() && !p.escalates.After(now) && (!over || p.escalates.Before(p.expires)) {
		p.eligible, p.escalates = append(p.eligible, "eve"), time.Time{}
	}
	return over
}

func (p *modelPeople) check(t *rapid.T, r approvals.Request) {
	if len(r.Votes) != p.votes || len(r.Delegations) != len(p.delegated) {
		t.Fatalf("request %s has %d votes and %d delegations, want %d and %d", r.ID, len(r.Votes), len(r.Delegations), p.votes, len(p.delegated))
	}
	if r.Status.Final() {
		return
	}
	claimed, ends := "", r.ExpiresAt
	if r.Claim != nil {
		claimed, ends = r.Claim.By, r.Claim.Until
	}
	if claimed != p.claimed || !ends.Equal(p.expires) {
		t.Fatalf("request %s is claimed by %q until %s, want %q until %s", r.ID, claimed, ends, p.claimed, p.expires)
	}
	able := 0
	for _, who := range []string{"ana", "ben", "eve"} {
		if p.may(who) {
			able++
		}
	}
	// What will escalate can be approved by those to come, as far as is said now.
	if nobody := able < p.quorum; nobody != (r.NoApprover != "") {
		t.Fatalf("request %s says %q, and %d may approve it", r.ID, r.NoApprover, able)
	}
}

func (m *model) person(t *rapid.T) string {
	return rapid.SampledFrom([]string{"ana", "ben", "eve"}).Draw(t, "person")
}

// Approve ends what enough people have approved.
func (m *model) Approve(t *rapid.T) {
	r, who := m.request(t), m.person(t)
	got, err := m.b.queue.Decide(m.b.t.Context(), r.shown.ID, approve(r.shown, who))
	switch {
	case r.status != holdgate.StatusPending:
		m.ended(t, r, "", err)
	case !r.people.may(who):
		m.refused(t, err, people.ErrNotEntitled)
	case slices.Contains(r.people.voted, who):
		m.refused(t, err, approvals.ErrVoted)
	case err != nil:
		t.Fatal(err)
	case r.people.approved(who):
		r.status = holdgate.StatusApproved
	case got.Status != holdgate.StatusPending:
		t.Fatalf("%s is %s too soon", r.shown.ID, got.Status)
	}
}

func (m *model) refused(t *rapid.T, err, want error) {
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

// Deny ends the request, whoever does it.
func (m *model) Deny(t *rapid.T) {
	m.end(t, deny(m.person(t)), holdgate.StatusDenied)
}

// Steer is Deny with directions.
func (m *model) Steer(t *rapid.T) {
	m.end(t, steer(m.person(t), "otherwise"), holdgate.StatusSteered)
}

func (m *model) end(t *rapid.T, v approvals.Vote, status holdgate.Status) {
	r := m.request(t)
	_, err := m.b.queue.Decide(m.b.t.Context(), r.shown.ID, v)
	if err == nil {
		r.people.votes++
	}
	m.ended(t, r, status, err)
}

// Edit ends the request for whoever may approve it, voted or not.
func (m *model) Edit(t *rapid.T) {
	r, who := m.request(t), m.person(t)
	to := rapid.SampledFrom([]string{"c", "d"}).Draw(t, "edited to")
	edited := bash(r.call.Position, to)
	_, err := m.b.queue.Decide(m.b.t.Context(), r.shown.ID, edit(r.shown, who, string(edited.Tool.Arguments)))
	switch {
	case r.status != holdgate.StatusPending:
		m.ended(t, r, "", err)
	case !r.people.may(who):
		m.refused(t, err, people.ErrNotEntitled)
	case string(r.call.Tool.Arguments) == string(edited.Tool.Arguments):
		m.refused(t, err, approvals.ErrAnswer)
	case err != nil:
		t.Fatal(err)
	default:
		r.people.votes++
		r.status, r.edited = holdgate.StatusApproved, &edited
	}
}

// AskEdited asks about what an edit made, where it was made in the
// connection's exchange; the editor has voted.
func (m *model) AskEdited(t *rapid.T) {
	c, r := m.conn(t), m.request(t)
	args, err := c.x.Edited(m.b.t.Context(), r.shown.ID)
	may := r.edited != nil && !r.over && r.exchange == c.x.ID()
	if may != (err == nil) {
		t.Fatalf("reading what %s was edited to: %v", r.shown.ID, err)
	}
	if !may {
		return
	}
	if !json.Valid(args) || string(args) != string(r.edited.Tool.Arguments) {
		t.Fatalf("%s was edited to %s, not %s", r.shown.ID, r.edited.Tool.Arguments, args)
	}
	known := len(m.order)
	got, err := c.x.RequestApproval(m.b.t.Context(), approvals.HeldCall{Call: *r.edited, Decision: modelRule(c.key), Edited: r.shown.ID})
	if err != nil {
		t.Fatal(err)
	}
	if got.EditedFrom != r.shown.ID {
		t.Fatalf("%s is of %q, not of %s", got.ID, got.EditedFrom, r.shown.ID)
	}
	m.asked(t, c, *r.edited, got)
	if len(m.order) == known {
		return
	}
	editor := m.b.request(r.shown.ID).Outcome.By
	if n := m.requests[got.ID]; n.people.may(editor) && n.people.approved(editor) {
		n.status = holdgate.StatusApproved
	}
}

func (m *model) digest(t *rapid.T, c *modelConn, call holdgate.Call) holdgate.Digest {
	d, err := c.x.Digest(call)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Claim keeps silence from ending the request.
func (m *model) Claim(t *rapid.T) {
	r, who := m.request(t), m.person(t)
	_, err := m.b.queue.Claim(m.b.t.Context(), r.shown.ID, who)
	switch {
	case r.status != holdgate.StatusPending:
		m.ended(t, r, "", err)
	case r.people.claimed != "" && r.people.claimed != who:
		m.refused(t, err, approvals.ErrClaimed)
	case err != nil:
		t.Fatal(err)
	default:
		r.people.claimed, r.people.expires = who, time.Now().Add(modelClaim)
	}
}

// Unclaim gives the request its whole time again.
func (m *model) Unclaim(t *rapid.T) {
	r, who := m.request(t), m.person(t)
	_, err := m.b.queue.Unclaim(m.b.t.Context(), r.shown.ID, who)
	switch {
	case r.status != holdgate.StatusPending:
		m.ended(t, r, "", err)
	case r.people.claimed != "" && r.people.claimed != who:
		m.refused(t, err, approvals.ErrClaimed)
	case err != nil:
		t.Fatal(err)
	case r.people.claimed != "":
		r.people.claimed, r.people.expires = "", time.Now().Add(modelTimeout)
	}
}

// Delegate lets eve vote, as long as she may not anyway.
func (m *model) Delegate(t *rapid.T) {
	r, who := m.request(t), m.person(t)
	_, err := m.b.queue.Delegate(m.b.t.Context(), r.shown.ID, who, "eve", "")
	own := r.people.eligible == nil || slices.Contains(r.people.eligible, who)
	switch {
	case r.status != holdgate.StatusPending:
		m.ended(t, r, "", err)
	case !r.people.may(who) || !own:
		m.refused(t, err, people.ErrNotEntitled)
	case r.people.eligible == nil || slices.Contains(r.people.eligible, "eve") || slices.Contains(r.people.voted, who):
		m.refused(t, err, approvals.ErrAnswer)
	case err != nil:
		t.Fatal(err)
	default:
		r.people.delegated[who] = "eve"
	}
}

// Pass lets time pass.
func (m *model) Pass(t *rapid.T) {
	minutes := rapid.SampledFrom([]int{7, 13, 41}).Draw(t, "minutes")
	time.Sleep(time.Duration(minutes) * time.Minute)
	synctest.Wait()
	for _, r := range m.requests {
		if r.status == holdgate.StatusPending && r.people.pass() {
			r.status = holdgate.StatusExpired
		}
	}
}
