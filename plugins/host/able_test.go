package host

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/store/audit"
)

// able is a puppet that can edit, claim, and tell that it was opened.
func (b *bench) able(name string, s script) Channel {
	b.t.Helper()
	c := b.puppet(name, s)
	c.Command = append(c.Command, "able")
	return c
}

// mayEdit lets a request be edited.
func mayEdit(d *holdgate.Decision) { d.Hold.Allow = append(d.Hold.Allow, "edit") }

func TestAnEditDecidesWithOtherArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.able("puppet", script{Answers: []string{"edit to a list", "edit to what it is", "edit to a folder"}}))
	r := b.ask("rm -rf build", mayEdit)
	for _, want := range []string{"object", "those of the call", ""} {
		if v := b.next("verdict"); want == "" && v.Err != "" || !strings.Contains(v.Err, want) || strings.HasPrefix(v.Err, "not refused") {
			t.Errorf("%s: %q, want %q", v.Lie, v.Err, want)
		}
	}
	if o := b.ended(r.ID).Outcome; o.Decision != holdgate.AnswerEdit || o.By != "puppet:ada" {
		t.Errorf("outcome %+v", o)
	}
}

func TestAnAnswerCanBeLessSureThanItsChannelAndNotMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lies := []string{"approve by text", "approve by what is not known", "deny by text"}
	b.run(b.puppet("puppet", script{Answers: lies}))
	r := b.ask("rm -rf build")
	for _, want := range []string{"may deny and steer", "may deny and steer", ""} {
		if v := b.next("verdict"); want == "" && v.Err != "" || !strings.Contains(v.Err, want) {
			t.Errorf("%s: %q, want %q", v.Lie, v.Err, want)
		}
	}
	if votes := b.ended(r.ID).Votes; len(votes) != 1 || votes[0].Assurance != "text" {
		t.Errorf("votes %+v", votes)
	}
	text := b.puppet("text", script{Answers: []string{"approve by more"}})
	text.Command = append(text.Command, "text")
	b.end()
	b.run(text)
	b.ask("rm -rf dist")
	if v := b.next("verdict"); !strings.Contains(v.Err, "may deny and steer") {
		t.Errorf("%s: %q", v.Lie, v.Err)
	}
}

func TestWhatAChannelMayAnswerFollowsWhatItCanDo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.able("able", script{Name: "able"}), b.puppet("plain", script{Name: "plain"}))
	b.ask("rm -rf build", mayEdit)
	for range 2 {
		n := b.next("notify")
		want := []string{sdk.Deny, sdk.Steer, sdk.Approve}
		if n.Name == "able" {
			want = append(want, sdk.Edit, sdk.Claim, sdk.Unclaim, sdk.Seen)
		}
		if !slices.Equal(n.Notice.Answers, want) {
			t.Errorf("%s may answer %v, want %v", n.Name, n.Notice.Answers, want)
		}
		if (n.Notice.Editable != "") != (n.Name == "able") {
			t.Errorf("%s gets the arguments %q", n.Name, n.Notice.Editable)
		}
		if n.Notice.Event != sdk.Requested || n.Notice.Thread == "" {
			t.Errorf("event %q, thread %q", n.Notice.Event, n.Notice.Thread)
		}
	}
}

func TestSomebodyClaimsInAChannel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	people, err := people.New("", []people.Person{
		{Name: "Ada", Roles: []string{people.RoleApprove}, Accounts: []string{"puppet:ada"}},
		{Name: "Bob", Roles: []string{people.RoleApprove}, Accounts: []string{"puppet:bob"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.queue.SetPeople(t.Context(), people); err != nil {
		t.Fatal(err)
	}
	c := b.able("puppet", script{Answers: []string{"seen", "claim", "claim as bob", "unclaim"}})
	c.Command = append(c.Command, "remembers") // else it may be asked twice, and claim twice
	h := b.run(c)
	r := b.ask("rm -rf build")
	for _, want := range []string{"", "", "claimed", ""} {
		if v := b.next("verdict"); want == "" && v.Err != "" || !strings.Contains(v.Err, want) || v.Status != "pending" {
			t.Errorf("%s: %s %q, want %q", v.Lie, v.Status, v.Err, want)
		}
	}
	if h.channels[0].lastOpened.at(r.ID).IsZero() {
		t.Error("nobody knows that it was opened")
	}
	for u := b.next("update").Notice; u.Event != sdk.Unclaimed; u = b.next("update").Notice {
		if u.Event != sdk.Claimed || u.Claim != nil && u.Claim.By != "Ada" {
			t.Errorf("update %s, %+v", u.Event, u.Claim)
		}
	}
	if got := b.request(r.ID); got.Claim != nil || got.Status != holdgate.StatusPending {
		t.Errorf("the request is %s, claimed by %+v", got.Status, got.Claim)
	}
}

func TestAClaimNeedsAChannelThatCanClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("puppet", script{Answers: []string{"claim", "seen"}}))
	r := b.ask("rm -rf build")
	for range 2 {
		if v := b.next("verdict"); !strings.Contains(v.Err, "where it has said so") {
			t.Errorf("%s: %q", v.Lie, v.Err)
		}
	}
	if got := b.request(r.ID); got.Claim != nil {
		t.Errorf("claimed by %+v", got.Claim)
	}
}

func TestNewsAreTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ask("rm -rf build")
	c := b.puppet("puppet", script{})
	c.Command = append(c.Command, "remembers")
	b.run(c)
	b.next("notify") // from its first place in the queue, so that what comes next is after it
	err := b.queue.Announce(t.Context(), record.EventPolicy, audit.Entry{Type: audit.TypePolicy, Note: "revision 2\u202e is in force"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := b.next("news").News
	if n.Kind != sdk.NewsPolicy || n.ID == "" || n.Title == "" || len(n.Lines) != 1 || n.Lines[0] != "revision 2⟨U+202E⟩ is in force" {
		t.Errorf("news %+v", n)
	}
}

func TestArgumentsToEditSayWhatTheyAreAndHideNothing(t *testing.T) {
	t.Parallel()
	for _, s := range hostile() {
		r := held(t, s)
		r.Allow = []string{"edit"}
		r.Briefing.Whole, r.Risk = true, holdgate.RiskMedium
		text := editable(r, sdk.Info{Assurance: sdk.Local, Edits: true}, "")
		if text == "" {
			t.Errorf("%q cannot be edited", s)
			continue
		}
		for line := range strings.SplitSeq(text, "\n") {
			if line != holdgate.Visible(line) && !strings.Contains(s, strings.Repeat(" ", 17)) {
				t.Errorf("%q is hidden in %q", s, line)
			}
		}
		var got, want any
		if err := json.Unmarshal([]byte(text), &got); err != nil || !jsontext.Value(text).IsValid() {
			t.Errorf("%q is no JSON: %v", text, err)
		}
		if err := json.Unmarshal(r.Call.Tool.Arguments, &want); err != nil {
			t.Fatal(err)
		}
		if g, w := got.(map[string]any)["command"], want.(map[string]any)["command"]; g != w {
			t.Errorf("%q reads as %q", w, g)
		}
	}
}
