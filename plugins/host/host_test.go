package host

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/plugins/sdk"
)

func TestAnAnswerDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("puppet", script{Answers: []string{"approve"}}))
	r := b.ask("rm -rf build")
	v := b.next("verdict")
	if v.Status != "approved" || v.Err != "" {
		t.Errorf("verdict %q %q, want approved", v.Status, v.Err)
	}
	got := b.ended(r.ID)
	want := &holdgate.Outcome{Decision: holdgate.AnswerApprove, By: "puppet:ada", At: got.Outcome.At}
	if diff := cmp.Diff(want, got.Outcome); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if u := b.next("update"); u.Notice.ID != r.ID || u.Notice.Status != "approved" || len(u.Notice.Answers) > 0 {
		t.Errorf("the channel was told %s %s %v", u.Notice.ID, u.Notice.Status, u.Notice.Answers)
	}
}

func TestALyingChannelDecidesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lies := map[string]string{
		"unknown request":     "never asked",
		"no nonce":            "never asked",
		"another nonce":       "never asked",
		"another digest":      "never asked",
		"nobody":              "name of a person",
		"hidden name":         "name of a person",
		"edit":                "has not said that it can edit",
		"steer without words": "steering needs instructions",
	}
	var order []string
	for lie := range lies {
		order = append(order, lie)
	}
	b.run(b.puppet("liar", script{Answers: order}))
	r := b.ask("rm -rf build")
	for range order {
		v := b.next("verdict")
		if !strings.Contains(v.Err, lies[v.Lie]) || strings.HasPrefix(v.Err, "not refused") {
			t.Errorf("%s: %q, want a refusal that says %q", v.Lie, v.Err, lies[v.Lie])
		}
	}
	if got := b.request(r.ID); got.Status != holdgate.StatusPending || len(got.Votes) > 0 {
		t.Errorf("the request is %s with votes %v", got.Status, got.Votes)
	}
}

func TestTheNonceOfOneChannelIsNothingToAnother(t *testing.T) {
	t.Parallel()
	n, err := newNonces(key)
	if err != nil {
		t.Fatal(err)
	}
	nonce := n.of("slack", "r1", "d1")
	for _, c := range []struct {
		name                     string
		channel, request, digest string
		want                     bool
	}{
		{"the delivery itself", "slack", "r1", "d1", true},
		{"another channel", "mail", "r1", "d1", false},
		{"another request", "slack", "r2", "d1", false},
		{"another form of the call", "slack", "r1", "d2", false},
		{"the same letters, cut elsewhere", "slackr", "1", "d1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := n.match(nonce, c.channel, c.request, holdgate.Digest(c.digest)); got != c.want {
				t.Errorf("match = %v, want %v", got, c.want)
			}
		})
	}
}

func TestSomebodyWhoHasVotedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	people, err := people.New("", []people.Person{
		{Name: "Ada", Roles: []string{people.RoleApprove}, Accounts: []string{"puppet:ada"}},
		{Name: "Ben", Roles: []string{people.RoleApprove}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.queue.SetPeople(t.Context(), people); err != nil {
		t.Fatal(err)
	}
	b.run(b.puppet("puppet", script{Answers: []string{"approve", "approve"}}))
	r := b.ask("rm -rf build", func(d *holdgate.Decision) { d.Hold.Approvers.Quorum = 2 })
	if v := b.next("verdict"); v.Err != "" || v.Status != "pending" {
		t.Errorf("first vote: %q %q", v.Status, v.Err)
	}
	if v := b.next("verdict"); !strings.Contains(v.Err, "voted already") {
		t.Errorf("second vote: %q %q, want a refusal", v.Status, v.Err)
	}
	if got := b.request(r.ID); got.Status != holdgate.StatusPending || got.Votes[0].By != "Ada" || got.Votes[0].Account != "puppet:ada" {
		t.Errorf("the request is %s: %+v", got.Status, got.Votes)
	}
}

func TestAnEscalationIsToldAsTheQuestionWas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("puppet", script{}))
	r := b.ask("rm -rf build", func(d *holdgate.Decision) {
		d.Hold.Approvers = holdgate.Approvers{Users: []string{"puppet:ada"}, Escalate: []holdgate.Escalation{{After: time.Millisecond, Users: []string{"puppet:ben"}}}}
	})
	for n := b.next("notify").Notice; n.Event != sdk.Escalated; n = b.next("notify").Notice {
		if n.ID != r.ID {
			t.Errorf("told of %s", n.ID)
		}
	}
	if got := b.request(r.ID); got.Escalated != 1 {
		t.Errorf("it escalated %d times", got.Escalated)
	}
}

