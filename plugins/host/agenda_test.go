package host

import (
	"slices"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
)

// idle is a channel that does not run: what is on its agenda is told by nobody.
func (b *bench) idle(edit ...func(*Config)) *channel {
	b.t.Helper()
	c := Config{Queue: b.queue, Key: key, Channels: []Channel{b.puppet("puppet", script{})}}
	for _, e := range edit {
		e(&c)
	}
	h, err := New(c)
	if err != nil {
		b.t.Fatal(err)
	}
	return h.channels[0]
}

// tells puts the next thing on the agenda and takes it off, as told.
func (b *bench) tells(c *channel, id string) *task {
	b.t.Helper()
	now := time.Now()
	t, _ := c.next(now)
	if t == nil || t.request.ID != id {
		b.t.Fatalf("next is %+v, want something of %s", t, id)
	}
	c.done(b.t.Context(), t, now)
	return t
}

func (b *bench) denied(id string) {
	b.t.Helper()
	if _, err := b.queue.Decide(b.t.Context(), id, approvals.Vote{Decision: holdgate.AnswerDeny, By: "bob", Channel: "cli"}); err != nil {
		b.t.Fatal(err)
	}
}

// A change beside an escalation is told by the escalation: to those whom it adds,
// and not before quiet hours end.
func TestAChangeBesideAnEscalationIsToldWithIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	people, err := people.New("", []people.Person{
		{Name: "Ada", Roles: []string{people.RoleApprove}, Accounts: []string{"puppet:ada"}},
		{Name: "Ben", Roles: []string{people.RoleApprove}, Accounts: []string{"puppet:ben"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.queue.SetPeople(t.Context(), people); err != nil {
		t.Fatal(err)
	}
	c := b.idle()
	r := b.ask("rm -rf build", func(d *holdgate.Decision) {
		d.Hold.Approvers = holdgate.Approvers{Users: []string{"Ada"}, Escalate: []holdgate.Escalation{{After: time.Hour, Users: []string{"Ben"}}}}
	})
	c.agenda.note(r, record.EventRequested)
	if got := b.tells(c, r.ID); !got.asks() || !slices.Equal(got.to, []string{"ada"}) {
		t.Fatalf("asked are %v", got.to)
	}
	r.Escalated, r.Votes = 1, []approvals.Vote{{Decision: holdgate.AnswerApprove, By: "Ada"}}
	c.agenda.note(r, record.EventEscalated)
	c.c.Quiet = &Quiet{}
	if got, _ := c.next(time.Now()); got != nil {
		t.Errorf("in quiet hours it tells %s", got.key())
	}
	c.c.Quiet = nil
	if got := b.tells(c, r.ID); !got.asks() || !slices.Equal(got.to, []string{"ada", "ben"}) {
		t.Errorf("it tells %v: %s", got.to, got.key())
	}
	if got, _ := c.next(time.Now()); got != nil {
		t.Errorf("and once more: %s", got.key())
	}
}

// Of a request that a process was told of before it broke down people may know, and
// hear of its end; of one that it was not told of they hear nothing.
func TestWhatAProcessMayHaveToldOutlastsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.idle()
	tried, unheard := b.ask("rm -rf build"), b.ask("rm -rf other")
	for _, r := range []approvals.Request{tried, unheard} {
		c.agenda.note(r, record.EventRequested)
	}
	c.agenda.trying(tried.ID)
	b.denied(unheard.ID)
	b.denied(tried.ID)
	if err := c.fill(t.Context(), false); err != nil { // as the next process starts
		t.Fatal(err)
	}
	if got := b.tells(c, tried.ID); got.asks() {
		t.Errorf("it asks about what has ended")
	}
	if got, _ := c.next(time.Now()); got != nil {
		t.Errorf("then it tells %s", got.key())
	}
}

// What people know is kept as long as the request is pending, and no longer.
func TestWhatPeopleKnowIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.idle()
	r := b.ask("rm -rf build")
	c.agenda.note(r, record.EventRequested)
	b.tells(c, r.ID)
	looked := time.Now()
	if err := c.opened(t.Context(), r.ID, looked); err != nil {
		t.Fatal(err)
	}

	next := b.idle()
	if err := next.fill(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := next.lastOpened.at(r.ID); !got.Equal(looked) {
		t.Errorf("after a restart it was looked at %v, want %v", got, looked)
	}
	if got, _ := next.next(time.Now()); got != nil {
		t.Errorf("after a restart it tells %s", got.key())
	}
	b.denied(r.ID)
	if err := next.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.tells(next, r.ID); got.asks() {
		t.Error("it asks about what has ended")
	}
	if left, err := b.queue.Deliveries(t.Context(), "puppet"); err != nil || len(left) > 0 {
		t.Errorf("left is %+v, %v", left, err)
	}
	if got := next.lastOpened.at(r.ID); !got.IsZero() {
		t.Errorf("that it was looked at is still known: %v", got)
	}
}

// People are told that nobody waits for a request, and that somebody does again.
func TestARequestThatIsLeftIsToldAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.idle()
	r := b.ask("rm -rf build")
	c.agenda.note(r, record.EventRequested)
	b.tells(c, r.ID)
	now := time.Now()
	for _, ended := range []*time.Time{&now, nil} {
		r.RunEnded = ended
		c.agenda.note(r, record.EventLeft)
		if got := b.tells(c, r.ID); got.asks() {
			t.Error("it is asked about once more")
		}
	}
	if got, _ := c.next(time.Now()); got != nil {
		t.Errorf("then it tells %s", got.key())
	}
}
