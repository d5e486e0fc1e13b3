package host

import (
	"slices"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/plugins/sdk"
)

func vienna(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Skipf("this machine has no time zones: %v", err)
	}
	return zone
}

func TestARouteSaysWhoIsToldWhenAndWhom(t *testing.T) {
	t.Parallel()
	zone := vienna(t)
	persons, err := people.New("", []people.Person{
		{Name: "Ada", Roles: []string{people.RoleApprove, "security"}, Accounts: []string{"chat:U1", "mail:ada@example.com"}},
		{Name: "Bob", Roles: []string{people.RoleApprove}, Accounts: []string{"chat:U2"}},
		{Name: "Eve", Roles: []string{"on-call"}, Accounts: []string{"chatty:U3"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := routes{people: func() *people.People { return persons }, all: []Route{
		{Match: Match{Risks: []string{"high", "critical"}, Hours: &Hours{From: 18 * time.Hour, To: 8 * time.Hour, Zone: zone}},
			Steps: []Step{{Channels: []string{"phone"}}}},
		{Match: Match{Rules: []string{"deploy.*"}}, Steps: []Step{
			{Channels: []string{"chat"}, People: []string{"Bob"}},
			{After: 5 * time.Minute, Channels: []string{"mail"}, Roles: []string{"security"}},
		}},
		{Match: Match{Rules: []string{"db.*"}}, Steps: []Step{
			{After: 10 * time.Minute, Channels: []string{"chat"}}, {After: 5 * time.Minute, Channels: []string{"chat"}, People: []string{"Bob"}},
		}},
		{Match: Match{Roles: []string{"security"}, Tools: []string{"Bash"}, Agents: []string{"cl*"}}, Steps: []Step{{Channels: []string{"chat"}}}},
	}}
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, zone)
	ask := func(edit func(*approvals.Request)) approvals.Request {
		q := approvals.Request{ID: "r", Status: holdgate.StatusPending, Risk: "medium", Rule: "shell", Agent: approvals.AgentRef{ID: "claude"}, CreatedAt: noon}
		q.Call.Tool = &approvals.ToolView{Name: "Bash"}
		edit(&q)
		return q
	}
	for _, c := range []struct {
		name    string
		request approvals.Request
		channel string
		looked  time.Duration // after noon
		ok      bool
		after   time.Duration
		to      []string
	}{
		{name: "no route fits: everybody, at once", request: ask(func(*approvals.Request) {}), channel: "mail", ok: true},
		{name: "high risk by day is like any other", request: ask(func(q *approvals.Request) { q.Risk = "high" }), channel: "chat", ok: true},
		{name: "high risk by night goes to the phone", request: ask(func(q *approvals.Request) { q.Risk, q.CreatedAt = "high", noon.Add(15*time.Hour) }),
			channel: "phone", ok: true, after: 15 * time.Hour},
		{name: "and nowhere else", request: ask(func(q *approvals.Request) { q.Risk, q.CreatedAt = "high", noon.Add(15*time.Hour) }), channel: "chat"},
		{name: "the first step is told at once, and whom it names", request: ask(func(q *approvals.Request) { q.Rule = "deploy.prod" }), channel: "chat", ok: true, to: []string{"U2"}},
		{name: "the second later", request: ask(func(q *approvals.Request) { q.Rule = "deploy.prod" }), channel: "mail", ok: true, after: 5 * time.Minute, to: []string{"ada@example.com"}},
		{name: "and later still where somebody has looked", request: ask(func(q *approvals.Request) { q.Rule = "deploy.prod" }), channel: "mail", looked: 4 * time.Minute,
			ok: true, after: 9 * time.Minute, to: []string{"ada@example.com"}},
		{name: "or claimed it", request: ask(func(q *approvals.Request) {
			q.Rule, q.Claim = "deploy.prod", &approvals.Claim{By: "Bob", Until: noon.Add(30 * time.Minute)}
		}), channel: "mail", ok: true, after: 35 * time.Minute, to: []string{"ada@example.com"}},
		{name: "or voted", request: ask(func(q *approvals.Request) {
			q.Rule, q.Votes = "deploy.prod", []approvals.Vote{{At: noon.Add(2 * time.Minute)}}
		}), channel: "mail", ok: true, after: 7 * time.Minute, to: []string{"ada@example.com"}},
		{name: "of two steps in one channel the earlier", request: ask(func(q *approvals.Request) { q.Rule = "db.drop" }), channel: "chat", ok: true, after: 5 * time.Minute, to: []string{"U2"}},
		{name: "policy's own approvers", request: ask(func(q *approvals.Request) { q.Approvers.Roles = []string{"security"} }), channel: "chat", ok: true, to: []string{"U1"}},
		{name: "and those of an escalation that has come", request: ask(func(q *approvals.Request) {
			q.Approvers.Roles, q.Escalated = []string{"security"}, 1
			q.Approvers.Escalate = []holdgate.Escalation{{Users: []string{"Bob"}}, {Users: []string{"Eve"}}}
		}), channel: "chat", ok: true, to: []string{"U1", "U2"}},
		{name: "a channel that no step names", request: ask(func(q *approvals.Request) { q.Approvers.Roles = []string{"security"} }), channel: "mail"},
		{name: "another agent", request: ask(func(q *approvals.Request) { q.Approvers.Roles, q.Agent.ID = []string{"security"}, "codex" }),
			channel: "mail", ok: true, to: []string{"ada@example.com"}},
		{name: "whom a person lets vote", request: ask(func(q *approvals.Request) { q.Delegations = []people.Delegation{{To: "Bob"}} }), channel: "chat", ok: true, to: []string{"U2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var looked time.Time
			if c.looked > 0 {
				looked = noon.Add(c.looked)
			}
			at, to, _, ok := r.plan(c.request, c.channel, looked)
			if ok != c.ok || ok && !at.Equal(noon.Add(c.after)) || !slices.Equal(to, c.to) {
				t.Errorf("plan = %v, %v, %v; want %v, %v, %v", at.Sub(noon), to, ok, c.after, c.to, c.ok)
			}
		})
	}
}

func TestQuietHoursEndByTheClockOnTheWall(t *testing.T) {
	t.Parallel()
	zone := vienna(t)
	night := &Quiet{Hours: Hours{From: 22 * time.Hour, To: 7 * time.Hour, Zone: zone}, Pass: []string{"critical"}}
	weekend := &Quiet{Hours: Hours{Zone: zone, Days: []time.Weekday{time.Saturday, time.Sunday}}}
	for _, c := range []struct {
		name     string
		quiet    *Quiet
		at, want time.Time
		risk     string
	}{
		{"by day", night, time.Date(2026, 3, 2, 12, 0, 0, 0, zone), time.Date(2026, 3, 2, 12, 0, 0, 0, zone), "low"},
		{"in the evening", night, time.Date(2026, 3, 2, 22, 0, 0, 0, zone), time.Date(2026, 3, 3, 7, 0, 0, 0, zone), "high"},
		{"in the morning", night, time.Date(2026, 3, 3, 6, 59, 0, 0, zone), time.Date(2026, 3, 3, 7, 0, 0, 0, zone), "low"},
		{"when they end", night, time.Date(2026, 3, 3, 7, 0, 0, 0, zone), time.Date(2026, 3, 3, 7, 0, 0, 0, zone), "low"},
		{"critical passes", night, time.Date(2026, 3, 2, 23, 0, 0, 0, zone), time.Date(2026, 3, 2, 23, 0, 0, 0, zone), "critical"},
		{"seen from another zone", night, time.Date(2026, 3, 2, 21, 30, 0, 0, time.UTC), time.Date(2026, 3, 3, 7, 0, 0, 0, zone), "low"},
		{"the night in which clocks go forward is an hour shorter", night, time.Date(2026, 3, 28, 22, 0, 0, 0, zone), time.Date(2026, 3, 28, 22, 0, 0, 0, zone).Add(8 * time.Hour), "low"},
		{"the night in which they go back is an hour longer", night, time.Date(2026, 10, 24, 22, 0, 0, 0, zone), time.Date(2026, 10, 24, 22, 0, 0, 0, zone).Add(10 * time.Hour), "low"},
		{"days that follow each other", weekend, time.Date(2026, 3, 7, 9, 0, 0, 0, zone), time.Date(2026, 3, 9, 0, 0, 0, 0, zone), "low"},
		{"none", nil, time.Date(2026, 3, 7, 9, 0, 0, 0, zone), time.Date(2026, 3, 7, 9, 0, 0, 0, zone), "low"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.quiet.until(c.at, c.risk); !got.Equal(c.want) {
				t.Errorf("told at %v, want %v", got, c.want)
			}
		})
	}
}

// routed runs puppets with routes.
func (b *bench) routed(all []Route, puppets ...Channel) *Host {
	b.routes = all
	return b.run(puppets...)
}

func TestTheNextChannelIsToldWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.routed([]Route{{Steps: []Step{{Channels: []string{"first"}}, {After: 50 * time.Millisecond, Channels: []string{"second"}}}}},
		b.puppet("first", script{Name: "first"}), b.puppet("second", script{Name: "second", Answers: []string{"deny"}}), b.puppet("third", script{Name: "third"}))
	r := b.ask("rm -rf build")
	got := b.ended(r.ID)
	if got.Outcome.By != "second:ada" {
		t.Errorf("decided by %s", got.Outcome.By)
	}
	for told := ""; told != "second"; {
		n := b.next("notify")
		told = n.Name
		want := map[string]string{"first": sdk.Requested, "second": sdk.Escalated}[told]
		if n.Notice.Event != want {
			t.Errorf("%s was told %q, want %q", told, n.Notice.Event, want)
		}
	}
	if u := b.next("update"); u.Name == "third" || !u.Notice.Ended() {
		t.Errorf("%s was told %s", u.Name, u.Notice.Status)
	}
}

func TestWhoHasNotBeenToldOfARequestCannotDecideIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.routed([]Route{{Match: Match{Rules: []string{"shell.*"}}, Steps: []Step{{Channels: []string{"first"}}}}},
		b.puppet("first", script{Name: "first"}), b.puppet("liar", script{Name: "liar"}))
	r := b.ask("rm -rf build")
	n := b.next("notify")
	if n.Name != "first" {
		t.Fatalf("%s was told", n.Name)
	}
	liar := h.channels[1]
	answer := sdk.Answer{ID: r.ID, Nonce: n.Notice.Nonce, Digest: n.Notice.Digest, Decision: sdk.Approve, By: "ada"}
	if _, err := liar.applyAnswer(t.Context(), answer, sdk.Info{Assurance: sdk.Local}); err == nil {
		t.Error("the answer counts")
	}
	if got := b.request(r.ID); len(got.Votes) > 0 || got.Status != holdgate.StatusPending {
		t.Errorf("the request is %s: %v", got.Status, got.Votes)
	}
}

func TestMoreThanTheRateIsToldLaterAndCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const requests = 6
	for i := range requests {
		b.ask("rm -rf build" + string(rune('a'+i)))
	}
	c := b.puppet("puppet", script{})
	c.PerMinute = 600 // one each 100 ms
	b.edit = func(c *channel) { c.rate.SetBurst(1) }
	b.run(c)
	told, waited := map[string]bool{}, 0
	for len(told) < requests {
		n := b.next("notify").Notice
		told[n.ID] = true
		waited = max(waited, n.Waiting)
		if n.Waiting > 0 && len(n.Warnings) == 0 {
			t.Error("nobody is told how many wait")
		}
	}
	if waited != requests-1 {
		t.Errorf("%d were said to wait, want %d", waited, requests-1)
	}
}

func TestRoutesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		route Route
		ok    bool
	}{
		{"no step", Route{}, false},
		{"an unknown channel", Route{Steps: []Step{{Channels: []string{"x"}}}}, false},
		{"no pattern", Route{Match: Match{Tools: []string{"["}}, Steps: []Step{{Channels: []string{"a"}}}}, false},
		{"one that can", Route{Steps: []Step{{Channels: []string{"a"}}}}, true},
	} {
		if err := (routes{all: []Route{c.route}}).validate(map[string]bool{"a": true}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestVotersAreTheUsersWhoMayApprove(t *testing.T) {
	t.Parallel()
	persons, err := people.New("Ada", []people.Person{
		{Name: "Ada", Roles: []string{people.RoleApprove, "security"}, Accounts: []string{"chat:U1", "mail:ada@example.com"}},
		{Name: "Bob", Roles: []string{people.RoleApprove}, Accounts: []string{"chat:U2", "chat:U9"}},
		{Name: "Eve", Roles: []string{people.RoleOperate, "security"}, Accounts: []string{"chat:U3"}},
		{Name: "Guy", Roles: []string{people.RoleApprove, "on-call"}, Accounts: []string{"chatty:U4"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	security := holdgate.Approvers{Roles: []string{"security"}, Escalate: []holdgate.Escalation{{Users: []string{"Bob"}}}}
	for _, c := range []struct {
		name    string
		request approvals.Request
		channel string
		want    []string
	}{
		{"all who approve", approvals.Request{}, "chat", []string{"U1", "U2", "U9"}},
		{"those of them who are in the channel", approvals.Request{}, "mail", []string{"ada@example.com"}},
		{"nobody is in the channel", approvals.Request{}, "phone", nil},
		{"those with the role", approvals.Request{Approvers: security}, "chat", []string{"U1"}},
		{"and those of an escalation that has come", approvals.Request{Approvers: security, Escalated: 1}, "chat", []string{"U1", "U2", "U9"}},
		{"somebody else than the owner", approvals.Request{Approvers: holdgate.Approvers{FourEyes: true}}, "chat", []string{"U2", "U9"}},
		{"or than whom the agent is labelled with", approvals.Request{Owner: "Bob", Approvers: holdgate.Approvers{FourEyes: true}}, "chat", []string{"U1"}},
		{"whom a person lets vote, and not that person", approvals.Request{Approvers: security, Delegations: []people.Delegation{{By: "Ada", To: "Bob"}}}, "chat", []string{"U2", "U9"}},
	} {
		r := routes{people: func() *people.People { return persons }}
		if got := r.voters(c.request, c.channel); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	alone := routes{people: func() *people.People { return people.Alone("Ada") }}
	if got := alone.voters(approvals.Request{}, "chat"); got != nil {
		t.Errorf("where nobody is configured: %v", got)
	}
}