func TestAnAnswerThatComesTooLateSaysWhoDecided(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("puppet", script{Answers: []string{"deny", "approve"}}))
	r := b.ask("rm -rf build")
	if v := b.next("verdict"); v.Err != "" || v.Status != "denied" {
		t.Errorf("first: %q %q", v.Status, v.Err)
	}
	if v := b.next("verdict"); !strings.Contains(v.Err, "already decided by puppet:ada at ") {
		t.Errorf("second: %q", v.Err)
	}
	if got := b.ended(r.ID); got.Status != holdgate.StatusDenied {
		t.Errorf("the request is %s", got.Status)
	}
}

func TestAssuranceSaysWhatAChannelMayDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		text    bool
		answer  string
		edit    func(*holdgate.Decision)
		want    string // a status, or
		refused string
	}{
		{name: "text may not approve", text: true, answer: "approve", refused: "may deny and steer"},
		{name: "text may deny", text: true, answer: "deny", want: "denied"},
		{name: "text may steer", text: true, answer: "steer", want: "steered"},
		{name: "local may approve high risk", answer: "approve", want: "approved",
			edit: func(d *holdgate.Decision) { d.Risk = holdgate.RiskHigh }},
		{name: "local may approve what asks for interactive", answer: "approve", want: "approved",
			edit: func(d *holdgate.Decision) { d.Hold.Approvers.Assurance = "interactive" }},
		{name: "local may not approve critical risk", answer: "approve", refused: "through no channel",
			edit: func(d *holdgate.Decision) { d.Risk = holdgate.RiskCritical }},
		{name: "nobody may approve a risk that is not known", answer: "approve", refused: "through no channel",
			edit: func(d *holdgate.Decision) { d.Risk = "cosmic" }},
		{name: "local may deny critical risk", answer: "deny", want: "denied",
			edit: func(d *holdgate.Decision) { d.Risk = holdgate.RiskCritical }},
		{name: "local is not strong", answer: "approve", refused: "strong",
			edit: func(d *holdgate.Decision) { d.Hold.Approvers.Assurance = "strong" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ch := b.puppet("puppet", script{Answers: []string{c.answer}})
			if c.text {
				ch.Command = append(ch.Command, "text")
			}
			b.run(ch)
			var edits []func(*holdgate.Decision)
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			r := b.ask("rm -rf build", edits...)
			v := b.next("verdict")
			if c.refused != "" {
				if !strings.Contains(v.Err, c.refused) {
					t.Errorf("verdict %q, want a refusal that says %q", v.Err, c.refused)
				}
				if slices.Contains(v.Notice.Answers, sdk.Approve) || !strings.Contains(v.Notice.Closed, c.refused) {
					t.Errorf("it was offered %v (%s)", v.Notice.Answers, v.Notice.Closed)
				}
				c.want = "pending"
			}
			if got := b.request(r.ID); string(got.Status) != c.want {
				t.Errorf("the request is %s, want %s (%s)", got.Status, c.want, v.Err)
			}
		})
	}
}

