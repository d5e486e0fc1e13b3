package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// staff are people of every kind.
func staff(t *testing.T) *people.People {
	t.Helper()
	p, err := people.New("ada", []people.Person{
		{Name: "ada", Roles: []string{"approve", "admin"}, Accounts: []string{"slack:U1", "mail:ada@example.org"}},
		{Name: "bob", Roles: []string{"approve", "security"}, Accounts: []string{"slack:U2"}},
		{Name: "cyd", Roles: []string{"approve", "security"}},
		{Name: "ops", Roles: []string{"operate"}},
		{Name: "boss", Roles: []string{"admin"}},
		{Name: "guest", Roles: []string{"security"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func approvers(a holdgate.Approvers) func(*holdgate.Decision) {
	return func(d *holdgate.Decision) { d.Hold.Approvers = a }
}

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	all, security := holdgate.Approvers{}, holdgate.Approvers{Roles: []string{"security"}}
	stop := deny("ops")
	stop.Stop = true
	bobStops := stop
	bobStops.By = "bob"
	tests := []struct {
		name   string
		a      holdgate.Approvers
		vote   func(approvals.Request) approvals.Vote
		err    error
		status holdgate.Status
	}{
		{"who has the role to approve approves", all, by("bob"), nil, holdgate.StatusApproved},
		{"an account is its person", all, by("slack:U2"), nil, holdgate.StatusApproved},
		{"an account that is nobody's may not", all, by("slack:U3"), people.ErrNotEntitled, holdgate.StatusPending},
		{"a name that nobody has may not", all, by("eve"), people.ErrNotEntitled, holdgate.StatusPending},
		{"an operator approves nothing", all, by("ops"), people.ErrNotEntitled, holdgate.StatusPending},
		{"an admin approves nothing", all, by("boss"), people.ErrNotEntitled, holdgate.StatusPending},
		{"an operator denies", all, just(deny("ops")), nil, holdgate.StatusDenied},
		{"an operator steers", all, just(steer("ops", "wait")), nil, holdgate.StatusSteered},
		{"an admin is an operator", all, just(deny("boss")), nil, holdgate.StatusDenied},
		{"a role of a rule's alone denies nothing", all, just(deny("guest")), people.ErrNotEntitled, holdgate.StatusPending},
		{"an operator stops the agent", all, just(stop), nil, holdgate.StatusDenied},
		{"who only approves does not stop the agent", all, just(bobStops), people.ErrNotEntitled, holdgate.StatusPending},
		{"the role that a rule asks for approves", security, by("cyd"), nil, holdgate.StatusApproved},
		{"without it nobody approves", security, by("ada"), people.ErrNotEntitled, holdgate.StatusPending},
		{"the role that a rule asks for is not enough to approve", security, by("guest"), people.ErrNotEntitled, holdgate.StatusPending},
		{"whoever is not asked may say no", security, just(deny("ada")), nil, holdgate.StatusDenied},
		{"a user is named by an account", holdgate.Approvers{Users: []string{"slack:U2"}}, by("bob"), nil, holdgate.StatusApproved},
		{"roles and users add up", holdgate.Approvers{Roles: []string{"security"}, Users: []string{"ada"}}, by("ada"), nil, holdgate.StatusApproved},
		{"the owner does not count under four eyes", holdgate.Approvers{FourEyes: true}, by("ada"), people.ErrNotEntitled, holdgate.StatusPending},
		{"nor under another name", holdgate.Approvers{FourEyes: true}, by("mail:ada@example.org"), people.ErrNotEntitled, holdgate.StatusPending},
		{"somebody else does", holdgate.Approvers{FourEyes: true}, by("bob"), nil, holdgate.StatusApproved},
		{"the owner denies under four eyes", holdgate.Approvers{FourEyes: true}, just(deny("ada")), nil, holdgate.StatusDenied},
	}
	b := newBench(t)
	b.setPeople(staff(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := b.enter(tt.name)
			defer x.Leave()
			r := b.ask(x, bash(0, "make"), hold(approvers(tt.a)))
			defer b.resume("ops")
			if r.NoApprover != "" {
				t.Errorf("it says: %s", r.NoApprover)
			}
			if _, err := b.queue.Decide(t.Context(), r.ID, tt.vote(r)); !errors.Is(err, tt.err) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			if got := b.request(r.ID); got.Status != tt.status {
				t.Errorf("status %s, want %s", got.Status, tt.status)
			}
		})
	}
}

func (b *bench) setPeople(p *people.People) {
	b.t.Helper()
	b.people = p
	if err := b.queue.SetPeople(b.t.Context(), p); err != nil {
		b.t.Fatal(err)
	}
}

// by makes an approval of whoever it names.
func by(who string) func(approvals.Request) approvals.Vote {
	return func(r approvals.Request) approvals.Vote { return approve(r, who) }
}

func just(v approvals.Vote) func(approvals.Request) approvals.Vote {
	return func(approvals.Request) approvals.Vote { return v }
}

func TestAQuorumIsOfPeopleAndNotOfChannels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(staff(t))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold(quorum(2)))
	b.decide(r, approve(r, "slack:U1"))
	for _, again := range []string{"ada", "mail:ada@example.org", "slack:U1"} {
		if _, err := b.queue.Decide(t.Context(), r.ID, approve(r, again)); !errors.Is(err, approvals.ErrVoted) {
			t.Errorf("%s votes a second time: %v", again, err)
		}
	}
	got := b.decide(r, approve(r, "slack:U2"))
	if got.Status != holdgate.StatusApproved || got.Outcome.By != "ada, bob" || got.Votes[0].By != "ada" || got.Votes[0].Account != "slack:U1" {
		t.Errorf("%s by %s: %+v", got.Status, got.Outcome.By, got.Votes)
	}
	if notes := b.audited(r.ID); notes[1] != "vote: through cli as slack:U1" {
		t.Errorf("audit: %q", notes)
	}
}

// Somebody who has lost the right since they voted does not count.
func TestAVoteCountsAsLongAsItsVoterMayGiveIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(staff(t))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold(quorum(2)))
	b.decide(r, approve(r, "bob"))
	rest, err := people.New("ada", []people.Person{
		{Name: "ada", Roles: []string{"approve"}}, {Name: "cyd", Roles: []string{"approve"}}, {Name: "bob", Roles: []string{"operate"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.setPeople(rest)
	if got := b.decide(r, approve(r, "ada")); got.Status != holdgate.StatusPending {
		t.Errorf("%s with one vote that counts", got.Status)
	}
	if got := b.decide(r, approve(r, "cyd")); got.Status != holdgate.StatusApproved || got.Outcome.By != "ada, cyd" {
		t.Errorf("%s by %s", got.Status, got.Outcome.By)
	}
	entries, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypePeople})
	if err != nil || len(entries) != 2 || !strings.HasSuffix(entries[1].Note, "bob (operate)") {
		t.Errorf("audit: %+v, %v", entries, err)
	}
}

func TestWhereNobodyIsConfiguredThereIsOnePerson(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(people.Alone("root"))
	x := b.enter("k")
	defer x.Leave()
	for i, who := range []string{"root", "webhook:ada"} {
		r := b.ask(x, bash(i, "make"), hold())
		if got := b.decide(r, approve(r, who)); got.Status != holdgate.StatusApproved || got.Outcome.By != who {
			t.Errorf("%s: %s by %s", who, got.Status, got.Outcome.By)
		}
	}
	two := b.ask(x, bash(2, "make"), hold(quorum(2)))
	b.decide(two, approve(two, "root"))
	if _, err := b.queue.Decide(t.Context(), two.ID, approve(two, "webhook:ada")); !errors.Is(err, approvals.ErrVoted) {
		t.Errorf("one person is two: %v", err)
	}
	named := b.ask(x, bash(3, "make"), hold(approvers(holdgate.Approvers{Users: []string{"webhook:ada"}})))
	if named.NoApprover != "" || b.decide(named, approve(named, "webhook:ada")).Status != holdgate.StatusApproved {
		t.Errorf("a rule that names a channel's user: %q", named.NoApprover)
	}
}

// What nobody can approve is still there to be seen and denied, and silence
// does not approve it.
func TestARequestThatNobodyCanApproveSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setPeople(staff(t))
	x := b.enter("k")
	defer x.Leave()
	r := b.ask(x, bash(0, "make"), hold(silence(1<<40), approvers(holdgate.Approvers{Roles: []string{"legal"}})))
	if !strings.HasPrefix(r.NoApprover, "nobody can approve this: ") || r.OnTimeout != "deny" {
		t.Errorf("it says %q, silence would %s", r.NoApprover, r.OnTimeout)
	}
	if notes := b.audited(r.ID); !strings.Contains(notes[0], "silence does not approve") {
		t.Errorf("audit: %q", notes)
	}
	if _, err := b.queue.Decide(t.Context(), r.ID, approve(r, "ada")); !errors.Is(err, people.ErrNotEntitled) {
		t.Errorf("got %v", err)
	}
	hired, err := people.New("ada", append(b.people.All(), people.Person{Name: "lex", Roles: []string{"approve", "legal"}}))
	if err != nil {
		t.Fatal(err)
	}
	b.setPeople(hired)
	if now := b.request(r.ID); now.NoApprover != "" {
		t.Errorf("there is somebody by now, and it says %q", now.NoApprover)
	}
	if got := b.decide(r, deny("ada")); got.Status != holdgate.StatusDenied || got.NoApprover != "" {
		t.Errorf("%s, %q", got.Status, got.NoApprover)
	}
}
