package host

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// An answer is for the call as it is now: what the channel was once told of
// another form of it, with a nonce that is right for that, decides nothing.
func TestAnAnswerToAnotherFormOfTheCallDoesNotCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.run(b.puppet("puppet", script{}))
	r := b.ask("rm -rf build")
	b.next("notify")
	c, other := h.channels[0], holdgate.Digest(strings.Repeat("0", 64))
	for _, decision := range []string{sdk.Deny, sdk.Steer, sdk.Approve, sdk.Seen, sdk.Claim} {
		a := sdk.Answer{ID: r.ID, Nonce: c.nonces.of("puppet", r.ID, other), Digest: string(other), Decision: decision, By: "ada", Instructions: "no"}
		if _, err := c.applyAnswer(t.Context(), a, sdk.Info{Assurance: sdk.Local, Claims: true, Sees: true}); err == nil {
			t.Errorf("%s counts", decision)
		}
	}
	if got := b.request(r.ID); got.Status != holdgate.StatusPending || got.Claim != nil {
		t.Errorf("the request is %s, claimed by %v", got.Status, got.Claim)
	}
}

// What keeps people from approving in a channel, each by itself.
func TestWhyAChannelMayNotApprove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*approvals.Request)
		cut  bool
		says string
	}{
		{"nothing does", func(*approvals.Request) {}, false, ""},
		{"the risk is critical", func(r *approvals.Request) { r.Risk = holdgate.RiskCritical }, false, "critical risk"},
		{"the risk is none that is known", func(r *approvals.Request) { r.Risk = "enormous" }, false, "critical risk"},
		{"nobody could approve", func(r *approvals.Request) { r.NoApprover = "there is nobody" }, false, "there is nobody; see it with: holdgate show r1 --full"},
		{"the notice is cut", func(*approvals.Request) {}, true, "cannot be shown whole"},
		{"the briefing is not whole", func(r *approvals.Request) { r.Briefing.Whole = false }, false, "cannot be shown whole"},
		{"the assurance is none that is known", func(r *approvals.Request) { r.Approvers.Assurance = "utmost" }, false, "an assurance (utmost)"},
	} {
		r := approvals.Request{ID: "r1", Risk: holdgate.RiskHigh}
		r.Briefing.Whole = true
		c.edit(&r)
		if got := closed(r, sdk.Local, c.cut); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.name, got, c.says)
		}
	}
}

// noting is a queue that says of what it was noted that people were told.
type noting struct {
	*approvals.Queue
	told chan string
}

func (n noting) Told(ctx context.Context, id string) error {
	n.told <- id
	return n.Queue.Told(ctx, id)
}

// Where silence may approve, its time begins once people were told: the queue
// hears of it, and of nothing that the channel could not tell.
func TestTheQueueHearsThatPeopleWereTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	told := make(chan string, 10)
	b.wrap = func(q *approvals.Queue) Queue { return noting{q, told} }
	b.run(b.puppet("puppet", script{Notify: "never", On: "poison", Answers: []string{"approve"}}))
	b.ask("poison")
	good := b.ask("rm -rf build")
	b.ended(good.ID)
	select {
	case id := <-told:
		if id != good.ID || len(told) > 0 {
			t.Errorf("it heard of %s and %d more, want of %s", id, len(told), good.ID)
		}
	default:
		t.Error("it has heard of nothing")
	}
}

// A question whose request has ended before anybody was told is not put.
func TestWhatHasEndedMeanwhileIsNotAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h, err := New(Config{Queue: b.queue, Key: key, Channels: []Channel{b.puppet("puppet", script{})}})
	if err != nil {
		t.Fatal(err)
	}
	c := h.channels[0] // it does not run
	asked := b.ask("rm -rf build")
	c.agenda.note(asked, record.EventRequested)
	task, _ := c.next(asked.CreatedAt)
	if task == nil {
		t.Fatal("there is nothing to tell")
	}
	if _, err := b.queue.Decide(t.Context(), asked.ID, approvals.Vote{Decision: holdgate.AnswerDeny, By: "ada", Channel: "cli"}); err != nil {
		t.Fatal(err)
	}
	if failed, err := c.try(t.Context(), nil, task); failed || err != nil { // there is no process that could be told
		t.Errorf("try = %v, %v", failed, err)
	}
	if task, _ := c.next(asked.CreatedAt); task != nil {
		t.Errorf("it is still to be told: %s", task.key())
	}
}

// A channel is told whom to address.
func TestANoticeNamesWhoIsToBeTold(t *testing.T) {
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
	b.run(b.puppet("puppet", script{}))
	b.ask("rm -rf build", func(d *holdgate.Decision) { d.Hold.Approvers.Users = []string{"Ben"} })
	if n := b.next("notify").Notice; !slices.Equal(n.To, []string{"ben"}) || !slices.Equal(n.Voters, []string{"ben"}) {
		t.Errorf("it is for %v, and %v may approve it", n.To, n.Voters)
	}
}

// What a request takes is what a channel may answer, and no more.
func TestWhatARequestTakesIsWhatAChannelMayAnswer(t *testing.T) {
	t.Parallel()
	all := sdk.Info{Assurance: sdk.Local, Edits: true}
	ask := func(args string, allow ...string) approvals.Request {
		r := approvals.Request{Kind: holdgate.RequestApproval, Allow: allow}
		r.Call.Tool = &approvals.ToolView{Name: "Bash", Arguments: []byte(args)}
		return r
	}
	long := `{"command":"` + strings.Repeat("x", headBytes) + `"}`
	for _, c := range []struct {
		name     string
		request  approvals.Request
		editable bool
	}{
		{"an edit where it is allowed", ask(`{"command":"ls"}`, "steer", "edit"), true},
		{"none where it is not", ask(`{"command":"ls"}`, "steer"), false},
		{"nor of what is too long for a notice", ask(long, "edit"), false},
	} {
		if got := editable(c.request, all, ""); (got != "") != c.editable {
			t.Errorf("%s: %d bytes", c.name, len(got))
		}
	}
	if got := allowed(ask(`{}`), all, "", false); !slices.Equal(got, []string{sdk.Deny, sdk.Approve}) {
		t.Errorf("it may be answered by %v though it cannot be steered", got)
	}
	r := ask(`{}`)
	r.Votes = []approvals.Vote{{Decision: holdgate.AnswerChoose, By: "Ada"}, {Decision: holdgate.AnswerDeny, By: "Eve"}, {Decision: holdgate.AnswerApprove, By: "Ben"}}
	if names := approvers(r); !slices.Equal(names, []string{"Ada", "Ben"}) || approving(r) != 2 {
		t.Errorf("%d have approved: %v", approving(r), names)
	}
}