func TestAPinnedProgramRunsFromACopy(t *testing.T) {
	raw, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	t.Run("with the right checksum", func(t *testing.T) {
		b := newBench(t)
		ch := b.puppet("puppet", script{})
		ch.Command = []string{os.Args[0], "puppet"}
		ch.SHA256 = hex.EncodeToString(sum[:])
		if err := Check(t.Context(), ch, nil); err != nil {
			t.Error(err)
		}
		b.next("configured")
	})
	t.Run("with another checksum it does not run, and leaves nothing behind", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		b := newBench(t)
		ch := b.puppet("puppet", script{})
		ch.SHA256 = strings.Repeat("00", 32)
		if err := Check(t.Context(), ch, nil); err == nil || !strings.Contains(err.Error(), "it is not run") {
			t.Errorf("Check = %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "plugin*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestAChannelSeesNothingOfTheEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-canary")
	t.Setenv("NO_COLOR", "1")
	b := newBench(t)
	b.run(b.puppet("puppet", script{}))
	env := b.next("configured").Env
	for _, v := range env {
		if strings.Contains(v, "canary") || strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "HOME=") {
			t.Errorf("the channel sees %s", v)
		}
	}
	if !slices.Contains(env, "NO_COLOR=1") {
		t.Error("the channel does not know that colours are not wanted")
	}
}

func TestAChannelIsToldOfEverythingPendingWhenItStarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		args    []string
		want    int // of the second start
		comment string
	}{
		{name: "again, where it forgets", want: 2},
		{name: "once, where it does not", args: []string{"remembers"}, want: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ch := b.puppet("puppet", script{})
			ch.Command = append(ch.Command, c.args...)
			first := b.ask("one")
			b.run(ch)
			nonce := b.next("notify").Notice.Nonce
			other := b.ask("other")
			for b.next("notify").Notice.ID != other.ID {
				// its place is kept once it took an event that is not the first
			}
			if _, err := b.queue.Decide(t.Context(), other.ID, approvals.Vote{Decision: holdgate.AnswerDeny, By: "bob", Channel: "cli"}); err != nil {
				t.Fatal(err)
			}
			b.next("update")
			b.end()
			b.forget()

			last := b.ask("last")
			b.run(ch)
			told := map[string]string{}
			for len(told) < c.want {
				n := b.next("notify").Notice
				told[n.ID] = n.Nonce
			}
			if told[last.ID] == "" {
				t.Errorf("told of %v, want %s among them", told, last.ID)
			}
			if got := told[first.ID]; c.want == 2 && got != nonce {
				t.Errorf("nonce %q after the restart, %q before", got, nonce)
			}
		})
	}
}

func TestAnErrorOfTheChannelIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.run(b.puppet("puppet", script{Notify: "fail twice", Answers: []string{"approve"}}))
	b.ask("rm -rf build")
	if v := b.next("verdict"); v.Status != "approved" {
		t.Errorf("verdict %q %q", v.Status, v.Err)
	}
	until(t, "the channel is not said to run", func() bool { return h.Status()[0].State == StateRunning }) // it answers before Notify has returned
	if s := h.Status()[0]; s.Restarts != 0 {
		t.Errorf("status %+v, want never restarted", s)
	}
	b.log.contains(t, "⟨U+000A⟩busy")
}

func TestWhatCanNeverBeToldDoesNotStopTheRest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("puppet", script{Notify: "never", On: "poison", Answers: []string{"approve"}}))
	bad := b.ask("poison")
	good := b.ask("rm -rf build")
	if v := b.next("verdict"); v.Notice.ID != good.ID {
		t.Errorf("answered %s, want %s", v.Notice.ID, good.ID)
	}
	if got := b.request(bad.ID); got.Status != holdgate.StatusPending {
		t.Errorf("the request is %s", got.Status)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	b := newBench(t)
	good := b.puppet("puppet", script{})
	for _, c := range []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"no queue", func(c *Config) { c.Queue = nil }, "a queue is needed"},
		{"a short key", func(c *Config) { c.Key = key[1:] }, "31 bytes"},
		{"no command", func(c *Config) { c.Channels[0].Command = nil }, "no command"},
		{"a name that could be a voter's", func(c *Config) { c.Channels[0].Name = "a:b" }, "small letters"},
		{"half a checksum", func(c *Config) { c.Channels[0].SHA256 = "ab" }, "sha256"},
		{"two of one name", func(c *Config) { c.Channels = append(c.Channels, good) }, "two of this name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Config{Queue: b.queue, Key: key, Channels: []Channel{good}, Logger: slog.New(slog.DiscardHandler)}
			c.edit(&config)
			if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New = %v, want an error that says %q", err, c.want)
			}
		})
	}
}
